//! Levels of locality: which groups a core belongs to, what two cores share, and the names of pairs by level.
//!
//! Levels nest differently from machine to machine (an L3 inside a NUMA node on EPYC, several nodes inside an L3 with
//! sub-NUMA clusters), so a pair is found by what it shares and by what it does not, never by counting levels.

use std::collections::HashSet;

use super::view::{Machine, PartCore, plural};
use super::{Level, Name};
use crate::Topology;
use serde::{Deserialize, Serialize};

/// What two logical CPUs share, as declared; nearest first. What a machine does not declare (packages, nodes) counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locality {
    /// They are one.
    SameCpu,
    /// Siblings of one core.
    SameCore,
    /// Two cores that share an L2, which is not their LLC.
    SameL2,
    /// Two cores that share an LLC.
    SameLlc,
    /// Two cores of one NUMA node that share no cache.
    SameNode,
    /// Two NUMA nodes of one package.
    SamePackage,
    /// Two packages.
    OtherPackage,
}

impl Locality {
    /// All, nearest first.
    pub const ALL: [Self; 7] = [
        Self::SameCpu,
        Self::SameCore,
        Self::SameL2,
        Self::SameLlc,
        Self::SameNode,
        Self::SamePackage,
        Self::OtherPackage,
    ];

    /// In words, as levels of cache-line latency are named.
    pub fn words(self) -> &'static str {
        match self {
            Self::SameCpu => "same logical CPU",
            Self::SameCore => "same core",
            Self::SameL2 => "same L2",
            Self::SameLlc => "same LLC",
            Self::SameNode => "same node",
            Self::SamePackage => "same package",
            Self::OtherPackage => "other package",
        }
    }
}

/// What any two logical CPUs of a machine share.
pub struct Localities<'t> {
    topology: &'t Topology,
    groups: CoreGroups,
}

impl<'t> Localities<'t> {
    /// Those of a machine.
    pub fn of(topology: &'t Topology) -> Self {
        Self { topology, groups: CoreGroups::of(topology) }
    }

    /// What two of them share; `None` if one of them is not allowed or not there.
    pub fn between(&self, one: u32, other: u32) -> Option<Locality> {
        let core = |cpu: u32| self.topology.cpu(cpu)?.core;
        let (left, right) = (core(one)?, core(other)?);
        let share = |level| self.groups.share(level, left, right);
        Some(match () {
            () if one == other => Locality::SameCpu,
            () if left == right => Locality::SameCore,
            () if share(Level::L2) && !self.is_last(left) => Locality::SameL2,
            () if share(Level::Llc) => Locality::SameLlc,
            () if share(Level::Node) => Locality::SameNode,
            () if share(Level::Package) => Locality::SamePackage,
            () => Locality::OtherPackage,
        })
    }

    /// Whether a core's L2 is its last-level cache.
    fn is_last(&self, core: u32) -> bool {
        let topology = self.topology;
        let mut second = topology.caches.iter().filter(|cache| cache.level == 2);
        let l2 = self.groups.group(Level::L2, core).and_then(|at| second.nth(at as usize));
        let llc = self.groups.group(Level::Llc, core).and_then(|at| topology.llc_domains.get(at as usize));
        l2.zip(llc).is_some_and(|(l2, llc)| l2.cpus == llc.cpus)
    }
}

/// The groups of every core, by its index.
pub(super) struct CoreGroups {
    l2: Vec<Option<u32>>,
    llc: Vec<Option<u32>>,
    node: Vec<Option<u32>>,
    /// Whether the machine declares the node of any core.
    has_nodes: bool,
    package: Vec<u32>,
}

impl CoreGroups {
    pub(super) fn of(topology: &Topology) -> Self {
        let first = |core: &crate::topology::Core| core.cpus.first().and_then(|cpu| topology.cpu(cpu));
        let cores = || topology.cores.iter().map(first);
        let mut l2 = vec![None; topology.cores.len()];
        for (index, cache) in (0_u32..).zip(topology.caches.iter().filter(|cache| cache.level == 2)) {
            for cpu in cache.cpus.iter() {
                if let Some(core) = topology.cpu(cpu).and_then(|cpu| cpu.core) {
                    l2[core as usize].get_or_insert(index);
                }
            }
        }
        let node: Vec<Option<u32>> = cores().map(|cpu| cpu?.numa_node).collect();
        Self {
            l2,
            llc: cores().map(|cpu| cpu?.llc).collect(),
            has_nodes: node.iter().any(Option::is_some),
            node,
            package: topology.cores.iter().map(|core| core.package.unwrap_or(0)).collect(),
        }
    }

