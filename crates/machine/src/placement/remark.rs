//! What is worth knowing of a placement on a machine beside its logical CPUs.

use super::draw::first_packages;
use super::fill::{node_size, nodes_that_can};
use super::locality::{Localities, Locality};
use super::view::plural;
use super::{Draw, Expression, MachinePart, Name, Pin, Placement, resolve};
use crate::{CpuSet, Topology};

/// A note on a placement on this machine: which package or node is taken if they are not alike, how many logical CPUs
/// stay free, and what the cores of `same-package` share where a package has several nodes or last-level caches. `None`
/// if there is nothing to note.
pub fn remark(placement: &Placement, topology: &Topology) -> Option<String> {
    match placement.expression {
        Expression::Fill(_, MachinePart::Package) => unlike_packages(topology),
        Expression::Fill(_, MachinePart::Node) => unlike_nodes(topology),
        Expression::Named(Name::SamePackage, _) => shared_in_package(placement, topology),
        Expression::AllBut(1) => Some("1 logical CPU stays free; every block draws which".to_owned()),
        Expression::AllBut(free) => Some(format!(
            "{free} logical CPUs stay free, whole cores where they fit; every block draws which"
        )),
        _ => None,
    }
}

/// What two cores of `same-package` share, where they might share less or more.
fn shared_in_package(placement: &Placement, topology: &Topology) -> Option<String> {
    let found = resolve(placement, topology, &Draw::identity(topology), 1, Pin::Each).ok()?;
    let &[one, other] = found.cpus.as_slice() else { return None };
    let (name, words) = match Localities::of(topology).between(one, other)? {
        Locality::SameNode if topology.llc_domains.len() > 1 => ("cross-l3", "two L3s of one node"),
        Locality::SamePackage => ("cross-node", "two nodes of one package"),
        Locality::SameLlc if topology.numa_nodes.len() > topology.packages.len().max(1) => {
            ("same-node", "one node")
        }
        _ => return None,
    };
    Some(format!("{name} on this machine: two cores of {words}"))
}

/// Which packages a block may draw first, if not every one may.
fn unlike_packages(topology: &Topology) -> Option<String> {
    let packages = Draw::identity(topology).packages;
    let alike = first_packages(topology);
    let count = |package: u32| {
        let inside = topology.cores.iter().filter(|core| core.package.unwrap_or(0) == package);
        inside.map(|core| core.cpus.len()).sum::<usize>()
    };
    (alike.len() < packages.len()).then(|| taken("package", &packages, &alike, count))
}

/// The same for NUMA nodes.
fn unlike_nodes(topology: &Topology) -> Option<String> {
    let sets: Vec<(u32, &CpuSet)> =
        (0_u32..).zip(topology.numa_nodes.iter().map(|node| &node.cpus)).collect();
    let best = nodes_that_can(topology);
    let has_cpus = |(_, cpus): &&(u32, &CpuSet)| node_size(cpus, topology) != (0, 0);
    let all: Vec<u32> = sets.iter().filter(has_cpus).map(|(index, _)| *index).collect();
    let alike: Vec<u32> =
        sets.iter().filter(|(_, cpus)| best.contains(cpus)).map(|(index, _)| *index).collect();
    let count = |node: u32| node_size(sets[node as usize].1, topology).1;
    (alike.len() < all.len()).then(|| taken("NUMA node", &all, &alike, count))
}

fn taken(noun: &str, all: &[u32], alike: &[u32], count: impl Fn(u32) -> usize) -> String {
    let mut all = all.to_vec();
    all.sort_unstable();
    let sizes: Vec<String> = all.iter().map(|&one| count(one).to_string()).collect();
    let chosen: Vec<String> = alike.iter().map(ToString::to_string).collect();
    let which = if alike.len() == 1 { "every block takes" } else { "a block takes one of" };
    format!(
        "{} have {} allowed logical CPUs and are not alike; {which} {noun} {}",
        plural(all.len(), noun),
        sizes.join(", "),
        chosen.join(", ")
    )
}
