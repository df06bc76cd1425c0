//! The machine as nested boxes, the source of the list in the terminal ([`crate::drawing`]); pictures have their own
//! ([`crate::picture`]).
//!
//! Order: package, NUMA node, LLC domain, core, logical CPU. A thing that does not nest (an LLC shared by two nodes)
//! appears once in each; the lists of `topology --json` are exact.

use threadwise_machine::topology::Core;
use threadwise_machine::{CpuSet, Topology};

/// All boxes of a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    /// One entry with `id` `None` if the system declares no package.
    pub packages: Vec<PackageBox>,
    /// NUMA nodes without usable CPUs.
    pub bare_nodes: Vec<BareNode>,
}

/// A NUMA node without usable CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct BareNode {
    /// The system's number.
    pub number: String,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Why it has no usable CPU.
    pub why: Bare,
}

/// Why a NUMA node has no usable CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bare {
    /// It has memory and no CPU: the node of every CPU is known, and is another.
    MemoryOnly,
    /// It has CPUs, and none is allowed.
    NotAllowed,
    /// Its CPUs are unknown: some CPUs of the machine are not usable, and their node is unknown.
    Unknown,
}

impl Bare {
    /// The reason for a node of this machine.
    pub fn of(topology: &Topology, node: u32) -> Self {
        let cpus = &topology.logical_cpus;
        if cpus.iter().any(|cpu| cpu.numa_node == Some(node) && cpu.online) {
            Self::NotAllowed
        } else if cpus.iter().all(|cpu| cpu.numa_node.is_some_and(|known| known != node)) {
            Self::MemoryOnly
        } else {
            Self::Unknown
        }
    }

    /// The reason in words, as they follow `NUMA node 2`.
    pub fn words(self) -> &'static str {
        match self {
            Self::MemoryOnly => "with memory and no CPUs",
            Self::NotAllowed => "whose CPUs are not allowed",
            Self::Unknown => "without allowed CPUs",
        }
    }
}

/// A package.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageBox {
    /// Dense id.
    pub id: Option<u32>,
    /// Its NUMA nodes.
    pub nodes: Vec<NodeBox>,
}

/// A NUMA node's part of a package.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeBox {
    /// Dense id.
    pub id: Option<u32>,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Its LLC domains.
    pub llcs: Vec<LlcBox>,
}

/// An LLC domain's part of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct LlcBox {
    /// Dense id.
    pub id: Option<u32>,
    /// Cache level, if a cache of this domain is known.
    pub level: Option<u32>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// Its cores.
    pub cores: Vec<CoreBox>,
}

/// A core.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreBox {
    /// Dense id.
    pub id: u32,
    /// Dense id of its kind.
    pub kind: u32,
    /// Its logical CPUs, including siblings that are not allowed.
    pub cpus: Vec<CpuMark>,
}

/// A logical CPU and whether it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuMark {
    /// OS number.
    pub cpu: u32,
    /// Its state.
    pub state: CpuState,
}

/// Whether a logical CPU may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuState {
    /// Online and allowed.
    Allowed,
    /// Online, but excluded for this process by a cpuset or an affinity mask.
    NotAllowed,
    /// Offline.
    Offline,
}

impl CpuState {
    /// The state in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::NotAllowed => "not allowed",
            Self::Offline => "offline",
        }
    }

    /// The state of a CPU of this machine; a CPU that is not listed is taken as offline.
    pub fn of(topology: &Topology, cpu: u32) -> Self {
        match topology.cpu(cpu) {
            Some(cpu) if cpu.online && cpu.allowed => Self::Allowed,
            Some(cpu) if cpu.online => Self::NotAllowed,
            _ => Self::Offline,
        }
    }
}

/// The logical CPUs of a machine that are in this state.
pub fn in_state(topology: &Topology, state: CpuState) -> CpuSet {
    let all = topology.logical_cpus.iter().map(|cpu| cpu.os_id);
    all.filter(|&cpu| CpuState::of(topology, cpu) == state).collect()
}

impl Layout {
    /// Puts a machine's cores into their boxes.
    pub fn new(topology: &Topology) -> Self {
        let mut layout = Self::default();
        let mut cores: Vec<(BoxIds, u32, &Core)> =
            (0..).zip(&topology.cores).map(|(id, core)| (BoxIds::of(topology, core), id, core)).collect();
        cores.sort_by_key(|(place, id, _)| (*place, *id));
        for (place, id, core) in cores {
            let cpus = core_cpus(topology, core);
            layout.llc_at(topology, place).cores.push(CoreBox { id, kind: core.kind, cpus });
        }
        let bare = (0..).zip(&topology.numa_nodes).filter(|(_, node)| node.cpus.is_empty());
        let bare = bare.map(|(id, node)| BareNode {
            number: node.os_id.unwrap_or(i64::from(id)).to_string(),
            memory_bytes: node.memory_bytes,
            why: Bare::of(topology, id),
        });
        layout.bare_nodes = bare.collect();
        layout
    }

    fn llc_at(&mut self, topology: &Topology, place: BoxIds) -> &mut LlcBox {
        let node = place.node.and_then(|id| topology.numa_nodes.get(id as usize));
        let package = entry(
            &mut self.packages,
            |b| b.id == place.package,
            || PackageBox { id: place.package, nodes: vec![] },
        );
        let node = entry(
            &mut package.nodes,
            |b| b.id == place.node,
            || NodeBox {
                id: place.node,
                memory_bytes: node.and_then(|node| node.memory_bytes),
                llcs: vec![],
            },
        );
        entry(&mut node.llcs, |b| b.id == place.llc, || llc_box(topology, place.llc))
    }
}

/// Ids of the boxes around a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BoxIds {
    package: Option<u32>,
    node: Option<u32>,
    llc: Option<u32>,
}

impl BoxIds {
    fn of(topology: &Topology, core: &Core) -> Self {
        let first = core.cpus.first().and_then(|cpu| topology.cpu(cpu));
        Self {
            package: core.package,
            node: first.and_then(|cpu| cpu.numa_node),
            llc: first.and_then(|cpu| cpu.llc),
        }
    }
}

/// The last entry that fits, or a new one at the end: entries come sorted.
fn entry<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = match list.iter().rposition(fits) {
        Some(at) => at,
        None => {
            list.push(make());
            list.len() - 1
        }
    };
    &mut list[at]
}

fn llc_box(topology: &Topology, id: Option<u32>) -> LlcBox {
    let domain = id.and_then(|id| topology.llc_domains.get(id as usize));
    let caches =
        topology.caches.iter().filter(|cache| domain.is_some_and(|domain| domain.cpus == cache.cpus));
    let cache = caches.max_by_key(|cache| cache.level);
    LlcBox {
        id,
        level: cache.map(|cache| cache.level),
        size_bytes: cache.and_then(|cache| cache.size_bytes),
        cores: vec![],
    }
}

/// A core's CPUs with its siblings that may not be used: they matter, since others may use them.
fn core_cpus(topology: &Topology, core: &Core) -> Vec<CpuMark> {
    let siblings = core.cpus.first().and_then(|cpu| topology.cpu(cpu)).map(|cpu| cpu.siblings.clone());
    let all = core.cpus.union(&siblings.unwrap_or_default());
    all.iter().map(|cpu| CpuMark { cpu, state: CpuState::of(topology, cpu) }).collect()
}