    /// A number that cores of one group have in common; `None` where the machine declares no such group for the core. A
    /// machine that declares no packages, or no nodes, counts as one.
    pub(super) fn group(&self, level: Level, core: u32) -> Option<u32> {
        let at = core as usize;
        match level {
            Level::L2 => self.l2[at],
            Level::Llc => self.llc[at],
            Level::Node if self.has_nodes => self.node[at],
            Level::Node => Some(u32::MAX),
            Level::Package => Some(self.package[at]),
            Level::Kind | Level::Core | Level::Pu => None,
        }
    }

    /// Whether two cores share a group; a node of several packages is one in each.
    fn share(&self, level: Level, one: u32, other: u32) -> bool {
        let is_shared = |level| {
            let group = self.group(level, one);
            group.is_some() && group == self.group(level, other)
        };
        is_shared(level) && (level != Level::Node || is_shared(Level::Package))
    }

    /// Whether both cores are declared to belong to different groups.
    fn differ(&self, level: Level, one: u32, other: u32) -> bool {
        let groups = self.group(level, one).zip(self.group(level, other));
        groups.is_some_and(|(one, other)| one != other)
    }
}

/// Which two cores a name draws: inside one group, and in different groups of another level.
#[derive(Clone, Copy)]
struct Rule {
    /// Levels of which they share a group.
    inside: &'static [Level],
    apart: Option<Level>,
}

const fn within(inside: &'static [Level], apart: Option<Level>) -> Rule {
    Rule { inside, apart }
}

/// The rules of a pair's name, the first that the machine can keep being meant. Cores with an L2 of their own come before
/// those that share one, so that a level is not mixed with the next smaller one where that can be helped; and what two
/// levels have in common is the same pair.
fn rules(name: Name) -> &'static [Rule] {
    use Level::{L2, Llc, Node, Package};
    // Where an L3 spans nodes, cores of one node come first: two nodes are another level.
    const SAME_L2: [Rule; 1] = [within(&[L2], None)];
    const SAME_L3: [Rule; 4] = [
        within(&[Llc, Node], Some(L2)),
        within(&[Llc, Node], None),
        within(&[Llc], Some(L2)),
        within(&[Llc], None),
    ];
    const CROSS_L3: [Rule; 1] = [within(&[Node], Some(Llc))];
    const SAME_NODE: [Rule; 3] =
        [within(&[Node], Some(Llc)), within(&[Node], Some(L2)), within(&[Node], None)];
    const CROSS_NODE: [Rule; 1] = [within(&[Package], Some(Node))];
    const SAME_PACKAGE: [Rule; 5] = [
        within(&[Node], Some(Llc)),
        within(&[Package], Some(Llc)),
        within(&[Node], Some(L2)),
        within(&[Node], None),
        within(&[Package], None),
    ];
    const CROSS_PACKAGE: [Rule; 1] = [within(&[], Some(Package))];
    match name {
        Name::SameL2 => &SAME_L2,
        Name::SameL3 => &SAME_L3,
        Name::CrossL3 => &CROSS_L3,
        Name::SameNode => &SAME_NODE,
        Name::CrossNode => &CROSS_NODE,
        Name::SamePackage => &SAME_PACKAGE,
        Name::CrossPackage => &CROSS_PACKAGE,
        Name::OneCpu | Name::OneCore | Name::SameCore => &[],
    }
}

/// Two cores of one kind for a name: the first of the draw that has a partner, and the first of its partners.
pub(super) fn pair<'c>(name: Name, cores: &'c [PartCore], machine: &Machine) -> Option<[&'c PartCore; 2]> {
    let groups = CoreGroups::of(machine.topology);
    let kind = |one: &PartCore| machine.topology.cores[one.core as usize].kind;
    // Levels are of the fastest cores, on which the baseline runs; others are named (`same-l2@efficient`).
    let kinds = if matches!(name, Name::SamePackage | Name::CrossPackage) { usize::MAX } else { 1 };
    // The draw has the kinds one after the other, the fastest first.
    cores
        .chunk_by(|one, other| kind(one) == kind(other))
        .take(kinds)
        .find_map(|of_kind| rules(name).iter().find_map(|rule| first_pair(*rule, of_kind, &groups)))
}

