//! Which logical CPUs are on one core, put together from pairs and sets.
//!
//! Sharing a core is transitive, so groups grow over pairs that share one, and two groups are apart if any two of their
//! members are. A pair's own answer takes precedence over a set's, as in `Probe::sharing`.

use super::types::PairCounts;
use crate::groups::grouped;
use std::collections::{BTreeSet, HashMap};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{PairSharing, Probe, Sharing};

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

/// The probed logical CPUs, and the declared and measured relations of their pairs.
pub struct Cores {
    /// All of them.
    pub cpus: CpuSet,
    /// The probed part of each declared core, ascending by first member.
    pub declared: Vec<CpuSet>,
    /// The index into `declared` of those that are declared.
    declared_of: HashMap<u32, usize>,
    /// Measured groups, ascending by first member.
    pub groups: Vec<Group>,
    /// The index into `groups`.
    group_of: HashMap<u32, usize>,
    /// Answers of pairs that were measured on their own, lower number first.
    answers: Answers,
}

type Answers = HashMap<(u32, u32), Sharing>;

/// Logical CPUs that were measured to share a core.
pub struct Group {
    /// They.
    pub members: CpuSet,
    /// All members of the groups that one of them was measured apart from.
    apart: CpuSet,
}

impl Group {
    /// Whether some of its members were measured apart.
    fn is_contradictory(&self) -> bool {
        self.members.first().is_some_and(|member| self.apart.contains(member))
    }
}

impl Cores {
    /// Combines the answers.
    pub fn new(topology: &Topology, probe: &Probe) -> Self {
        let answers = answers(probe);
        let apart = apart(probe, &answers);
        let groups = groups(&probe.cpus, &answers);
        let group_of = index_of(&groups);
        let of_group = |members: &CpuSet| {
            let apart = members.iter().filter_map(|member| apart.get(&member)).flat_map(CpuSet::iter);
            let others: BTreeSet<usize> = apart.map(|cpu| group_of[&cpu]).collect();
            let apart = others.iter().flat_map(|other| groups[*other].iter()).collect();
            Group { members: members.clone(), apart }
        };
        // A core's lowest member, probed or not, represents it: a partition, whatever a file says of siblings.
        let first = |cpu: u32| Some((topology.cpu(cpu)?.siblings.first()?, cpu));
        let declared = grouped(probe.cpus.iter().filter_map(first)).into_iter();
        let declared: Vec<CpuSet> = declared.map(|(_, members)| members.into_iter().collect()).collect();
        Self {
            cpus: probe.cpus.clone(),
            declared_of: index_of(&declared),
            declared,
            groups: groups.iter().map(of_group).collect(),
            group_of,
            answers,
        }
    }

    /// Measured relation of two logical CPUs.
    pub fn measured_of(&self, a: u32, b: u32) -> Relation {
        let answer = self.answers.get(&(a.min(b), a.max(b))).copied();
        let [group, other] = [a, b].map(|cpu| &self.groups[self.group_of[&cpu]]);
        if group.members.contains(b) {
            return match answer {
                _ if group.is_contradictory() => Relation::Open(Sharing::Unclear),
                Some(Sharing::SameCpu) => Relation::Same(Sharing::SameCpu),
                _ => Relation::Same(Sharing::SameCore),
            };
        }
        match answer {
            // What is apart from one member of a core is apart from all of them.
            _ if group.apart.contains(b) && !group.is_contradictory() && !other.is_contradictory() => {
                Relation::Different
            }
            Some(Sharing::DifferentCores) => Relation::Different,
            Some(open) => Relation::Open(open),
            None => Relation::Unknown,
        }
    }

    /// The measured relation of the two logical CPUs of a probe of two.
    pub fn of_two(&self) -> Relation {
        self.pairs().next().map_or(Relation::Unknown, |(a, b)| self.measured_of(a, b))
    }

    /// Whether two logical CPUs are declared to be on one core; `None` if one of them is not declared.
    pub fn declared_same(&self, a: u32, b: u32) -> Option<bool> {
        Some(self.declared_of.get(&a)? == self.declared_of.get(&b)?)
    }

    /// In how many declared cores these are; `None` if one of them is not declared.
    pub fn declared_cores(&self, cpus: &CpuSet) -> Option<usize> {
        let cores: Option<BTreeSet<_>> = cpus.iter().map(|cpu| self.declared_of.get(&cpu)).collect();
        Some(cores?.len())
    }

