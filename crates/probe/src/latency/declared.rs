//! The operating system's declarations for the logical CPUs of a request, by position.
//!
//! The modules of this folder use positions 0, 1, 2… in the ascending list of logical CPUs, so
//! that tables are dense for any OS numbers.

use super::Request;
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;

/// The logical CPUs of a request and their declared groups.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// OS numbers, ascending, without duplicates.
    pub(super) cpus: Vec<u32>,
    /// Core of each position. A CPU in no declared core is its own core.
    pub(super) core: Vec<u32>,
    /// LLC domain of each position.
    pub(super) llc: Vec<Option<u32>>,
    /// Package of each position.
    pub(super) package: Vec<Option<u32>>,
}

impl Declared {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let cpus: Vec<u32> = request.cpus.iter().copied().collect::<CpuSet>().iter().collect();
        let declared_cores = group_of(&cpus, request.cores);
        let alone = request.cores.len()..;
        let core = declared_cores.iter().zip(alone).map(|(core, alone)| core.unwrap_or(alone as u32));
        Self {
            core: core.collect(),
            llc: group_of(&cpus, request.llcs),
            package: group_of(&cpus, request.packages),
            cpus,
        }
    }

    /// How many logical CPUs there are.
    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }

    /// The declared relation of a pair of positions; `None` if there is none.
    pub(super) fn name(&self, a: usize, b: usize) -> Option<&'static str> {
        let both = |groups: &[Option<u32>]| groups[a].zip(groups[b]).map(|(a, b)| a == b);
        if self.core[a] == self.core[b] {
            return Some("same core");
        }
        if both(&self.llc) == Some(true) {
            return Some("same LLC");
        }
        both(&self.package).map(|same| if same { "same package" } else { "other package" })
    }

    /// Number of different declared cores.
    pub(super) fn cores(&self) -> usize {
        self.by_core().len()
    }

    /// The positions of each core.
    pub(super) fn by_core(&self) -> Vec<Vec<usize>> {
        grouped(self.len(), |at| self.core[at])
    }

    /// The positions of each LLC domain of each package; of each package only if there are more
    /// domains than `most` (some machines declare each core's private cache as its last level).
    pub(super) fn by_domain(&self, most: usize) -> Vec<Vec<usize>> {
        let domains = grouped(self.len(), |at| (self.package[at], self.llc[at]));
        if domains.len() <= most { domains } else { grouped(self.len(), |at| self.package[at]) }
    }

    /// OS numbers of a pair of positions, lower first.
    pub(super) fn os(&self, (a, b): (usize, usize)) -> (u32, u32) {
        let (a, b) = (self.cpus[a], self.cpus[b]);
        (a.min(b), a.max(b))
    }
}

fn group_of(cpus: &[u32], groups: &[CpuSet]) -> Vec<Option<u32>> {
    let mut group_of: BTreeMap<u32, u32> = BTreeMap::new();
    for (number, group) in groups.iter().enumerate() {
        group_of.extend(group.iter().map(|cpu| (cpu, number as u32)));
    }
    cpus.iter().map(|cpu| group_of.get(cpu).copied()).collect()
}

fn grouped<K: Ord>(len: usize, key: impl Fn(usize) -> K) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for at in 0..len {
        groups.entry(key(at)).or_default().push(at);
    }
    groups.into_values().collect()
}
