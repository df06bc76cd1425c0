//! APERF, MPERF and the time stamp counter as events of the PMU `msr`, which needs no msr device and no rdmsr.
//!
//! Source: kernel `arch/x86/events/msr.c`: an event is published only if CPUID shows its register and
//! reading it works; Intel SDM volume 2, CPUID leaf 6 (ECX bit 0: APERF and MPERF exist), which
//! /proc/cpuinfo shows as the flag `aperfmperf`.

use super::kept::{Grown, Plan, growth};
use super::open::{OpenError, Source};
use super::pmu::Pmu;
use super::turbostat::{Counts, distrust};
use std::fs;
use std::path::Path;
use threadwise_machine::CpuSet;

/// Metric of the register APERF.
pub const APERF: &str = "aperf_cycles";
/// Metric of the register MPERF.
pub const MPERF: &str = "mperf_cycles";
/// Metric of the time stamp counter.
pub const TSC: &str = "tsc_cycles";

/// The registers that the kernel offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// Those that exist, as one group; `None` if there are none.
    pub plan: Option<Plan>,
    /// Why APERF and MPERF are missing; `None` if the kernel offers both with the time stamp counter.
    pub lack: Option<String>,
}

/// Finds the registers below `root`.
pub fn registers(root: &Path) -> Registers {
    let Some(pmu) = Pmu::read(root, "msr") else {
        let lack = "the kernel has no perf PMU `msr` (there is one on x86 only)";
        return Registers { plan: None, lack: Some(lack.to_owned()) };
    };
    let events = [(APERF, "aperf"), (MPERF, "mperf"), (TSC, "tsc")];
    let found = events.iter().filter_map(|&(metric, name)| Some((metric, pmu.event(name)?)));
    let metrics: Vec<_> = found.collect();
    let lack = (metrics.len() < events.len()).then(|| lack(root));
    Registers { plan: (!metrics.is_empty()).then_some(Plan { name: "msr", metrics }), lack }
}

fn lack(root: &Path) -> String {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    match flags {
        Some((_, flags)) if !flags.split_whitespace().any(|flag| flag == "aperfmperf") => {
            let whose = if flags.split_whitespace().any(|flag| flag == "hypervisor") {
                "the hypervisor hides them from this virtual machine"
            } else {
                "this processor has none"
            };
            format!("no APERF and MPERF: {whose} (CPUID leaf 6, ECX bit 0 is 0)")
        }
        _ => "the perf PMU `msr` has no events aperf, mperf and tsc here".to_owned(),
    }
}

/// Whether the registers can be opened and move, tried on one logical CPU.
///
/// # Errors
/// The refusal, or that they stand still although they were read there.
pub fn try_out(source: &mut dyn Source, plan: &Plan, cpu: u32) -> Result<(), OpenError> {
    let events: Vec<_> = plan.metrics.iter().map(|(_, event)| event.clone()).collect();
    let mut opened = source.open(cpu, &events)?;
    if let Some(error) = opened.missing.into_iter().flatten().next() {
        return Err(error);
    }
    let failed =
        |error: std::io::Error| OpenError::Unsupported(format!("the registers cannot be read: {error}"));
    let before = opened.group.read().map_err(failed)?;
    let after = opened.group.read().map_err(failed)?;
    let grown = growth(&before, &after, &[]).map_err(OpenError::Unsupported)?;
    let counts = counts(plan, &grown);
    match counts.aperf.zip(counts.mperf).and_then(|(aperf, mperf)| distrust(aperf, mperf)) {
        Some(why) => Err(OpenError::Unsupported(why)),
        None => Ok(()),
    }
}

/// What a group of registers counted. The PMU always runs, so that nothing was scaled.
pub fn counts(plan: &Plan, grown: &Grown) -> Counts {
    let count_of = |wanted: &str| {
        let at = plan.metrics.iter().position(|(metric, _)| *metric == wanted)?;
        grown.values.get(at)?.as_ref().ok().map(|&count| count as u64)
    };
    Counts { aperf: count_of(APERF), mperf: count_of(MPERF), tsc: count_of(TSC) }
}

/// The lowest logical CPU that is online below `root`; 0 where that cannot be read.
pub fn first_online(root: &Path) -> u32 {
    let online = fs::read_to_string(root.join("sys/devices/system/cpu/online")).ok();
    online.and_then(|list| CpuSet::parse_list(list.trim()).ok()?.first()).unwrap_or(0)
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::samplers::testing::write;
    use std::path::Path;

    /// Writes a PMU `msr` with some events.
    pub(crate) fn write_msr(root: &Path, events: &[&str]) {
        let folder = "sys/bus/event_source/devices/msr";
        write(root, &format!("{folder}/type"), "9\n");
        write(root, &format!("{folder}/format/event"), "config:0-63\n");
        for event in events {
            let code = match *event {
                "tsc" => 0,
                "aperf" => 1,
                _ => 2,
            };
            write(root, &format!("{folder}/events/{event}"), &format!("event=0x{code:02x}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::write_msr;
    use super::*;
    use crate::perf::kept::testing::{Series, opened, read};
    use crate::samplers::testing::write;

    #[test]
    fn a_guest_without_the_registers_is_distinguished_from_a_processor_without() {
        let root = tempfile::tempdir().unwrap();
        assert!(registers(root.path()).lack.unwrap().contains("x86 only"));
        write_msr(root.path(), &["tsc", "smi"]);
        let registers = |flags: &str| {
            write(root.path(), "proc/cpuinfo", &format!("processor\t: 0\nflags\t\t: fpu {flags}\n"));
            registers(root.path())
        };
        let guest = registers("tsc hypervisor");
        assert!(guest.lack.unwrap().contains("hypervisor hides them"));
        assert_eq!(guest.plan.unwrap().metrics.len(), 1, "the time stamp counter is there");
        assert!(registers("tsc").lack.unwrap().contains("this processor has none"));
        assert!(registers("aperfmperf").lack.unwrap().contains("has no events"));
    }

    #[test]
    fn registers_are_tried_out() {
        let root = tempfile::tempdir().unwrap();
        write_msr(root.path(), &["tsc", "aperf", "mperf"]);
        let plan = registers(root.path()).plan.unwrap();
        let mut moving = Series::of(&[(0, &[opened(), read(10, 10, &[1, 1, 1]), read(20, 20, &[4, 3, 9])])]);
        assert_eq!(try_out(&mut moving, &plan, 0), Ok(()));
        let mut frozen = Series::of(&[(0, &[opened(), read(10, 10, &[0, 0, 1]), read(20, 20, &[0, 0, 9])])]);
        assert!(try_out(&mut frozen, &plan, 0).unwrap_err().to_string().contains("hypervisor"));
    }
}
