//! The logical CPUs of each core, and the cores of the whole machine, a package or a node.
//!
//! Source: [`Topology`]; a core that this process may not use is found by the siblings of its logical CPUs.

use serde::Serialize;
use std::collections::BTreeSet;
use threadwise_machine::{CpuSet, Topology};

/// Scope of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "scope", content = "id", rename_all = "lowercase")]
pub enum Scope {
    /// All online logical CPUs.
    Machine,
    /// Those that this process may use, if they are fewer.
    Allowed,
    /// A package, by its id in the topology.
    Package(u32),
    /// A NUMA node, by its id in the topology.
    Node(u32),
}

impl Scope {
    /// Its name in JSON and in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Allowed => "allowed",
            Self::Package(_) => "package",
            Self::Node(_) => "node",
        }
    }

    /// The package's or node's id.
    pub fn id(&self) -> Option<u32> {
        match *self {
            Self::Machine | Self::Allowed => None,
            Self::Package(id) | Self::Node(id) => Some(id),
        }
    }
}

/// The online logical CPUs of a core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreCpus {
    /// OS numbers, ascending.
    pub cpus: Vec<u32>,
    /// Index into the topology's packages.
    pub package: Option<u32>,
    /// Index into the topology's NUMA nodes.
    pub node: Option<u32>,
}

/// The cores of a machine, and its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    cores: Vec<CoreCpus>,
    allowed: CpuSet,
    scopes: Vec<Scope>,
}

impl Layout {
    /// Cores of all online logical CPUs, including those that are not allowed. Packages and nodes have rows if there
    /// are two or more.
    pub fn of(topology: &Topology) -> Self {
        let online = || topology.logical_cpus.iter().filter(|cpu| cpu.online);
        let cores: Vec<CoreCpus> = online()
            // A core is added with its first logical CPU.
            .filter(|cpu| cpu.siblings.first().is_none_or(|first| first == cpu.os_id))
            .map(|cpu| {
                let siblings: Vec<u32> = cpu.siblings.iter().collect();
                let cpus = if siblings.is_empty() { vec![cpu.os_id] } else { siblings };
                CoreCpus { cpus, package: cpu.package, node: cpu.numa_node }
            })
            .collect();
        let allowed = topology.allowed();
        let mut scopes = vec![Scope::Machine];
        if allowed.len() < online().count() {
            scopes.push(Scope::Allowed);
        }
        let packages: BTreeSet<u32> = cores.iter().filter_map(|core| core.package).collect();
        let nodes: BTreeSet<u32> = cores.iter().filter_map(|core| core.node).collect();
        scopes.extend(packages.iter().filter(|_| packages.len() > 1).map(|&id| Scope::Package(id)));
        scopes.extend(nodes.iter().filter(|_| nodes.len() > 1).map(|&id| Scope::Node(id)));
        Self { cores, allowed, scopes }
    }

    /// All cores, in the order of their first logical CPUs.
    pub fn cores(&self) -> &[CoreCpus] {
        &self.cores
    }

    /// Scopes of the rows: the machine, its allowed part, packages, nodes.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Online logical CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()
    }

    /// Most logical CPUs on a core.
    pub fn most_threads(&self) -> usize {
        self.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0)
    }

    /// Whether a core belongs to a row. A core is allowed if one of its logical CPUs is: load on the others takes
    /// from it.
    pub fn is_in(&self, core: &CoreCpus, scope: Scope) -> bool {
        match scope {
            Scope::Machine => true,
            Scope::Allowed => core.cpus.iter().any(|&cpu| self.allowed.contains(cpu)),
            Scope::Package(id) => core.package == Some(id),
            Scope::Node(id) => core.node == Some(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::topology::LogicalCpu;

    /// Two packages, a node each, of two cores with two threads; the last logical CPU offline, the second core not
    /// allowed.
    fn machine() -> Topology {
        let set = |cpus: &[u32]| cpus.iter().copied().collect::<CpuSet>();
        let cpu = |os_id: u32| {
            let core = os_id % 4;
            let online = os_id != 7;
            LogicalCpu {
                os_id,
                package: Some(core / 2),
                numa_node: Some(core / 2),
                siblings: if core == 3 { set(&[3]) } else { set(&[core, core + 4]) },
                allowed: core != 1,
                online,
                ..LogicalCpu::default()
            }
        };
        Topology { logical_cpus: (0..8).map(cpu).collect(), ..Topology::default() }
    }

    #[test]
    fn cores_of_all_online_logical_cpus_are_known() {
        let layout = Layout::of(&machine());
        let cores: Vec<&[u32]> = layout.cores().iter().map(|core| core.cpus.as_slice()).collect();
        assert_eq!(cores, [&[0, 4][..], &[1, 5], &[2, 6], &[3]]);
        assert_eq!((layout.cpus().len(), layout.most_threads()), (7, 2));
        let scopes = [
            Scope::Machine,
            Scope::Allowed,
            Scope::Package(0),
            Scope::Package(1),
            Scope::Node(0),
            Scope::Node(1),
        ];
        assert_eq!(layout.scopes(), scopes);
        let of = |scope| layout.cores().iter().filter(|core| layout.is_in(core, scope)).count();
        assert_eq!(scopes.map(of), [4, 3, 2, 2, 2, 2]);
    }

    #[test]
    fn a_machine_of_one_package_has_one_row() {
        let mut topology = machine();
        topology.logical_cpus.retain(|cpu| [0, 4].contains(&cpu.os_id));
        assert_eq!(Layout::of(&topology).scopes(), [Scope::Machine]);
    }
}
