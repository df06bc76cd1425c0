//! Levels of a machine as sets of logical CPUs with their captions, in no order.
//!
//! Packages, nodes and LLC domains have their CPUs that are not allowed too, as far as the system declares them.
//! Other caches are known for allowed CPUs only, and include these CPUs' siblings.

use crate::text::plain;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use threadwise_document::numbers::bytes;
use threadwise_machine::text::one_line;
use threadwise_machine::topology::{Cache, Group as Declared, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Topology};

/// Most characters of a core kind's name, which may come from another user's file.
const MAX_NAME: usize = 16;

/// A set of logical CPUs with its caption.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its level.
    pub level: Level,
    /// Its caption.
    pub label: Label,
    /// Its logical CPUs.
    pub cpus: CpuSet,
}

/// Levels, outermost first where several have the same logical CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The whole machine, if the system declares no package.
    Machine,
    /// A package.
    Package,
    /// A NUMA node.
    Node,
    /// An LLC domain.
    Llc,
    /// Another cache that several cores share.
    Cache,
    /// A die.
    Die,
    /// A cluster of cores.
    Cluster,
    /// A core.
    Core,
}

impl Level {
    /// Whether it is left out where it says nothing beyond the other levels.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::Die | Self::Cluster)
    }
}

/// A part of a caption: `package 0`, `node 1, 64 GiB`, `LLC 2, L3 32 MiB`, `L2 2 MiB`. ASCII only.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Label {
    noun: String,
    number: String,
    /// What stands before the size.
    about: String,
    size_bytes: Option<u64>,
}

impl Label {
    /// Words alone.
    pub fn words(words: impl Into<String>) -> Self {
        Self { noun: words.into(), ..Self::default() }
    }

    fn numbered(noun: &str, number: impl fmt::Display) -> Self {
        Self { noun: noun.to_owned(), number: number.to_string(), ..Self::default() }
    }

    /// A node with its memory, and with the system's number if that is another one.
    pub fn node(id: u32, node: &NumaNode) -> Self {
        let other = node.os_id.filter(|os_id| *os_id != i64::from(id));
        let number = other.map_or(id.to_string(), |os_id| format!("{id} (OS {os_id})"));
        Self { size_bytes: node.memory_bytes, ..Self::numbered("node", number) }
    }

    /// Whether another one says the same but for its number. Memory of like nodes differs by what the kernel keeps.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_close = match (self.size_bytes, other.size_bytes) {
            (Some(one), Some(two)) => one.abs_diff(two) <= one.max(two) / 10,
            (one, two) => one == two,
        };
        is_close && (&self.noun, &self.about) == (&other.noun, &other.about)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size_bytes.map(bytes).unwrap_or_default();
        let about: Vec<&str> = [&*self.about, &*size].into_iter().filter(|part| !part.is_empty()).collect();
        let about = about.join(" ");
        match (self.number.as_str(), about.as_str()) {
            ("", "") => write!(formatter, "{}", self.noun),
            ("", about) => write!(formatter, "{} {about}", self.noun),
            (number, "") => write!(formatter, "{} {number}", self.noun),
            (number, about) => write!(formatter, "{} {number}, {about}", self.noun),
        }
    }
}

/// The groups of a machine that may have a box, with logical CPUs of `present` alone.
pub fn groups(topology: &Topology, present: &CpuSet) -> Vec<Group> {
    let cores = cores(topology);
    let core_of = by_cpu(&cores);
    let mut all = packages(topology);
    let nodes = extents(topology, topology.numa_nodes.len(), |cpu| cpu.numa_node);
    for ((id, node), cpus) in (0..).zip(&topology.numa_nodes).zip(nodes) {
        all.push(Group { level: Level::Node, label: Label::node(id, node), cpus: cpus.union(&node.cpus) });
    }
    all.extend(caches(topology, &core_of));
    let dies = extents(topology, topology.dies.len(), |cpu| cpu.die);
    all.extend(numbered(Level::Die, "die", &topology.dies, dies));
    let clusters = extents(topology, topology.clusters.len(), |cpu| cpu.cluster);
    all.extend(numbered(Level::Cluster, "cluster", &topology.clusters, clusters));
    all.retain(|group| !group.level.is_silent() || distinct(&group.cpus, &core_of).len() > 1);
    // A core of one logical CPU is its logical CPU, unless others have more or are of another kind.
    if topology.kinds.len() > 1 || cores.iter().any(|core| core.cpus.len() > 1) {
        all.extend(cores);
    }
    all.iter_mut().for_each(|group| group.cpus = group.cpus.intersection(present));
    all.retain(|group| !group.cpus.is_empty());
    all
}

