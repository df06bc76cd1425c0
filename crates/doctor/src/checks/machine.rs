//! The kind of machine, and its counters.
//!
//! Sources: kernel `Documentation/admin-guide/{perf-security.rst,sysctl/kernel.rst}`
//! (`perf_event_paranoid`), `Documentation/ABI/testing/sysfs-bus-event_source-devices*`.

use crate::answer::{Answer, plain};
use crate::case::Case;
use crate::live::PerfAccess;

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
const COUNTERS: &str = "sys/bus/event_source/devices";

/// Whether a hypervisor may hide the real machine.
pub(super) fn virtual_machine(case: &Case<'_>) -> Answer {
    let asked = case.live.is_some_and(|live| live.hypervisor.is_some());
    let source = if asked { "the processor (CPUID)" } else { "/proc/cpuinfo and /sys/class/dmi/id" };
    match (case.hypervisor(), &case.topology.identity.cpu_model) {
        (Some(name), _) => Answer::warning(
            format!(
                "a virtual machine on {name}: siblings, caches and clocks may differ from what it reports"
            ),
            source,
        )
        .remedied("threadwise probe measures what is shared; repeat it, as the host may move vCPUs"),
        (None, Some(model)) => Answer::ok(format!("no hypervisor detected on {model}"), source),
        (None, None) => Answer::unknown("the kind of machine is unknown", source),
    }
}

/// Whether this is a container. Informational: its limits have their own checks.
pub(super) fn container(case: &Case<'_>) -> Answer {
    match case.container() {
        Some((name, source)) => {
            let others = match case.sees_all_processes() {
                true => "the host's processes are visible",
                false => "the host's other processes are not visible, only their load",
            };
            Answer::ok(format!("a container ({name}): {others}"), source)
        }
        None if case.tree.has("proc/self/cgroup") => {
            let sources = "/.dockerenv, /proc/self/cgroup, /proc/self/mountinfo and /proc/1";
            Answer::ok("no sign of a container", sources)
        }
        None => Answer::unknown("the control group of this process is unknown", "/proc/self/cgroup"),
    }
}

/// Whether hardware counters of whole logical CPUs can be read.
pub(super) fn perf(case: &Case<'_>) -> Answer {
    let source = format!("/{PARANOID} and /{COUNTERS}");
    let paranoid = match case.tree.number(PARANOID) {
        Ok(level) => level,
        Err(gap) => return Answer::gap(&gap, PARANOID, "the kernel has no performance events"),
    };
    let devices = match case.tree.names(COUNTERS) {
        Ok(devices) => devices,
        Err(gap) => return Answer::gap(&gap, COUNTERS, "the kernel lists no counters"),
    };
    if !devices.iter().any(|name| counts_hardware(name)) {
        return Answer::warning(
            "no hardware counters (common in a virtual machine): cache misses and cycles will be missing",
            source,
        )
        .remedied("use an instance or virtual machine type that passes the counters (PMU) through");
    }
    let allow = || {
        let set = |level: &str| format!("sysctl -w kernel.perf_event_paranoid={level}");
        case.changed(&set("0"), plain(&paranoid.to_string()).map(set))
    };
    match case.live.map_or(&PerfAccess::NotTried, |live| &live.perf) {
        PerfAccess::Open => Answer::ok(format!("hardware counters can be read (level {paranoid})"), source),
        PerfAccess::Denied { why } => {
            Answer::warning(format!("hardware counters are denied at level {paranoid}: {why}"), source)
                .remedied(allow())
        }
        PerfAccess::Unsupported { why } => {
            Answer::warning(format!("hardware counters are listed but do not open: {why}"), source)
                .remedied("check whether another program or the hypervisor uses them: dmesg | grep -i perf")
        }
        // From level 1 on, events of a whole logical CPU need the capability CAP_PERFMON.
        PerfAccess::NotTried if paranoid <= 0 => {
            Answer::ok(format!("all users may read hardware counters (level {paranoid})"), source)
        }
        PerfAccess::NotTried => Answer::unknown(
            format!("only root may read hardware counters of a CPU (level {paranoid}); not tried"),
            source,
        )
        .remedied(allow()),
    }
}

/// Names of the processor's own counter devices: x86 and hybrid x86, Arm, s390 and PowerPC.
fn counts_hardware(name: &str) -> bool {
    let starts = ["cpu_core", "cpu_atom", "cpu_lowpower", "cpum_cf", "armv", "apple_"];
    name == "cpu" || starts.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_processor_are_distinguished_from_software() {
        for name in ["cpu", "cpu_atom", "armv8_pmuv3_0", "armv8_cortex_a76"] {
            assert!(counts_hardware(name), "{name}");
        }
        for name in ["software", "breakpoint", "msr", "tracepoint", "uncore_imc_0", "power", "cpuidle"] {
            assert!(!counts_hardware(name), "{name}");
        }
    }
}
