//! The events of a processor's own counters that are read, and their groups.
//!
//! Source: `perf_event_open(2)` (generic events); kernel `arch/x86/events/intel/core.c` and
//! `arch/x86/events/amd/core.c` (what they count: Intel's `cache-misses` are those of the last level,
//! AMD's those of the second), `drivers/perf/arm_pmuv3.c` (Arm's are those of the first, and it
//! publishes the others by name); kernel `tools/perf/Documentation/topdown.txt`.
//!
//! Groups are small: the kernel gives hardware to a whole group or not at all, and the NMI watchdog or
//! another user may hold one of as few as four counters.

use super::kept::Plan;
use super::pmu::{Event, Pmu};
use std::fs;
use std::path::Path;

/// PERF_TYPE_HARDWARE with its PERF_COUNT_HW_ numbers.
const HARDWARE: u32 = 0;
const CYCLES: (&str, u64) = ("cycles", 0);
const INSTRUCTIONS: (&str, u64) = ("instructions", 1);
const CACHE_MISSES: (&str, u64) = ("cache-misses", 3);
const BRANCHES: (&str, u64) = ("branches", 4);
const BRANCH_MISSES: (&str, u64) = ("branch-misses", 5);

/// Metric of each top-down event; `slots` must lead the group.
const TOP_DOWN: [(&str, &str); 5] = [
    ("slots", "slots"),
    ("retiring_slots", "topdown-retiring"),
    ("bad_speculation_slots", "topdown-bad-spec"),
    ("frontend_bound_slots", "topdown-fe-bound"),
    ("backend_bound_slots", "topdown-be-bound"),
];

/// Maker of the processor, as far as it changes what an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Intel,
    Amd,
    Other,
}

/// Events of a kind of core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Its PMU.
    pub pmu: Pmu,
    /// Groups of events.
    pub plans: Vec<Plan>,
    /// Metrics without an event, with the reason.
    pub lacks: Vec<(&'static str, String)>,
}

/// The kinds of cores whose counters the kernel shows below `root`.
///
/// # Errors
/// Why there is none, in one line.
pub fn cores(root: &Path) -> Result<Vec<Core>, String> {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let maker = maker(&cpuinfo);
    let cores: Vec<Core> = Pmu::of_cores(root).into_iter().map(|pmu| core(pmu, maker)).collect();
    if !cores.is_empty() {
        return Ok(cores);
    }
    let why = "the kernel shows no PMU of the processor in /sys/bus/event_source/devices";
    let guest = cpuinfo
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    Err(if guest { format!("{why}: the hypervisor gives this virtual machine none") } else { why.to_owned() })
}

fn maker(cpuinfo: &str) -> Maker {
    let vendor = cpuinfo.lines().find_map(|line| line.strip_prefix("vendor_id")?.split_once(':'));
    match vendor.map(|(_, vendor)| vendor.trim()) {
        Some("GenuineIntel") => Maker::Intel,
        Some("AuthenticAMD" | "HygonGenuine") => Maker::Amd,
        _ => Maker::Other,
    }
}

fn core(pmu: Pmu, maker: Maker) -> Core {
    let generic_event = |metric, (name, id)| (metric, generic(&pmu, name, id));
    let basic = vec![
        generic_event("cycles", CYCLES),
        generic_event("instructions", INSTRUCTIONS),
        generic_event("branches", BRANCHES),
        generic_event("branch_misses", BRANCH_MISSES),
    ];
    let mut plans = vec![Plan { name: "basic", metrics: basic }];
    let mut lacks = Vec::new();
    let mut cache = Vec::new();
    for (metric, event) in cache_events(&pmu, maker) {
        match event {
            Ok(event) => cache.push((metric, event)),
            Err(why) => lacks.push((metric, why.to_owned())),
        }
    }
    if !cache.is_empty() {
        plans.push(Plan { name: "cache", metrics: cache });
    }
    let top_down: Option<Vec<_>> =
        TOP_DOWN.iter().map(|&(metric, event)| Some((metric, pmu.event(event)?))).collect();
    match top_down {
        Some(metrics) => plans.push(Plan { name: "topdown", metrics }),
        None => lacks.push(("slots", format!("{} has no top-down events", pmu.name))),
    }
    Core { pmu, plans, lacks }
}

/// An event that the kernel knows on every processor. On hybrid x86 the PMU's number is in the upper
/// half (PERF_PMU_TYPE_SHIFT), since both kinds of cores share the generic type.
fn generic(pmu: &Pmu, name: &str, id: u64) -> Event {
    let hybrid = if pmu.name.starts_with("cpu_") { u64::from(pmu.kind) << 32 } else { 0 };
    Event { name: name.to_owned(), kind: HARDWARE, config: [hybrid | id, 0, 0] }
}