/// Declared groups of a level, with the logical CPUs that name them.
fn numbered(level: Level, noun: &str, declared: &[Declared], sets: Vec<CpuSet>) -> Vec<Group> {
    let groups = declared.iter().zip(sets).enumerate().map(|(id, (group, cpus))| Group {
        level,
        label: Label::numbered(noun, id),
        cpus: cpus.union(&group.cpus),
    });
    groups.collect()
}

/// Packages, or the machine if the system declares none.
fn packages(topology: &Topology) -> Vec<Group> {
    let sets = extents(topology, topology.packages.len(), |cpu| cpu.package);
    let mut all = numbered(Level::Package, "package", &topology.packages, sets);
    if all.is_empty() {
        let online = topology.logical_cpus.iter().filter(|cpu| cpu.online);
        all.push(Group {
            level: Level::Machine,
            label: Label::words("machine, no package declared"),
            cpus: online.map(|cpu| cpu.os_id).collect(),
        });
    }
    all
}

/// The cores with all their online siblings, allowed or not, and cores without an allowed CPU.
fn cores(topology: &Topology) -> Vec<Group> {
    let mut seen = CpuSet::new();
    let mut all = Vec::new();
    for (id, core) in topology.cores.iter().enumerate() {
        let cpus = topology.with_siblings(core.cpus.iter()).difference(&seen);
        seen = seen.union(&cpus);
        let label = Label::numbered(&kind_name(topology, Some(core.kind)), id);
        all.push(Group { level: Level::Core, label, cpus });
    }
    for cpu in topology.logical_cpus.iter().filter(|cpu| cpu.online) {
        if !seen.contains(cpu.os_id) {
            let cpus = topology.with_siblings([cpu.os_id]).difference(&seen);
            seen = seen.union(&cpus);
            all.push(Group { level: Level::Core, label: Label::words(kind_name(topology, cpu.kind)), cpus });
        }
    }
    all
}

/// LLC domains, and other caches, of levels that several cores share.
fn caches(topology: &Topology, core_of: &BTreeMap<u32, usize>) -> Vec<Group> {
    let shared = shared_levels(topology, core_of);
    let is_shared =
        |cache: &Cache| holders(topology, cache, core_of).iter().any(|holder| shared.contains(holder));
    let mut by_set: BTreeMap<&CpuSet, Vec<usize>> = BTreeMap::new();
    for (at, cache) in topology.caches.iter().enumerate() {
        by_set.entry(&cache.cpus).or_default().push(at);
    }
    let mut all = Vec::new();
    let mut drawn: BTreeSet<usize> = BTreeSet::new();
    let sets = extents(topology, topology.llc_domains.len(), |cpu| cpu.llc);
    for ((id, domain), cpus) in topology.llc_domains.iter().enumerate().zip(sets) {
        let same = by_set.get(&domain.cpus).map(Vec::as_slice).unwrap_or_default();
        let last = same.iter().copied().max_by_key(|at| topology.caches[*at].level);
        drawn.extend(last);
        let cache = last.map(|at| &topology.caches[at]);
        let cpus = cpus.union(&domain.cpus);
        if cache.map_or(distinct(&cpus, core_of).len() > 1, is_shared) {
            all.push(Group { level: Level::Llc, label: llc_label(topology, id, cache), cpus });
        }
    }
    let others =
        topology.caches.iter().enumerate().filter(|(at, cache)| !drawn.contains(at) && is_shared(cache));
    all.extend(others.map(|(_, cache)| Group {
        level: Level::Cache,
        label: Label { size_bytes: cache.size_bytes, ..Label::words(format!("L{}", cache.level)) },
        cpus: topology.with_siblings(cache.cpus.iter()),
    }));
    all
}

