//! The first change that prevents resuming a study, as text.
//!
//! Numbers from two machines, engines or versions of this program must not end up in one estimate.
//! Memory sizes and the kernel's release are left out: they change with every update and ballooning
//! guest, and the A/A comparison of every block shows their effect on the numbers.

use crate::error::one_line;
use crate::json;
use crate::studies::Versions;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::Study;

/// What must be unchanged for resuming a study.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The machine as it is now. Memory sizes and the kernel's release may differ.
    pub topology: &'a Topology,
    /// Version of threadwise.
    pub program: &'a str,
    /// Engine name.
    pub engine: &'a str,
    /// Version of the engine.
    pub engine_version: &'a str,
    /// The study as requested now; `None` to continue the file's.
    pub study: Option<&'a Study>,
}

/// The first thing that changed, or `None`.
pub(crate) fn first(
    versions: &Versions,
    study: &Study,
    topology: &Topology,
    now: &Expectation<'_>,
) -> Option<String> {
    differs("engine", &versions.engine, now.engine)
        .or_else(|| differs("version of the engine", &versions.engine_version, now.engine_version))
        .or_else(|| differs("version of threadwise", &versions.program, now.program))
        .or_else(|| now.study.and_then(|asked| json::difference("study", study, asked)))
        .or_else(|| machine_change(topology, now.topology))
}

/// The first change that prevents comparing parts on several boots or machines, or `None`: another engine or
/// major version of it, another version of this program. Other changes are for the report.
pub(crate) fn first_across_boots(versions: &Versions, now: &Expectation<'_>) -> Option<String> {
    let major = |version: &str| {
        let number = version.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
        number.map_or_else(|| version.to_owned(), str::to_owned)
    };
    let (was, is) = (&versions.engine_version, now.engine_version);
    differs("engine", &versions.engine, now.engine)
        .or_else(|| {
            (major(was) != major(is)).then(|| {
                format!(
                    "the major version of the engine has changed: it was {} and is {}",
                    one_line(was),
                    one_line(is)
                )
            })
        })
        .or_else(|| differs("version of threadwise", &versions.program, now.program))
}

fn differs(what: &str, then: &str, now: &str) -> Option<String> {
    (then != now).then(|| format!("the {what} was {} and is {}", one_line(then), one_line(now)))
}

/// The relevant parts of a topology, without memory sizes and kernel release.
fn lasting(topology: &Topology) -> Topology {
    let mut lasting = topology.clone();
    lasting.identity.kernel = None;
    lasting.identity.memory_bytes = None;
    lasting.limits.memory_bytes = None;
    for node in &mut lasting.numa_nodes {
        node.memory_bytes = None;
    }
    lasting
}

fn machine_change(then: &Topology, now: &Topology) -> Option<String> {
    let (then, now) = (&lasting(then), &lasting(now));
    let online = |topology: &Topology| -> CpuSet {
        topology.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.os_id).collect()
    };
    let sets = |what: &str, then: CpuSet, now: CpuSet| differs(what, &then.to_string(), &now.to_string());
    sets("set of online logical CPUs", online(then), online(now))
        .or_else(|| sets("set of allowed logical CPUs", then.allowed(), now.allowed()))
        .or_else(|| json::difference("machine", then, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::topology::LogicalCpu;

    fn machine(cpus: u32) -> Topology {
        let cpu = |os_id| LogicalCpu { os_id, allowed: true, online: true, ..LogicalCpu::default() };
        Topology { logical_cpus: (0..cpus).map(cpu).collect(), ..Topology::default() }
    }

    #[test]
    fn memory_and_kernel_may_change() {
        let then = machine(2);
        let mut now = then.clone();
        now.identity.kernel = Some("7.0".into());
        now.identity.memory_bytes = Some(1);
        now.limits.memory_bytes = Some(1);
        assert_eq!(machine_change(&then, &now), None);
    }

    #[test]
    fn every_other_change_is_named() {
        let then = machine(2);
        let mut now = machine(4);
        assert_eq!(machine_change(&then, &now).unwrap(), "the set of online logical CPUs was 0-1 and is 0-3");
        now = machine(2);
        now.logical_cpus[1].allowed = false;
        assert_eq!(machine_change(&then, &now).unwrap(), "the set of allowed logical CPUs was 0-1 and is 0");
        now = machine(2);
        now.limits.quota_cpus = Some(1.5);
        assert_eq!(
            machine_change(&then, &now).unwrap(),
            "the machine's limits.quota_cpus was null and is 1.5"
        );
        now = machine(2);
        now.identity.smt_control = Some("off".into());
        assert_eq!(
            machine_change(&then, &now).unwrap(),
            "the machine's identity.smt_control was null and is \"off\""
        );
        now = machine(2);
        now.logical_cpus[0].siblings.insert(1);
        assert_eq!(
            machine_change(&then, &now).unwrap(),
            "the machine's logical_cpus.0.siblings was \"\" and is \"1\""
        );
        now = machine(2);
        now.cores.push(Default::default());
        assert_eq!(machine_change(&then, &now).unwrap(), "the number of the machine's cores was 0 and is 1");
    }
}
