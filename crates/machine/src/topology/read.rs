//! Assembles a topology from the other modules' readings below the root.

use super::cpus::{Cpus, Structure};
use super::kinds::Kinds;
use super::nodes::Nodes;
use super::sets::{Groups, and};
use super::tree::Tree;
use super::{
    Core, Group, LogicalCpu, Topology, TopologyError, caches, cpuinfo, identity, kinds, limits, nodes,
};
use crate::CpuSet;
use std::path::Path;

impl Topology {
    /// Reads the machine that the files below `root` describe: `/` for this one, or the folder of
    /// a recorded machine. Reads no other file, whatever links point to. `affinity` is the mask of
    /// the live process, for the live machine.
    ///
    /// A missing or empty file is a gap in the topology. A file that cannot be parsed is an error that names it.
    ///
    /// # Errors
    /// [`TopologyError::NoSys`] when the root has no CPU description, [`TopologyError::File`] for
    /// a damaged or unreadable file, [`TopologyError::NoCpu`] when the limits leave no CPU.
    pub fn read(root: &Path, affinity: Option<&CpuSet>) -> Result<Self, TopologyError> {
        let tree = Tree::open(root)?;
        let bounds = limits::read(&tree, affinity)?;
        let effective = bounds.effective.iter().chain(affinity);
        let surely = effective.fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let cpus = Cpus::read(&tree, root, &surely)?;
        let mut allowed = cpus.online.clone();
        for limit in bounds.limits.cpuset.iter().chain(affinity) {
            allowed = and(&allowed, limit);
        }
        if allowed.is_empty() {
            return Err(TopologyError::NoCpu { root: root.to_owned() });
        }
        let about = cpuinfo::first_record(&tree)?;
        let nodes = nodes::read(&tree, &cpus.online, &allowed, bounds.mems.as_ref())?;
        let structure = cpus.structure(&tree, &allowed, &nodes.picked, &about)?;
        let (caches, llc) = caches::read(&cpus, &structure.cores, &allowed)?;
        let kinds = kinds::read(&tree, &cpus, &structure.siblings, &allowed)?;
        let no_ids = vec![None; llc.allowed.len()];
        Ok(Self {
            logical_cpus: logical_cpus(&cpus, &allowed, &structure, &llc, &nodes, &kinds),
            cores: cores(&structure, &kinds),
            packages: groups(&structure.packages, &structure.package_ids),
            dies: groups(&structure.dies, &structure.die_ids),
            clusters: groups(&structure.clusters, &structure.cluster_ids),
            llc_domains: groups(&llc, &no_ids),
            numa_nodes: nodes.nodes,
            caches,
            kinds: kinds.kinds,
            limits: bounds.limits,
            identity: identity::read(&tree, &about)?,
        })
    }
}

fn groups(groups: &Groups, ids: &[Option<i64>]) -> Vec<Group> {
    groups.allowed.iter().zip(ids).map(|(cpus, &os_id)| Group { os_id, cpus: cpus.clone() }).collect()
}

fn cores(structure: &Structure, kinds: &Kinds) -> Vec<Core> {
    let by_kind = by_cpu(&kinds.online);
    let core = |(cpus, &os_id): (&CpuSet, &Option<i64>)| {
        let first = cpus.first();
        Core {
            os_id,
            cpus: cpus.clone(),
            package: first.and_then(|cpu| structure.packages.of(cpu)),
            kind: first.and_then(|cpu| at(&by_kind, cpu)).unwrap_or(0),
        }
    };
    structure.cores.allowed.iter().zip(&structure.core_ids).map(core).collect()
}

fn logical_cpus(
    cpus: &Cpus<'_>,
    allowed: &CpuSet,
    structure: &Structure,
    llc: &Groups,
    nodes: &Nodes,
    kinds: &Kinds,
) -> Vec<LogicalCpu> {
    let (by_node, by_kind) = (by_cpu(&nodes.online), by_cpu(&kinds.online));
    let by_siblings = by_cpu(&structure.siblings);
    let one = |os_id: u32| {
        let usable = allowed.contains(os_id);
        let siblings = at(&by_siblings, os_id).map(|core| structure.siblings[core as usize].clone());
        LogicalCpu {
            os_id,
            core: structure.cores.of(os_id).filter(|_| usable),
            package: structure.packages.of(os_id),
            die: structure.dies.of(os_id),
            cluster: structure.clusters.of(os_id),
            numa_node: at(&by_node, os_id),
            llc: llc.of(os_id),
            siblings: siblings.unwrap_or_default(),
            kind: at(&by_kind, os_id),
            allowed: usable,
            online: cpus.online.contains(os_id),
        }
    };
    cpus.present.iter().map(one).collect()
}

/// For each CPU number, the position of the set that holds it.
fn by_cpu(sets: &[CpuSet]) -> Vec<Option<u32>> {
    let mut positions = Vec::new();
    for (position, set) in sets.iter().enumerate() {
        for cpu in set.iter().map(|cpu| cpu as usize) {
            if positions.len() <= cpu {
                positions.resize(cpu + 1, None);
            }
            positions[cpu] = Some(position as u32);
        }
    }
    positions
}

fn at(positions: &[Option<u32>], cpu: u32) -> Option<u32> {
    positions.get(cpu as usize).copied().flatten()
}
