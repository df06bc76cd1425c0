//! Placements that take a whole part of the machine: all of it, one package, one NUMA node or a named group, with
//! every sibling, one of each core, or all siblings of half of the cores; and all logical CPUs but some.
//!
//! "One package" is the first of a block's draw for every placement that names it, so that the treatments of a
//! block share it. The published insert measurement compared parts of one package of six cores: 3c2t, 6c1t, 6c2t.

use super::draw::package_of;
use super::locality::packed;
use super::view::{Machine, PartCore, absent_group};
use super::{KIND_WORDS, Level, Within};
use crate::{CpuSet, Topology};

/// The share of a part of the machine that a placement takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Every allowed logical CPU, cores first.
    All,
    /// First sibling of every allowed core.
    NoSmt,
    /// All siblings of half of the cores that have siblings, rounded down, as `packed` takes them.
    HalfCores,
    /// First sibling of every allowed core but one, which stays free for service threads; a single core is taken.
    ButOneCore,
}

/// The part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachinePart {
    /// The whole machine.
    Machine,
    /// One package, the first of the block's draw.
    Package,
    /// One NUMA node: the first in the draw among those with the most cores and logical CPUs.
    Node,
    /// This group (`@p0`, `@n1`, `@llc0`, `@efficient`).
    Of(Within),
}

/// The logical CPUs of a part, in the order in which sessions take them.
///
/// # Errors
/// What the machine lacks.
pub(super) fn logical_cpus(fill: Fill, part: MachinePart, machine: &Machine) -> Result<Vec<u32>, String> {
    let cores = cores(part, machine)?;
    match fill {
        Fill::All => Ok(spread(&cores)),
        Fill::NoSmt => Ok(firsts(&cores)),
        Fill::ButOneCore => Ok(firsts(if cores.len() > 1 { &cores[..cores.len() - 1] } else { &cores })),
        Fill::HalfCores => half(cores, machine),
    }
}

/// The cores of a part, in the draw's order.
///
/// # Errors
/// What the machine lacks.
pub(super) fn cores(part: MachinePart, machine: &Machine) -> Result<Vec<PartCore>, String> {
    let all = machine.cores();
    let inside = |cpus: &CpuSet| -> Vec<PartCore> {
        let keep = |one: &PartCore| PartCore {
            core: one.core,
            cpus: one.cpus.iter().copied().filter(|&cpu| cpus.contains(cpu)).collect(),
        };
        all.iter().map(keep).filter(|one| !one.cpus.is_empty()).collect()
    };
    Ok(match part {
        MachinePart::Machine => all,
        MachinePart::Package => on_package(machine.draw.packages.first().copied(), machine),
        MachinePart::Node => match nodes_that_can(machine.topology) {
            nodes if nodes.is_empty() => all,
            nodes => {
                let first = |cpus: &&CpuSet| {
                    all.iter().position(|one| one.cpus.iter().any(|&cpu| cpus.contains(cpu)))
                };
                nodes.into_iter().min_by_key(first).map(inside).unwrap_or_default()
            }
        },
        MachinePart::Of(within) => {
            let (level, index) = numbered(within, machine.topology)?;
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

/// A restriction's level and number on this machine.
///
/// # Errors
/// It has no cores of the kind.
pub(super) fn numbered(within: Within, topology: &Topology) -> Result<(Level, u32), String> {
    let word = match within {
        Within::Group(level, index) => return Ok((level, index)),
        Within::Kind(word) => word,
    };
    let (_, name) = KIND_WORDS[word];
    let kinds = &topology.kinds;
    match kinds.iter().position(|kind| kind.name == name) {
        Some(at) if kinds.len() > 1 => Ok((Level::Kind, at as u32)),
        _ if kinds.len() < 2 => Err("all cores here are of one kind".to_owned()),
        _ => {
            let there: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            Err(format!("it has no {name}; its kinds of cores are {}", there.join(", ")))
        }
    }
}

/// The cores of a package, none if it does not exist; a machine that declares no packages counts as one.
fn on_package(package: Option<u32>, machine: &Machine) -> Vec<PartCore> {
    let is_there = |one: &PartCore| Some(package_of(machine.topology, one.core)) == package;
    machine.cores().into_iter().filter(is_there).collect()
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
        Level::L2 | Level::Core | Level::Pu => None,
    };
    found.cloned().unwrap_or_default()
}

/// The NUMA nodes with the most allowed cores and, among these, logical CPUs; none if the machine declares none.
pub(super) fn nodes_that_can(topology: &Topology) -> Vec<&CpuSet> {
    let size = |cpus: &&CpuSet| node_size(cpus, topology);
    let sets = || topology.numa_nodes.iter().map(|node| &node.cpus);
    let most = sets().map(|cpus| size(&cpus)).max().unwrap_or_default();
    sets().filter(|cpus| most != (0, 0) && size(cpus) == most).collect()
}

/// Allowed cores and logical CPUs of a node.
pub(super) fn node_size(cpus: &CpuSet, topology: &Topology) -> (usize, usize) {
    let inside =
        topology.cores.iter().map(|core| core.cpus.intersection(cpus).len()).filter(|&count| count > 0);
    inside.fold((0, 0), |(cores, logical), count| (cores + 1, logical + count))
}

/// Cores first, in the given order; the next siblings only after every core has one.
pub(super) fn spread(cores: &[PartCore]) -> Vec<u32> {
    let threads = cores.iter().map(|one| one.cpus.len()).max().unwrap_or(0);
    let at = |thread: usize| cores.iter().filter_map(move |one| one.cpus.get(thread).copied());
    (0..threads).flat_map(at).collect()
}

fn firsts(cores: &[PartCore]) -> Vec<u32> {
    cores.iter().filter_map(|one| one.cpus.first().copied()).collect()
}

/// As many sessions as one thread of every core gives, two on each of half of the cores: published as 3c2t and 6c1t.
fn half(mut cores: Vec<PartCore>, machine: &Machine) -> Result<Vec<u32>, String> {
    cores.retain(|one| one.cpus.len() > 1);
    packed(&mut cores, machine);
    match cores.len() / 2 {
        0 => Err(format!("it needs 2 cores with allowed SMT siblings; this machine has {}", cores.len())),
        half => Ok(cores[..half].iter().flat_map(|one| one.cpus.iter().copied()).collect()),
    }
}

/// All allowed logical CPUs but `free`: whole cores at the end of the draw stay free as far as they fit, then last
/// siblings.
///
/// # Errors
/// No logical CPU would be left.
pub(super) fn all_but(free: u32, machine: &Machine) -> Result<Vec<u32>, String> {
    let mut cores = machine.cores();
    let there = spread(&cores).len();
    let mut left = free as usize;
    if left >= there {
        return Err(format!(
            "it leaves {free} logical CPUs free, and {there} are allowed: none is left to use"
        ));
    }
    for PartCore { cpus: siblings, .. } in cores.iter_mut().rev() {
        if siblings.len() <= left {
            left -= siblings.len();
            siblings.clear();
        }
    }
    for PartCore { cpus: siblings, .. } in cores.iter_mut().rev() {
        let kept = siblings.len().saturating_sub(left);
        left -= siblings.len() - kept;
        siblings.truncate(kept);
    }
    Ok(spread(&cores))
}