    /// In how many measured groups these are.
    pub fn measured_groups(&self, cpus: &CpuSet) -> usize {
        cpus.iter().map(|cpu| self.group_of[&cpu]).collect::<BTreeSet<_>>().len()
    }

    /// Whether any pair of these has this measured relation.
    pub fn has_pair(&self, cpus: &CpuSet, relation: Relation) -> bool {
        pairs(cpus).any(|(a, b)| self.measured_of(a, b) == relation)
    }

    /// All pairs of probed logical CPUs.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        pairs(&self.cpus)
    }

    /// Compares all pairs.
    pub fn count(&self) -> PairCounts {
        let mut counts = PairCounts::default();
        for (a, b) in self.pairs() {
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
        counts
    }

    /// Groups that stand (of several members, or apart from all others), and the logical CPUs in no such group.
    pub fn measured(&self) -> (Vec<CpuSet>, CpuSet) {
        let is_apart = |cpu: u32| {
            let mut others = self.cpus.iter().filter(|other| *other != cpu);
            others.all(|other| self.measured_of(cpu, other) == Relation::Different)
        };
        // A single logical CPU was compared with no other.
        let stands = |group: &Group| match group.members.len() {
            _ if group.is_contradictory() => false,
            1 => self.cpus.len() > 1 && group.members.iter().all(is_apart),
            _ => true,
        };
        let (standing, others): (Vec<&Group>, Vec<&Group>) =
            self.groups.iter().partition(|group| stands(group));
        let undecided = others.iter().flat_map(|group| group.members.iter()).collect();
        (standing.into_iter().map(|group| group.members.clone()).collect(), undecided)
    }
}

/// The index of the set that has each logical CPU.
fn index_of(sets: &[CpuSet]) -> HashMap<u32, usize> {
    sets.iter().enumerate().flat_map(|(at, set)| set.iter().map(move |cpu| (cpu, at))).collect()
}

fn pairs(cpus: &CpuSet) -> impl Iterator<Item = (u32, u32)> {
    cpus.iter().flat_map(|a| cpus.iter().filter(move |b| *b > a).map(move |b| (a, b)))
}

/// The first answer of each pair of probed logical CPUs.
fn answers(probe: &Probe) -> Answers {
    let mut answers = HashMap::new();
    let probed = |pair: &&PairSharing| probe.cpus.contains(pair.a) && probe.cpus.contains(pair.b);
    for pair in probe.pairs.iter().filter(probed).filter(|pair| pair.a != pair.b) {
        answers.entry((pair.a.min(pair.b), pair.a.max(pair.b))).or_insert(pair.sharing);
    }
    answers
}

/// For each logical CPU those that it was measured apart from.
fn apart(probe: &Probe, answers: &Answers) -> HashMap<u32, CpuSet> {
    let mut apart: HashMap<u32, CpuSet> = HashMap::new();
    for test in &probe.sets {
        let ran = test.ran.intersection(&probe.cpus);
        let full = test.at_full_width.intersection(&ran);
        for (ones, others) in [(&full, &ran), (&ran, &full)] {
            for cpu in ones.iter() {
                let known = apart.entry(cpu).or_default();
                *known = known.union(others);
            }
        }
    }
    for (&(a, b), sharing) in answers {
        for (one, other) in [(a, b), (b, a)] {
            let known = apart.entry(one).or_default();
            match sharing {
                Sharing::DifferentCores => known.insert(other),
                _ => known.remove(other),
            }
        }
    }
    // A logical CPU is not apart from itself, though it ran in its own set.
    apart.iter_mut().for_each(|(cpu, known)| known.remove(*cpu));
    apart
}

/// Logical CPUs that are connected by pairs on one core.
fn groups(cpus: &CpuSet, answers: &Answers) -> Vec<CpuSet> {
    let mut groups: Vec<CpuSet> = cpus.iter().map(|cpu| CpuSet::from_iter([cpu])).collect();
    let same = answers.iter().filter(|(_, sharing)| matches!(sharing, Sharing::SameCore | Sharing::SameCpu));
    for (&(a, b), _) in same {
        let (joined, mut others): (Vec<CpuSet>, Vec<CpuSet>) =
            groups.into_iter().partition(|group| group.contains(a) || group.contains(b));
        others.push(joined.iter().flat_map(CpuSet::iter).collect());
        groups = others;
    }
    groups.sort_by_key(CpuSet::first);
    groups
}
