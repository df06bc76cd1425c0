//! Which logical CPUs are on one core, put together from pairs and sets.
//!
//! Sharing a core is transitive, so groups grow over pairs that share one, and two groups are apart if any two of their
//! members are. A pair's own answer takes precedence over a set's, as in `Probe::sharing`.

use super::types::PairCounts;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{Probe, Sharing};

/// Relation of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// One core, or one logical CPU.
    Same(Sharing),
    /// Two cores.
    Different,
    /// Without an answer: `Masked`, `Moving` or `Unclear`.
    Open(Sharing),
    /// Not measured, and not implied by other measurements.
    Unknown,
}

/// The probed logical CPUs, and the declared and measured relations of their pairs. Indices below are into `cpus`.
pub struct Cores {
    /// OS numbers, ascending.
    pub cpus: Vec<u32>,
    /// The probed part of each declared core, ascending by first member.
    pub declared: Vec<CpuSet>,
    /// For each place the index into `declared`; `None` if nothing is declared.
    declared_of: Vec<Option<usize>>,
    /// Measured groups, ascending by first member, including contradictory ones.
    pub groups: Vec<Vec<usize>>,
    /// For each place the index into `groups`.
    group_of: Vec<usize>,
    /// For each group whether some of its members were measured apart.
    contradictory: Vec<bool>,
    /// For each group all places of the groups that it was measured apart from.
    apart: Vec<Bits>,
    /// Answers of pairs that were measured on their own, lower place first.
    answers: HashMap<(usize, usize), Sharing>,
}

/// A set of places.
#[derive(Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(places: impl Iterator<Item = usize>, len: usize) -> Self {
        let mut bits = Self(vec![0; len.div_ceil(64)]);
        places.for_each(|place| bits.0[place / 64] |= 1 << (place % 64));
        bits
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn put(&mut self, place: usize, value: bool) {
        let bit = 1 << (place % 64);
        let word = &mut self.0[place / 64];
        *word = if value { *word | bit } else { *word & !bit };
    }

    fn has(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }
}

impl Cores {
    /// Combines the answers.
    pub fn new(topology: &Topology, probe: &Probe) -> Self {
        let cpus: Vec<u32> = probe.cpus.iter().collect();
        let answers = answers(&cpus, probe);
        let apart = apart(&cpus, probe, &answers);
        let (groups, group_of) = groups(cpus.len(), &answers);
        let (declared, declared_of) = declared(topology, &cpus);
        let mut cores = Self {
            cpus,
            declared,
            declared_of,
            contradictory: Vec::new(),
            apart: Vec::new(),
            groups,
            group_of,
            answers,
        };
        cores.apart = cores.groups.iter().map(|members| cores.apart_from(members, &apart)).collect();
        let apart = cores.groups.iter().zip(&cores.apart);
        cores.contradictory =
            apart.map(|(members, apart)| members.first().is_some_and(|member| apart.has(*member))).collect();
        cores
    }

    /// All places of all groups with a member that was measured apart from one of these.
    fn apart_from(&self, members: &[usize], apart: &[Bits]) -> Bits {
        let mut row = Bits::of(std::iter::empty(), self.cpus.len());
        members.iter().for_each(|member| row.add(&apart[*member]));
        let places = (0..self.cpus.len()).filter(|place| row.has(*place));
        let groups: BTreeSet<usize> = places.map(|place| self.group_of[place]).collect();
        Bits::of(groups.iter().flat_map(|group| &self.groups[*group]).copied(), self.cpus.len())
    }

    /// Measured relation of two places.
    pub fn measured_of(&self, a: usize, b: usize) -> Relation {
        let answer = self.answers.get(&(a.min(b), a.max(b))).copied();
        let (group, other) = (self.group_of[a], self.group_of[b]);
        if group == other {
            return match answer {
                _ if self.contradictory[group] => Relation::Open(Sharing::Unclear),
                Some(Sharing::SameCpu) => Relation::Same(Sharing::SameCpu),
                _ => Relation::Same(Sharing::SameCore),
            };
        }
        let sound = !self.contradictory[group] && !self.contradictory[other];
        match answer {
            // A place that is apart from one member of a core is apart from all of them.
            _ if sound && self.apart[group].has(b) => Relation::Different,
            Some(Sharing::DifferentCores) => Relation::Different,
            Some(open) => Relation::Open(open),
            None => Relation::Unknown,
        }
    }

    /// Whether two places are declared to be on one core; `None` if one of them is not declared.
    pub fn declared_same(&self, a: usize, b: usize) -> Option<bool> {
        Some(self.declared_of[a]? == self.declared_of[b]?)
    }

    /// Index into `declared` of a place.
    pub fn declared_core(&self, place: usize) -> Option<usize> {
        self.declared_of[place]
    }

    /// Group of a place.
    pub fn group(&self, place: usize) -> usize {
        self.group_of[place]
    }

    /// Places of a set's members.
    pub fn places(&self, cpus: &CpuSet) -> Vec<usize> {
        cpus.iter().filter_map(|cpu| self.cpus.binary_search(&cpu).ok()).collect()
    }

    /// OS numbers of places.
    pub fn set(&self, places: &[usize]) -> CpuSet {
        places.iter().map(|place| self.cpus[*place]).collect()
    }

