//! Latencies to levels: the logical CPUs that each level joins. Pure.
//!
//! Valleys of the latencies' density lie between levels (`threadwise_study::look::valleys`). A level must also
//! join logical CPUs that the levels below do not join: a hierarchy of caches and packages is an ultrametric, and
//! what joins nothing is noise, not structure.

use super::declared::Declared;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::CpuSet;
use threadwise_study::look::valleys::{cuts, level_of};

/// A level that concerns fewer logical CPUs than this share, beside one of the same declared name, is
/// the tail of that level.
const TAIL_SHARE: f64 = 0.05;

/// A measured pair of positions, `a` below `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) a: usize,
    pub(super) b: usize,
    /// The value that classifies it, in nanoseconds.
    pub(super) ns: f64,
}

/// Levels with the groups that they join.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hierarchy {
    /// Boundaries between levels in nanoseconds.
    pub(super) cuts: Vec<f64>,
    /// For each level the group of each position; groups are named by their lowest position.
    pub(super) groups: Vec<Vec<usize>>,
}

impl Hierarchy {
    /// Finds levels in measured pairs, and keeps those that join something.
    pub(super) fn find(declared: &Declared, edges: &[Edge]) -> Self {
        let latencies: Vec<f64> = edges.iter().map(|edge| edge.ns).collect();
        let mut found = Self::with_cuts(declared.len(), edges, cuts(&latencies));
        while let Some(cut) = found.needless(declared, edges) {
            found.cuts.remove(cut);
            found = Self::with_cuts(declared.len(), edges, found.cuts);
        }
        found
    }

    /// The groups of measured pairs at given boundaries.
    pub(super) fn with_cuts(len: usize, edges: &[Edge], cuts: Vec<f64>) -> Self {
        let mut joined = Joined((0..len).collect());
        let mut seen = Bits::new(len);
        edges.iter().for_each(|edge| seen.set(edge.a, edge.b));
        let mut near = Bits::new(len);
        let mut groups = Vec::new();
        for level in 0..=cuts.len() {
            let here = |edge: &&Edge| level_of(&cuts, edge.ns) == level;
            edges.iter().filter(here).for_each(|edge| near.set(edge.a, edge.b));
            for edge in edges.iter().filter(here).filter(|edge| supported(edge, &near, &seen)) {
                joined.join(edge.a, edge.b);
            }
            groups.push((0..len).map(|at| joined.root(at)).collect());
        }
        Self { cuts, groups }
    }

    /// The nearest level at which two positions are in one group; `None` if no level joins them.
    pub(super) fn level_between(&self, a: usize, b: usize) -> Option<usize> {
        self.groups.iter().position(|groups| groups[a] == groups[b])
    }

    /// For each position whether a level joined it to no new one.
    pub(super) fn not_joined(&self, level: usize) -> Vec<bool> {
        let size = |level: usize, at: usize| {
            let groups = &self.groups[level];
            groups.iter().filter(|group| **group == groups[at]).count()
        };
        let before = |at: usize| level.checked_sub(1).map_or(1, |below| size(below, at));
        (0..self.groups[level].len()).map(|at| size(level, at) == before(at)).collect()
    }

    /// A boundary of a level that is not one.
    fn needless(&self, declared: &Declared, edges: &[Edge]) -> Option<usize> {
        let joins_nothing =
            (1..self.groups.len()).find(|&level| self.groups[level] == self.groups[level - 1]);
        let first_joins_nothing = || {
            let apart = self.groups[0].iter().enumerate().all(|(at, root)| at == *root);
            (apart && !self.cuts.is_empty()).then_some(0)
        };
        joins_nothing
            .map(|level| level - 1)
            .or_else(first_joins_nothing)
            .or_else(|| self.tail(declared, edges))
    }

    /// The boundary between a level of few logical CPUs and a larger one of the same name beside it.
    fn tail(&self, declared: &Declared, edges: &[Edge]) -> Option<usize> {
        let levels: Vec<Vec<&Edge>> = by_level(&self.cuts, edges);
        let few = TAIL_SHARE * declared.len() as f64;
        let names: Vec<Option<&str>> = levels.iter().map(|edges| majority_name(declared, edges)).collect();
        let concerns =
            |edges: &[&Edge]| edges.iter().flat_map(|edge| [edge.a, edge.b]).collect::<BTreeSet<_>>().len();
        (0..self.cuts.len()).find(|&cut| {
            let (below, above) = (concerns(&levels[cut]) as f64, concerns(&levels[cut + 1]) as f64);
            names[cut] == names[cut + 1] && (below < few || above < few)
        })
    }
}

/// Splits measured pairs by level.
pub(super) fn by_level<'a>(cuts: &[f64], edges: &'a [Edge]) -> Vec<Vec<&'a Edge>> {
    let mut levels = vec![Vec::new(); cuts.len() + 1];
    edges.iter().for_each(|edge| levels[level_of(cuts, edge.ns)].push(edge));
    levels
}