fn first_pair<'c>(rule: Rule, cores: &'c [PartCore], groups: &CoreGroups) -> Option<[&'c PartCore; 2]> {
    let fits = |one: u32, other: u32| {
        rule.inside.iter().all(|level| groups.share(*level, one, other))
            && rule.apart.is_none_or(|level| groups.differ(level, one, other))
    };
    // A group in which a core has no partner behind it has no pair: groups partition the cores, so that whatever makes
    // one core fit another makes it fit the first as well.
    let mut without = HashSet::new();
    cores.iter().enumerate().find_map(|(at, one)| {
        let of_core = |level: &Level| (*level, groups.group(*level, one.core));
        let group: Vec<(Level, Option<u32>)> = match rule.inside {
            [] => Vec::new(),
            inside => inside.iter().chain([&Level::Package]).map(of_core).collect(),
        };
        if without.contains(&group) {
            return None;
        }
        let other = cores[at + 1..].iter().find(|other| fits(one.core, other.core));
        let is_known = rule.apart.is_none_or(|level| groups.group(level, one.core).is_some());
        if other.is_none() && is_known {
            without.insert(group);
        }
        other.map(|other| [one, other])
    })
}

/// Cores as `packed` takes them: an L2 after the other, an L3, a node, a package; in the draw's order at each level.
pub(super) fn packed(cores: &mut [PartCore], machine: &Machine) {
    let groups = CoreGroups::of(machine.topology);
    let order = |level: Level| {
        let mut seen: Vec<Option<u32>> = Vec::new();
        cores.iter().for_each(|one| {
            let group = groups.group(level, one.core);
            if !seen.contains(&group) {
                seen.push(group);
            }
        });
        seen
    };
    let levels = [Level::Node, Level::Llc, Level::L2].map(|level| (level, order(level)));
    let place = |one: &PartCore| {
        let package = groups.package[one.core as usize];
        let rank = |(level, seen): &(Level, Vec<Option<u32>>)| {
            let group = groups.group(*level, one.core);
            seen.iter().position(|other| *other == group)
        };
        let package = machine.draw.packages.iter().position(|other| *other == package);
        (package, machine.topology.cores[one.core as usize].kind, levels.each_ref().map(rank))
    };
    cores.sort_by_cached_key(place);
}

/// What a machine lacks for a pair's name.
pub(super) fn lacks(name: Name, machine: &Machine) -> String {
    let topology = machine.topology;
    let of_kind = if topology.kinds.len() > 1 { " of the fastest kind" } else { "" };
    match name {
        Name::OneCpu | Name::OneCore => "no logical CPU is online and allowed".to_owned(),
        Name::SameCore => "no core here has 2 allowed SMT siblings".to_owned(),
        Name::SameL2 => match topology.caches.iter().any(|cache| cache.level == 2) {
            true => format!("no 2 allowed cores{of_kind} share an L2 cache here"),
            false => "this machine declares no L2 caches".to_owned(),
        },
        Name::SameL3 | Name::CrossL3 if topology.llc_domains.is_empty() => {
            "this machine does not declare which cores share a last-level cache".to_owned()
        }
        Name::SameL3 => format!("no 2 allowed cores{of_kind} share a last-level cache here"),
        Name::CrossL3 => format!("no NUMA node here has 2 last-level caches with allowed cores{of_kind}"),
        Name::SameNode => format!("no NUMA node here has 2 allowed cores{of_kind}"),
        Name::CrossNode if topology.numa_nodes.is_empty() => {
            "this machine declares no NUMA nodes, so it counts as one".to_owned()
        }
        Name::CrossNode => {
            let nodes = topology.numa_nodes.iter().filter(|node| !node.cpus.is_empty()).count();
            format!(
                "no package here has allowed cores{of_kind} in 2 NUMA nodes; this machine has {}",
                plural(nodes, "node")
            )
        }
        Name::SamePackage => "no package here has 2 allowed cores of one kind".to_owned(),
        Name::CrossPackage if topology.packages.is_empty() => {
            "this machine declares no packages, so it counts as one".to_owned()
        }
        // All logical CPUs of a declared package may be disallowed.
        Name::CrossPackage if machine.draw.packages.len() == 1 => {
            "this machine has 1 package with allowed logical CPUs".to_owned()
        }
        Name::CrossPackage => "no 2 packages here have allowed cores of one kind".to_owned(),
    }
}