/// Misses of the second and of the last cache level.
fn cache_events(pmu: &Pmu, maker: Maker) -> [(&'static str, Result<Event, &'static str>); 2] {
    let misses = || {
        let (name, id) = CACHE_MISSES;
        Ok(generic(pmu, name, id))
    };
    let (second, last) = match maker {
        Maker::Intel => (Err("Intel has no event for L2 misses that all its processors share"), misses()),
        Maker::Amd => (misses(), Err("AMD counts LLC misses for a whole LLC domain, not for a logical CPU")),
        Maker::Other => (
            pmu.event("l2d_cache_refill").ok_or("the PMU publishes no event l2d_cache_refill"),
            pmu.event("ll_cache_miss_rd").ok_or("the PMU publishes no event ll_cache_miss_rd"),
        ),
    };
    [("l2_misses", second), ("llc_misses", last)]
}

#[cfg(test)]
pub(crate) mod testing {
    use super::TOP_DOWN;
    use crate::samplers::testing::write;
    use std::path::Path;

    /// Writes a PMU of a processor, with top-down events if asked for.
    pub(crate) fn write_cpu(root: &Path, name: &str, kind: u32, top_down: bool) {
        let folder = format!("sys/bus/event_source/devices/{name}");
        write(root, &format!("{folder}/type"), &format!("{kind}\n"));
        write(root, &format!("{folder}/format/event"), "config:0-7\n");
        write(root, &format!("{folder}/format/umask"), "config:8-15\n");
        for (at, (_, event)) in TOP_DOWN.iter().enumerate().filter(|_| top_down) {
            let umask = if at == 0 { 4 } else { 0x7f + at };
            write(root, &format!("{folder}/events/{event}"), &format!("event=0x00,umask={umask:#x}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::write_cpu;
    use super::*;
    use crate::samplers::testing::write;

    fn metrics(core: &Core) -> Vec<Vec<&str>> {
        core.plans.iter().map(|plan| plan.metrics.iter().map(|(metric, _)| *metric).collect()).collect()
    }

    #[test]
    fn a_guest_without_counters_says_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(!cores(root.path()).unwrap_err().contains("hypervisor"));
        write(root.path(), "proc/cpuinfo", "flags\t: fpu hypervisor\n");
        assert!(cores(root.path()).unwrap_err().contains("the hypervisor gives this virtual machine none"));
    }

    #[test]
    fn intel_has_last_level_misses_and_top_down() {
        let root = tempfile::tempdir().unwrap();
        write_cpu(root.path(), "cpu", 4, true);
        write(root.path(), "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
        let core = cores(root.path()).unwrap().remove(0);
        let basic = vec!["cycles", "instructions", "branches", "branch_misses"];
        let top_down: Vec<&str> = TOP_DOWN.iter().map(|(metric, _)| *metric).collect();
        assert_eq!(metrics(&core), [basic, vec!["llc_misses"], top_down]);
        assert_eq!(core.plans[1].metrics[0].1.config, [3, 0, 0]);
        assert_eq!(
            core.plans[2].metrics[1].1,
            Event { name: "cpu/topdown-retiring/".into(), kind: 4, config: [0x8000, 0, 0] }
        );
        assert_eq!(core.lacks.iter().map(|(metric, _)| *metric).collect::<Vec<_>>(), ["l2_misses"]);
    }

    #[test]
    fn amd_has_second_level_misses() {
        let root = tempfile::tempdir().unwrap();
        write_cpu(root.path(), "cpu", 4, false);
        write(root.path(), "proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
        let core = cores(root.path()).unwrap().remove(0);
        assert_eq!(metrics(&core)[1], ["l2_misses"]);
        assert_eq!(core.lacks.iter().map(|(metric, _)| *metric).collect::<Vec<_>>(), ["llc_misses", "slots"]);
    }

    #[test]
    fn each_kind_of_core_has_its_own_events() {
        let root = tempfile::tempdir().unwrap();
        write_cpu(root.path(), "cpu_core", 4, true);
        write_cpu(root.path(), "cpu_atom", 10, false);
        write(root.path(), "sys/bus/event_source/devices/cpu_core/cpus", "0-3\n");
        write(root.path(), "sys/bus/event_source/devices/cpu_atom/cpus", "4-7\n");
        write(root.path(), "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
        let cores = cores(root.path()).unwrap();
        assert_eq!(cores[0].pmu.name, "cpu_atom");
        assert_eq!(cores[0].plans[0].metrics[1].1.config, [(10 << 32) | 1, 0, 0]);
        assert_eq!((cores[0].plans.len(), cores[1].plans.len()), (2, 3));
    }

    #[test]
    fn arm_has_what_it_publishes() {
        let root = tempfile::tempdir().unwrap();
        write_cpu(root.path(), "armv8_pmuv3_0", 8, false);
        write(root.path(), "sys/bus/event_source/devices/armv8_pmuv3_0/cpus", "0-7\n");
        write(
            root.path(),
            "sys/bus/event_source/devices/armv8_pmuv3_0/events/l2d_cache_refill",
            "event=0x0017\n",
        );
        let core = cores(root.path()).unwrap().remove(0);
        assert_eq!(metrics(&core)[1], ["l2_misses"]);
        assert_eq!(core.plans[1].metrics[0].1.config, [0x17, 0, 0]);
        assert_eq!(core.plans[0].metrics[0].1.config, [0, 0, 0]);
    }
}
