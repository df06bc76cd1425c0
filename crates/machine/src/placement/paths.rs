//! Resolving hwloc paths (`package:0.core:1-3.pu:0`).
//!
//! Indices are logical: the dense ids of the topology for the outermost level, and positions
//! within the parent for the inner levels, as in hwloc(7).

use super::Level;
use crate::{CpuSet, Topology};

/// The logical CPUs of a path, in the path's order.
///
/// # Errors
/// What the machine lacks.
pub(super) fn logical_cpus(levels: &[(Level, Vec<u32>)], topology: &Topology) -> Result<Vec<u32>, String> {
    let mut parents = vec![("this machine".to_owned(), topology.allowed())];
    for (depth, (level, indices)) in levels.iter().enumerate() {
        let mut children = Vec::new();
        for (parent, cpus) in &parents {
            let there = groups(*level, cpus, depth == 0, topology);
            for &index in indices {
                let name = format!("{} {index}", level.noun());
                let Some(group) = there.get(index as usize) else {
                    let plural = if there.len() == 1 { "" } else { "s" };
                    return Err(format!(
                        "there is no {name}, counted from 0: {parent} has {} {}{plural}",
                        there.len(),
                        level.noun()
                    ));
                };
                if group.is_empty() {
                    return Err(format!("{name} has no allowed logical CPU"));
                }
                children.push((name, group.clone()));
            }
        }
        parents = children;
    }
    let mut cpus = Vec::new();
    for (_, group) in &parents {
        cpus.extend(in_core_order(group, topology));
    }
    Ok(cpus)
}

/// The groups of a level inside a parent; empty ones (memory-only nodes) count only at the outermost level.
fn groups(level: Level, parent: &CpuSet, outermost: bool, topology: &Topology) -> Vec<CpuSet> {
    let sets: Vec<CpuSet> = match level {
        Level::Package if topology.packages.is_empty() => vec![topology.allowed()],
        Level::Package => topology.packages.iter().map(|package| package.cpus.clone()).collect(),
        Level::Node => topology.numa_nodes.iter().map(|node| node.cpus.clone()).collect(),
        Level::Llc => topology.llc_domains.iter().map(|llc| llc.cpus.clone()).collect(),
        Level::L2 => {
            let caches = topology.caches.iter().filter(|cache| cache.level == 2);
            caches.map(|cache| cache.cpus.clone()).collect()
        }
        Level::Kind => topology.kinds.iter().map(|kind| kind.cpus.clone()).collect(),
        Level::Core => topology.cores.iter().map(|core| core.cpus.clone()).collect(),
        Level::Pu => in_core_order(parent, topology).map(|cpu| [cpu].into_iter().collect()).collect(),
    };
    sets.into_iter().map(|set| set.intersection(parent)).filter(|set| outermost || !set.is_empty()).collect()
}

fn in_core_order<'a>(cpus: &'a CpuSet, topology: &'a Topology) -> impl Iterator<Item = u32> + 'a {
    let mut ordered: Vec<u32> = cpus.iter().collect();
    ordered.sort_by_key(|&cpu| (topology.cpu(cpu).and_then(|found| found.core), cpu));
    ordered.into_iter()
}
