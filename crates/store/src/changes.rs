//! The first change that prevents resuming a study, as text.
//!
//! Numbers from two machines, engines or versions of this program must not end up in one estimate.
//! Memory sizes and the kernel's release are left out: they change with every update and ballooning
//! guest, and the A/A comparison of every block shows their effect on the numbers.

use crate::error::one_line;
use crate::{Expectation, Versions};
use std::fmt::Debug;
use threadwise_machine::Topology;
use threadwise_study::Study;

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
        .or_else(|| now.study.and_then(|asked| study_change(study, asked)))
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

fn value_differs<T: PartialEq + Debug>(what: &str, then: &T, now: &T) -> Option<String> {
    (then != now).then(|| {
        let (then, now) = (format!("{then:?}"), format!("{now:?}"));
        format!("{what} was {} and is {}", one_line(&then), one_line(&now))
    })
}

fn study_change(then: &Study, now: &Study) -> Option<String> {
    let name = |study: &Study| study.treatments.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    differs("study", &then.name, &now.name)
        .or_else(|| value_differs("the study's seed", &then.seed, &now.seed))
        .or_else(|| differs("workload", then.workload.name(), now.workload.name()))
        .or_else(|| value_differs("the engine's options", &then.engine_options, &now.engine_options))
        .or_else(|| value_differs("the list of treatments", &name(then), &name(now)))
        .or_else(|| {
            let pairs = then.treatments.iter().zip(&now.treatments);
            pairs
                .filter(|(then, now)| then != now)
                .map(|(then, _)| then)
                .next()
                .map(|treatment| format!("treatment {} of the study has changed", one_line(&treatment.name)))
        })
        .or_else(|| value_differs("the study's design", &then.design, &now.design))
        .or_else(|| (then != now).then(|| "the study has changed".to_owned()))
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
    let online = |topology: &Topology| -> threadwise_machine::CpuSet {
        topology.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.os_id).collect()
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let count = |what: &str, then: usize, now: usize| value_differs(what, &then, &now);
    let (was, is) = (&then.identity, &now.identity);
    differs("processor model", &text(&was.cpu_model), &text(&is.cpu_model))
        .or_else(|| differs("hypervisor", &text(&was.hypervisor), &text(&is.hypervisor)))
        .or_else(|| differs("SMT control", &text(&was.smt_control), &text(&is.smt_control)))
        .or_else(|| {
            differs("set of online logical CPUs", &online(then).to_string(), &online(now).to_string())
        })
        .or_else(|| {
            differs("set of allowed logical CPUs", &then.allowed().to_string(), &now.allowed().to_string())
        })
        .or_else(|| value_differs("the CPU quota", &then.limits.quota_cpus, &now.limits.quota_cpus))
        .or_else(|| count("the number of packages", then.packages.len(), now.packages.len()))
        .or_else(|| count("the number of cores", then.cores.len(), now.cores.len()))
        .or_else(|| count("the number of NUMA nodes", then.numa_nodes.len(), now.numa_nodes.len()))
        .or_else(|| count("the number of LLC domains", then.llc_domains.len(), now.llc_domains.len()))
        .or_else(|| (then.caches != now.caches).then(|| "the caches have changed".to_owned()))
        .or_else(|| value_differs("the limits", &then.limits, &now.limits))
        .or_else(|| {
            (then != now).then(|| "the machine's arrangement of cores, packages or nodes has changed".into())
        })
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
        assert_eq!(machine_change(&then, &now).unwrap(), "the CPU quota was None and is Some(1.5)");
        now = machine(2);
        now.identity.smt_control = Some("off".into());
        assert_eq!(machine_change(&then, &now).unwrap(), "the SMT control was unknown and is off");
        now = machine(2);
        now.logical_cpus[0].siblings.insert(1);
        assert!(machine_change(&then, &now).unwrap().contains("arrangement"));
    }
}
