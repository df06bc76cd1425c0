//! Lines that keep what works together inside one last-level cache, NUMA node or package.
//!
//! Sources: taskset(1); systemd.resource-control(5) (`AllowedCPUs=`) and systemd.exec(5) (`NUMAPolicy=`, `NUMAMask=`);
//! docker-run(1) (`--cpuset-cpus`, `--cpuset-mems`); Kubernetes, "Control CPU Management Policies on the Node"
//! (`prefer-align-cpus-by-uncorecache`, KEP-4800) and "Control Topology Management Policies on a node".

use crate::Facts;
use crate::choices::Candidate;
use crate::findings::locality::of_package;
use crate::shape::Shape;
use threadwise_document::Paste;
use threadwise_machine::placement::Locality;
use threadwise_machine::{CpuSet, Topology};

/// The lines for the level of locality that a choice decided for; none if the machine has one group of that level, or
/// for a level that keeps nothing together.
pub fn lines(facts: &Facts<'_>, chosen: &Candidate) -> Vec<Paste> {
    let topology = facts.topology;
    let Some((_, treatment)) = facts.study.treatment(&chosen.treatment) else { return Vec::new() };
    let caches = |level: u32| {
        let shared = topology.caches.iter().filter(move |cache| cache.level == level);
        shared.map(|cache| &cache.cpus).filter(|cpus| cores(topology, cpus) > 1).collect()
    };
    let (groups, kubernetes): (Vec<&CpuSet>, Option<&str>) = match Shape::of(treatment) {
        Shape::SameL2 => (caches(2), None),
        Shape::SameL3 => (
            topology.llc_domains.iter().map(|one| &one.cpus).collect(),
            Some("cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: \"true\"}"),
        ),
        // Two cores of a package may be in two nodes, which keeps nothing together.
        Shape::SamePackage if of_package(topology) != Some(Locality::SamePackage) => (
            topology.numa_nodes.iter().map(|node| &node.cpus).collect(),
            Some("topologyManagerPolicy: single-numa-node"),
        ),
        _ => return Vec::new(),
    };
    let largest = groups.iter().copied().max_by_key(|cpus| (cpus.len(), std::cmp::Reverse(cpus.first())));
    let Some(cpus) = largest.filter(|_| groups.iter().filter(|cpus| !cpus.is_empty()).count() > 1) else {
        return Vec::new();
    };
    let mut all = vec![
        Paste::new("shell, a running server", format!("taskset -acp {cpus} PID")),
        Paste::new("systemd unit", format!("AllowedCPUs={cpus}")),
    ];
    match node_of(topology, cpus) {
        Some(node) => {
            all.push(Paste::new("systemd unit", "NUMAPolicy=bind"));
            all.push(Paste::new("systemd unit", format!("NUMAMask={node}")));
            all.push(Paste::new("docker run", format!("--cpuset-cpus={cpus} --cpuset-mems={node}")));
        }
        None => all.push(Paste::new("docker run", format!("--cpuset-cpus={cpus}"))),
    }
    all.extend(kubernetes.map(|line| Paste::new("kubelet configuration, cpuManagerPolicy: static", line)));
    all
}

/// Cores with a logical CPU in a set.
fn cores(topology: &Topology, cpus: &CpuSet) -> usize {
    topology.cores.iter().filter(|core| !core.cpus.intersection(cpus).is_empty()).count()
}

/// The system's number of the node that has all of these logical CPUs, if the machine has several.
fn node_of(topology: &Topology, cpus: &CpuSet) -> Option<i64> {
    let mut nodes = topology.numa_nodes.iter().filter(|_| topology.numa_nodes.len() > 1);
    nodes.find(|node| cpus.is_subset(&node.cpus))?.os_id
}
