//! One logical CPU of a core, the same one in all arms.
//!
//! Without SMT the kernel keeps the first thread of each core, and logical CPU 0 is never taken offline. So in a study
//! that takes siblings away, every treatment with one logical CPU of a core has the first allowed one in all arms, and
//! arms differ in nothing else.

use threadwise_machine::{CpuSet, Resolved, Topology};

/// Whether a set has two logical CPUs of some core.
pub fn has_siblings(topology: &Topology, cpus: &CpuSet) -> bool {
    cpus.iter().any(|cpu| topology.cpu(cpu).is_some_and(|one| one.siblings.intersection(cpus).len() > 1))
}

/// The first allowed logical CPU of each core.
pub fn of_cores(topology: &Topology) -> CpuSet {
    let allowed = topology.allowed();
    allowed.iter().map(|cpu| first(topology, &allowed, cpu)).collect()
}

fn first(topology: &Topology, allowed: &CpuSet, cpu: u32) -> u32 {
    let siblings = topology.cpu(cpu).map(|one| one.siblings.intersection(allowed));
    siblings.and_then(|siblings| siblings.first()).unwrap_or(cpu)
}

/// Moves the placement to first threads; unchanged if it uses both of some core.
pub(super) fn on_first(topology: &Topology, placed: Resolved) -> Resolved {
    let used = placed.set();
    if has_siblings(topology, &used) {
        return placed;
    }
    let allowed = topology.allowed();
    let first = |cpu: u32| first(topology, &allowed, cpu);
    let moved = |set: &CpuSet| set.iter().map(first).collect::<CpuSet>();
    let now = moved(&used);
    Resolved {
        cpus: placed.cpus.iter().map(|&cpu| first(cpu)).collect(),
        sessions: placed.sessions.iter().map(moved).collect(),
        left_over: placed.left_over.union(&used).difference(&now),
    }
}
