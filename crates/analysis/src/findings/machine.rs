//! The machine in one line, as the operating system declares it and as measured.

use crate::hardware::Hardware;
use crate::words::finding;
use crate::{Finding, FindingKind};
use std::collections::BTreeSet;
use threadwise_document::numbers::counted;
use threadwise_document::prose;
use threadwise_machine::Topology;

/// The declared machine, and the measured one if it was probed.
pub fn machine(topology: &Topology, hardware: Option<&Hardware>) -> Finding {
    let identity = &topology.identity;
    let name = match (&identity.hypervisor, &identity.cpu_model) {
        (Some(hypervisor), Some(model)) => format!("{}, {model}, declared as", guest(hypervisor)),
        (Some(hypervisor), None) => format!("{}, declared as", guest(hypervisor)),
        (None, Some(model)) => format!("{model}, declared as"),
        (None, None) => "Declared as".to_owned(),
    };
    let mut parts = vec![counts(topology), smt(topology), nodes(topology)];
    if topology.kinds.len() > 1 {
        let kinds: Vec<String> = topology
            .kinds
            .iter()
            .map(|kind| format!("{} on {}s", counted(kind.cpus.len(), "logical CPU"), kind.name))
            .collect();
        parts.push(kinds.join(", "));
    }
    parts.extend(kept_from_us(topology));
    let measured = hardware.map(|hardware| prose!("; measured: {}", hardware.measured.clone()));
    let text = prose!("{} {}{}.", name, parts.join(", "), measured.unwrap_or_default());
    finding(FindingKind::Machine, text, &[])
}

/// Warns that no figure describes a machine if a program computes what the processor does.
pub fn emulated(topology: &Topology) -> Option<Finding> {
    let text = "EMULATED: QEMU computes what the processor does; no time, rate or ratio here describes a real machine";
    topology.identity.is_emulated().then(|| finding(FindingKind::Emulated, text, &[]))
}

/// A guest of a named hypervisor, or of an unnamed one.
pub fn guest(hypervisor: &str) -> String {
    if hypervisor.starts_with("unknown") {
        "Virtual machine".to_owned()
    } else {
        format!("{hypervisor} guest")
    }
}

/// Whether any allowed core has a second allowed logical CPU.
pub fn has_allowed_siblings(topology: &Topology) -> bool {
    topology.max_threads_per_core() >= 2
}

/// Whether the system declares siblings, allowed or not.
pub fn declares_siblings(topology: &Topology) -> bool {
    topology.logical_cpus.iter().any(|cpu| cpu.siblings.len() >= 2)
}

/// Whether SMT exists and is switched off.
pub fn smt_switched_off(topology: &Topology) -> bool {
    matches!(topology.identity.smt_control.as_deref(), Some("off" | "forceoff"))
}

/// `2 packages x 16 cores x 2 threads` if all are alike, else totals.
fn counts(topology: &Topology) -> String {
    let cores = topology.cores.len();
    let cpus = topology.allowed().len();
    let packages = topology.packages.len();
    let threads: BTreeSet<usize> = topology.cores.iter().map(|core| core.cpus.len()).collect();
    let per_package: BTreeSet<usize> = (0..packages as u32)
        .map(|package| topology.cores.iter().filter(|core| core.package == Some(package)).count())
        .collect();
    if let (1, 1, Some(per), Some(threads @ 2..)) =
        (threads.len(), per_package.len(), per_package.first(), threads.first())
    {
        let packages = counted(packages, "package");
        return format!("{packages} x {} x {threads} threads", counted(*per, "core"));
    }
    let on = match packages {
        0 => ", no package".to_owned(),
        _ => format!(" of {}", counted(packages, "package")),
    };
    format!("{} on {}{on}", counted(cpus, "logical CPU"), counted(cores, "core"))
}

fn smt(topology: &Topology) -> String {
    let text = if smt_switched_off(topology) {
        "SMT switched off"
    } else if has_allowed_siblings(topology) {
        "SMT on"
    } else if declares_siblings(topology) {
        "SMT on, one logical CPU of each core allowed"
    } else if topology.identity.hypervisor.is_some() {
        // What a guest is shown may differ from the hardware.
        "SMT undeclared"
    } else {
        "no SMT"
    };
    text.to_owned()
}

fn nodes(topology: &Topology) -> String {
    let nodes = topology.numa_nodes.iter().filter(|node| !node.cpus.is_empty()).count();
    match nodes {
        0 => "no NUMA node".to_owned(),
        nodes => counted(nodes, "NUMA node"),
    }
}

/// What exists but may not be used.
fn kept_from_us(topology: &Topology) -> Vec<String> {
    let count = |offline: bool| {
        let cpus = topology.logical_cpus.iter();
        cpus.filter(|cpu| if offline { !cpu.online } else { cpu.online && !cpu.allowed }).count()
    };
    let mut parts = Vec::new();
    let (offline, not_allowed) = (count(true), count(false));
    if offline > 0 {
        parts.push(format!("{} offline", counted(offline, "logical CPU")));
    }
    if not_allowed > 0 {
        parts.push(format!("{} not allowed", counted(not_allowed, "logical CPU")));
    }
    if let Some(quota) = topology.limits.quota_cpus {
        parts.push(format!("a quota of {quota} CPUs"));
    }
    parts
}