    /// Compares all pairs.
    pub fn count(&self) -> PairCounts {
        let mut counts = PairCounts::default();
        for a in 0..self.cpus.len() {
            for b in a + 1..self.cpus.len() {
                let counter = match (self.measured_of(a, b), self.declared_same(a, b)) {
                    (Relation::Open(Sharing::Masked), _) => &mut counts.masked,
                    (Relation::Open(Sharing::Moving), _) => &mut counts.moving,
                    (Relation::Open(_), _) => &mut counts.unclear,
                    (Relation::Unknown, _) | (_, None) => &mut counts.unknown,
                    (Relation::Same(Sharing::SameCore), Some(true)) | (Relation::Different, Some(false)) => {
                        &mut counts.agree
                    }
                    (Relation::Same(_) | Relation::Different, Some(_)) => &mut counts.differ,
                };
                *counter += 1;
            }
        }
        counts
    }

    /// Groups that stand: of several members, or apart from all others.
    pub fn measured(&self) -> Vec<CpuSet> {
        let stands = self.standing();
        let all = self.groups.iter().zip(stands);
        all.filter(|(_, stands)| *stands).map(|(members, _)| self.set(members)).collect()
    }

    /// Places in no such group.
    pub fn undecided(&self) -> CpuSet {
        let stands = self.standing();
        let all = self.groups.iter().zip(stands);
        all.filter(|(_, stands)| !*stands)
            .flat_map(|(members, _)| self.set(members).iter().collect::<Vec<_>>())
            .collect()
    }

    fn standing(&self) -> Vec<bool> {
        let apart = |place: usize| {
            let mut others = (0..self.cpus.len()).filter(|other| *other != place);
            others.all(|other| self.measured_of(place, other) == Relation::Different)
        };
        let stands = |(at, members): (usize, &Vec<usize>)| match members.as_slice() {
            _ if self.contradictory[at] => false,
            // A single logical CPU was compared with no other.
            [single] => self.cpus.len() > 1 && apart(*single),
            _ => true,
        };
        self.groups.iter().enumerate().map(stands).collect()
    }
}

/// The first answer of each pair of probed logical CPUs.
fn answers(cpus: &[u32], probe: &Probe) -> HashMap<(usize, usize), Sharing> {
    let mut answers = HashMap::new();
    for pair in &probe.pairs {
        if let (Ok(a), Ok(b)) = (cpus.binary_search(&pair.a), cpus.binary_search(&pair.b))
            && a != b
        {
            answers.entry((a.min(b), a.max(b))).or_insert(pair.sharing);
        }
    }
    answers
}

/// For each place those that it was measured apart from.
fn apart(cpus: &[u32], probe: &Probe, answers: &HashMap<(usize, usize), Sharing>) -> Vec<Bits> {
    let places =
        |set: &CpuSet| -> Vec<usize> { set.iter().filter_map(|cpu| cpus.binary_search(&cpu).ok()).collect() };
    let mut apart = vec![Bits::of(std::iter::empty(), cpus.len()); cpus.len()];
    for test in &probe.sets {
        let ran = places(&test.ran);
        let full = places(&test.at_full_width.intersection(&test.ran));
        let (ran_bits, full_bits) =
            (Bits::of(ran.iter().copied(), cpus.len()), Bits::of(full.iter().copied(), cpus.len()));
        full.iter().for_each(|place| apart[*place].add(&ran_bits));
        ran.iter().for_each(|place| apart[*place].add(&full_bits));
    }
    for (&(a, b), sharing) in answers {
        let is_apart = *sharing == Sharing::DifferentCores;
        apart[a].put(b, is_apart);
        apart[b].put(a, is_apart);
    }
    // A place is not apart from itself, though it ran in its own set.
    apart.iter_mut().enumerate().for_each(|(place, row)| row.put(place, false));
    apart
}

/// Places that are connected by pairs on one core, and the group of each place.
fn groups(len: usize, answers: &HashMap<(usize, usize), Sharing>) -> (Vec<Vec<usize>>, Vec<usize>) {
    // Union-find (Tarjan 1975) with path halving; the lower place is the root.
    let mut parent: Vec<usize> = (0..len).collect();
    fn root(parent: &mut [usize], mut place: usize) -> usize {
        while parent[place] != place {
            parent[place] = parent[parent[place]];
            place = parent[place];
        }
        place
    }
    for (&(a, b), sharing) in answers {
        if matches!(sharing, Sharing::SameCore | Sharing::SameCpu) {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in 0..len {
        by_root.entry(root(&mut parent, place)).or_default().push(place);
    }
    let groups: Vec<Vec<usize>> = by_root.into_values().collect();
    let mut group_of = vec![0; len];
    for (at, members) in groups.iter().enumerate() {
        members.iter().for_each(|member| group_of[*member] = at);
    }
    (groups, group_of)
}

/// The probed part of each declared core, and the core of each place. A core's lowest member, probed or not, represents
/// it: a partition, whatever a file says of siblings.
fn declared(topology: &Topology, cpus: &[u32]) -> (Vec<CpuSet>, Vec<Option<usize>>) {
    let mut declared: Vec<CpuSet> = Vec::new();
    let mut by_first: BTreeMap<u32, usize> = BTreeMap::new();
    let declared_of = cpus
        .iter()
        .map(|cpu| {
            let first = topology.cpu(*cpu)?.siblings.first()?;
            let at = *by_first.entry(first).or_insert_with(|| {
                declared.push(CpuSet::new());
                declared.len() - 1
            });
            declared[at].insert(*cpu);
            Some(at)
        })
        .collect();
    (declared, declared_of)
}