/// `L3 32 MiB`, or `LLC 2, L3 32 MiB` where there are several; without a known cache `LLC`.
fn llc_label(topology: &Topology, id: usize, cache: Option<&Cache>) -> Label {
    let size_bytes = cache.and_then(|cache| cache.size_bytes);
    let name = cache.map(|cache| format!("L{}", cache.level));
    match topology.llc_domains.len() {
        1 => Label { size_bytes, ..Label::words(name.unwrap_or("LLC".to_owned())) },
        _ => Label { about: name.unwrap_or_default(), size_bytes, ..Label::numbered("LLC", id) },
    }
}

/// A level of caches of a core kind.
type KindLevel = (u32, u32);

/// The level of a cache, for each kind of the cores that use it.
fn holders(topology: &Topology, cache: &Cache, core_of: &BTreeMap<u32, usize>) -> BTreeSet<KindLevel> {
    let cores = distinct(&cache.cpus, core_of);
    let kinds = cores.iter().filter_map(|core| topology.cores.get(*core)).map(|core| core.kind);
    kinds.map(|kind| (kind, cache.level)).collect()
}

/// Levels of which a cache is shared by several cores.
fn shared_levels(topology: &Topology, core_of: &BTreeMap<u32, usize>) -> BTreeSet<KindLevel> {
    let shared = topology.caches.iter().filter(|cache| distinct(&cache.cpus, core_of).len() > 1);
    shared.flat_map(|cache| holders(topology, cache, core_of)).collect()
}

/// Caches that a core has for itself, a line a kind of core: `each core: L1 48 KiB, L2 2 MiB`.
pub fn private_caches(topology: &Topology) -> Vec<String> {
    let core_of = by_cpu(&cores(topology));
    let shared = shared_levels(topology, &core_of);
    let mut sizes: BTreeMap<u32, BTreeMap<u32, BTreeSet<String>>> = BTreeMap::new();
    for cache in &topology.caches {
        let size = cache.size_bytes.map_or("of unknown size".to_owned(), bytes);
        for (kind, level) in holders(topology, cache, &core_of).difference(&shared) {
            sizes.entry(*kind).or_default().entry(*level).or_default().insert(size.clone());
        }
    }
    let line = |(kind, levels): (&u32, &BTreeMap<u32, BTreeSet<String>>)| {
        let caches = levels.iter().map(|(level, sizes)| {
            let sizes: Vec<&str> = sizes.iter().take(3).map(String::as_str).collect();
            format!("L{level} {}", sizes.join(" or "))
        });
        format!("each {}: {}", kind_name(topology, Some(*kind)), caches.collect::<Vec<_>>().join(", "))
    };
    sizes.iter().map(line).collect()
}

/// `P-core` and the like on a hybrid machine, else `core`.
fn kind_name(topology: &Topology, kind: Option<u32>) -> String {
    match kind.and_then(|kind| topology.kinds.get(kind as usize)) {
        Some(kind) if topology.kinds.len() > 1 => plain(&one_line(&kind.name, MAX_NAME), false),
        _ => "core".to_owned(),
    }
}

/// For each index the logical CPUs that name it.
fn extents(topology: &Topology, count: usize, index: fn(&LogicalCpu) -> Option<u32>) -> Vec<CpuSet> {
    let mut sets = vec![CpuSet::new(); count];
    for cpu in &topology.logical_cpus {
        if let Some(set) = index(cpu).and_then(|index| sets.get_mut(index as usize)) {
            set.insert(cpu.os_id);
        }
    }
    sets
}

/// The core of each logical CPU.
fn by_cpu(cores: &[Group]) -> BTreeMap<u32, usize> {
    cores.iter().enumerate().flat_map(|(at, core)| core.cpus.iter().map(move |cpu| (cpu, at))).collect()
}

/// The cores of logical CPUs.
fn distinct(cpus: &CpuSet, core_of: &BTreeMap<u32, usize>) -> BTreeSet<usize> {
    cpus.iter().filter_map(|cpu| core_of.get(&cpu).copied()).collect()
}
