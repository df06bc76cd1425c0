//! Placements that take a whole part of the machine: all of it, one package, one NUMA node or a named group, with
//! every sibling, one of each core, or all siblings of half of the cores; and all logical CPUs but some.
//!
//! "One package" is the first of a block's draw for every placement that names it, so that the treatments of a
//! block share it. The published insert measurement compared parts of one package of six cores: 3c2t, 6c1t, 6c2t.

use super::draw::package_of;
use super::view::{Machine, absent_group, plural};
use super::{Draw, Level, Placement};
use crate::{CpuSet, Topology};

/// The share of a part of the machine that a placement takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Every allowed logical CPU, cores first.
    All,
    /// First sibling of every allowed core.
    NoSmt,
    /// All siblings of half of the cores that have siblings, rounded down, one package after the other.
    HalfCores,
    /// First sibling of every allowed core but one, which stays free for service threads; a single core is taken.
    ButOneCore,
}

/// The part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole machine.
    Machine,
    /// One package, the first of the block's draw.
    Package,
    /// One NUMA node: the first in the draw among those with the most cores and logical CPUs.
    Node,
    /// This group (`@p0`, `@n1`, `@l0`, `@k0`).
    Group(Level, u32),
}

/// A core and the logical CPUs of it that belong to the part, in the draw's order.
type PartCore = (u32, Vec<u32>);

/// The logical CPUs of a part, in the order in which sessions take them.
///
/// # Errors
/// What the machine lacks.
pub(super) fn logical_cpus(fill: Fill, part: Part, machine: &Machine) -> Result<Vec<u32>, String> {
    let cores = cores(part, machine)?;
    match fill {
        Fill::All => Ok(spread(&cores)),
        Fill::NoSmt => Ok(firsts(&cores)),
        Fill::ButOneCore => Ok(firsts(if cores.len() > 1 { &cores[..cores.len() - 1] } else { &cores })),
        Fill::HalfCores => half(&cores, machine),
    }
}

/// Every core with its usable logical CPUs, in the draw's order.
fn every_core(machine: &Machine) -> Vec<PartCore> {
    let siblings = |&core: &u32| (core, machine.draw.siblings[core as usize].clone());
    machine.draw.cores.iter().map(siblings).collect()
}

fn cores(part: Part, machine: &Machine) -> Result<Vec<PartCore>, String> {
    let all = every_core(machine);
    let inside = |cpus: &CpuSet| -> Vec<PartCore> {
        let keep = |(core, siblings): &PartCore| {
            (*core, siblings.iter().copied().filter(|&cpu| cpus.contains(cpu)).collect::<Vec<u32>>())
        };
        all.iter().map(keep).filter(|(_, siblings)| !siblings.is_empty()).collect()
    };
    Ok(match part {
        Part::Machine => all,
        Part::Package => on_package(machine.draw.packages.first().copied(), machine),
        Part::Node => match nodes_that_can(machine.topology) {
            nodes if nodes.is_empty() => all,
            nodes => {
                let first = |cpus: &&CpuSet| {
                    all.iter().position(|(_, siblings)| siblings.iter().any(|&cpu| cpus.contains(cpu)))
                };
                nodes.into_iter().min_by_key(first).map(inside).unwrap_or_default()
            }
        },
        Part::Group(level, index) => {
            if let Some(absent) = absent_group(level, index, machine.topology) {
                return Err(absent);
            }
            let group = group(level, index, machine);
            let found = inside(&group);
            if found.is_empty() {
                return Err(format!("{} {index} has no allowed logical CPU", level.noun()));
            }
            found
        }
    })
}

/// The cores of a package, none if it does not exist; a machine that declares no packages counts as one.
fn on_package(package: Option<u32>, machine: &Machine) -> Vec<PartCore> {
    let is_there = |&(core, _): &PartCore| Some(package_of(machine.topology, core)) == package;
    every_core(machine).into_iter().filter(is_there).collect()
}

/// All logical CPUs of a group, including those that are not allowed.
fn group(level: Level, index: u32, machine: &Machine) -> CpuSet {
    let at = index as usize;
    let topology = machine.topology;
    let found = match level {
        Level::Package if topology.packages.is_empty() => return topology.allowed(),
        Level::Kind if topology.kinds.is_empty() => return topology.allowed(),
        Level::Package => topology.packages.get(at).map(|group| &group.cpus),
        Level::Node => topology.numa_nodes.get(at).map(|node| &node.cpus),
        Level::Llc => topology.llc_domains.get(at).map(|group| &group.cpus),
        Level::Kind => topology.kinds.get(at).map(|kind| &kind.cpus),
        Level::Core | Level::Pu => None,
    };
    found.cloned().unwrap_or_default()
}