/// The declared name of most of these pairs.
pub(super) fn majority_name(declared: &Declared, edges: &[&Edge]) -> Option<&'static str> {
    let mut counts: BTreeMap<Option<&'static str>, usize> = BTreeMap::new();
    for edge in edges {
        *counts.entry(declared.name(edge.a, edge.b)).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).and_then(|(name, _)| name)
}

/// Groups of at least two, as sets of logical CPUs, ordered by their lowest.
pub(super) fn cpu_groups(cpus: &[u32], group_of: &[usize]) -> Vec<CpuSet> {
    let mut groups: BTreeMap<usize, CpuSet> = BTreeMap::new();
    for (at, group) in group_of.iter().enumerate() {
        groups.entry(*group).or_default().insert(cpus[at]);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Whether third logical CPUs confirm that two positions are near. One pair that looked too near for a while
/// (the hypervisor put both on one core) must not join two whole groups: where both were measured
/// against others, more of those must be near to both than to one of them. Representatives without a
/// common third CPU are accepted.
fn supported(edge: &Edge, near: &Bits, seen: &Bits) -> bool {
    let (mut agree, mut disagree) = (0, 0);
    let nears = near.row(edge.a).iter().zip(near.row(edge.b));
    let seens = seen.row(edge.a).iter().zip(seen.row(edge.b));
    for ((near_a, near_b), (seen_a, seen_b)) in nears.zip(seens) {
        agree += (near_a & near_b).count_ones();
        disagree += ((near_a ^ near_b) & seen_a & seen_b).count_ones();
    }
    disagree < 2 || agree >= disagree
}

/// A symmetric table of bits.
struct Bits {
    words: Vec<u64>,
    width: usize,
}

impl Bits {
    fn new(len: usize) -> Self {
        let width = len.div_ceil(64);
        Self { words: vec![0; len * width], width }
    }

    fn set(&mut self, a: usize, b: usize) {
        self.words[a * self.width + b / 64] |= 1 << (b % 64);
        self.words[b * self.width + a / 64] |= 1 << (a % 64);
    }

    fn row(&self, at: usize) -> &[u64] {
        &self.words[at * self.width..(at + 1) * self.width]
    }
}

/// Disjoint sets, each named by its lowest member (Tarjan 1975, with path halving).
struct Joined(Vec<usize>);

impl Joined {
    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Request;
    use threadwise_study::probe::ProbeForm;

    fn set(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    fn declared(cpus: u32, cores: &[CpuSet]) -> Declared {
        let cpus: Vec<u32> = (0..cpus).collect();
        let all = [cpus.iter().copied().collect()];
        let request =
            Request { cpus: &cpus, cores, llcs: &all, packages: &all, form: ProbeForm::Standard, seed: 1 };
        Declared::new(&request)
    }

    fn all_edges(len: usize, ns: impl Fn(usize, usize) -> f64) -> Vec<Edge> {
        let pairs = (0..len).flat_map(|a| (a + 1..len).map(move |b| (a, b)));
        pairs.map(|(a, b)| Edge { a, b, ns: ns(a, b) }).collect()
    }

    #[test]
    fn a_noisy_pair_makes_no_level_of_its_own() {
        let machine = declared(4, &[]);
        let edges = all_edges(4, |a, b| if (a, b) == (0, 3) { 400.0 } else { 50.0 });
        let found = Hierarchy::find(&machine, &edges);
        assert_eq!(found.cuts, Vec::<f64>::new());
        assert_eq!(found.groups, [vec![0, 0, 0, 0]]);
    }

    #[test]
    fn one_pair_that_was_near_for_a_while_joins_no_groups() {
        let machine = declared(8, &["0-1", "2-3", "4-5", "6-7"].map(set));
        let edges = all_edges(8, |a, b| if a / 2 == b / 2 || (a, b) == (1, 2) { 8.0 } else { 50.0 });
        let found = Hierarchy::find(&machine, &edges);
        assert_eq!(found.groups[0], [0, 0, 2, 2, 4, 4, 6, 6]);
        assert_eq!(found.level_between(1, 2), Some(1));
    }

    #[test]
    fn stars_are_believed_and_give_the_rest() {
        // Two groups of three, measured against their first member, and the first members.
        let star = [(0, 1, 20.0), (0, 2, 21.0), (3, 4, 20.5), (3, 5, 20.0), (0, 3, 100.0)];
        let edges: Vec<Edge> = star.iter().map(|&(a, b, ns)| Edge { a, b, ns }).collect();
        let found = Hierarchy::find(&declared(6, &[]), &edges);
        assert_eq!(found.level_between(1, 2), Some(0));
        assert_eq!(found.level_between(2, 5), Some(1));
    }
}