/// The NUMA nodes with the most allowed cores and, among these, logical CPUs; none if the machine declares none.
fn nodes_that_can(topology: &Topology) -> Vec<&CpuSet> {
    let size = |cpus: &&CpuSet| node_size(cpus, topology);
    let sets = || topology.numa_nodes.iter().map(|node| &node.cpus);
    let most = sets().map(|cpus| size(&cpus)).max().unwrap_or_default();
    sets().filter(|cpus| most != (0, 0) && size(cpus) == most).collect()
}

/// Allowed cores and logical CPUs of a node.
fn node_size(cpus: &CpuSet, topology: &Topology) -> (usize, usize) {
    let inside =
        topology.cores.iter().map(|core| core.cpus.intersection(cpus).len()).filter(|&count| count > 0);
    inside.fold((0, 0), |(cores, logical), count| (cores + 1, logical + count))
}

/// Cores first, in the given order; the next siblings only after every core has one.
fn spread(cores: &[PartCore]) -> Vec<u32> {
    let threads = cores.iter().map(|(_, siblings)| siblings.len()).max().unwrap_or(0);
    let at = |thread: usize| cores.iter().filter_map(move |(_, siblings)| siblings.get(thread).copied());
    (0..threads).flat_map(at).collect()
}

fn firsts(cores: &[PartCore]) -> Vec<u32> {
    cores.iter().filter_map(|(_, siblings)| siblings.first().copied()).collect()
}

/// As many sessions as one thread of every core gives, two on each of half of the cores: published as 3c2t and 6c1t.
fn half(cores: &[PartCore], machine: &Machine) -> Result<Vec<u32>, String> {
    let place = |core: u32| {
        let package = package_of(machine.topology, core);
        machine.draw.packages.iter().position(|&other| other == package)
    };
    let mut doubled: Vec<&PartCore> = cores.iter().filter(|(_, siblings)| siblings.len() > 1).collect();
    // A stable sort: package after package, each in the draw's order.
    doubled.sort_by_key(|(core, _)| place(*core));
    match doubled.len() / 2 {
        0 => Err(format!("it needs 2 cores with allowed SMT siblings; this machine has {}", doubled.len())),
        half => Ok(doubled[..half].iter().flat_map(|(_, siblings)| siblings.iter().copied()).collect()),
    }
}

/// All allowed logical CPUs but `free`: whole cores at the end of the draw stay free as far as they fit, then last
/// siblings.
///
/// # Errors
/// No logical CPU would be left.
pub(super) fn all_but(free: u32, machine: &Machine) -> Result<Vec<u32>, String> {
    let mut cores = every_core(machine);
    let there = spread(&cores).len();
    let mut left = free as usize;
    if left >= there {
        return Err(format!(
            "it leaves {free} logical CPUs free, and {there} are allowed: none is left to use"
        ));
    }
    for (_, siblings) in cores.iter_mut().rev() {
        if siblings.len() <= left {
            left -= siblings.len();
            siblings.clear();
        }
    }
    for (_, siblings) in cores.iter_mut().rev() {
        let kept = siblings.len().saturating_sub(left);
        left -= siblings.len() - kept;
        siblings.truncate(kept);
    }
    Ok(spread(&cores))
}

/// A note on a placement on this machine: which package or node is taken if they are not alike, and how many logical
/// CPUs stay free, and which. `None` if there is nothing to note.
pub fn remark(placement: &Placement, topology: &Topology) -> Option<String> {
    use super::Expression::{AllBut, Fill as Filled};
    match placement.expression {
        Filled(_, Part::Package) => unlike_packages(topology),
        Filled(_, Part::Node) => unlike_nodes(topology),
        AllBut(1) => Some("1 logical CPU stays free; every block draws which".to_owned()),
        AllBut(free) => Some(format!(
            "{free} logical CPUs stay free, whole cores where they fit; every block draws which"
        )),
        _ => None,
    }
}

/// Which packages a block may draw first, if not every one may.
fn unlike_packages(topology: &Topology) -> Option<String> {
    let packages = Draw::identity(topology).packages;
    let alike = super::draw::first_packages(topology);
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
