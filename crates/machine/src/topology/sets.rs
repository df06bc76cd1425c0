//! Partitions of the online logical CPUs from sysfs: a set of companions per CPU.

use crate::CpuSet;
use crate::cpuset::CpuSetError;

/// How a file writes a set.
#[derive(Clone, Copy)]
pub(super) enum SetForm {
    /// `0-3,8`
    List,
    /// `ffff,ffffffff`
    Mask,
}

impl SetForm {
    pub(super) fn parse(self, text: &str) -> Result<CpuSet, CpuSetError> {
        match self {
            Self::List => CpuSet::parse_list(text),
            Self::Mask => CpuSet::parse_mask(text),
        }
    }
}

/// The intersection, word by word: a machine of 1,500 logical CPUs has thousands of sets.
pub(super) fn and(a: &CpuSet, b: &CpuSet) -> CpuSet {
    let words: Vec<u64> = a.words().iter().zip(b.words()).map(|(a, b)| a & b).collect();
    CpuSet::from_words(&words)
}

/// The first set without the second.
pub(super) fn and_not(a: &CpuSet, b: &CpuSet) -> CpuSet {
    let others = b.words().iter().copied().chain(std::iter::repeat(0));
    let words: Vec<u64> = a.words().iter().zip(others).map(|(a, b)| a & !b).collect();
    CpuSet::from_words(&words)
}

/// Splits `cpus` into groups. `companions` is called only for the lowest CPU of each group, so a set that many
/// CPUs share is read once; whatever the files hold, no CPU is in two groups. A CPU for which it gives nothing is in
/// no group.
pub(super) fn partition<E>(
    cpus: &CpuSet,
    mut companions: impl FnMut(u32) -> Result<Option<CpuSet>, E>,
) -> Result<Vec<CpuSet>, E> {
    let mut left = cpus.clone();
    let mut groups = Vec::new();
    for cpu in cpus.iter() {
        if !left.contains(cpu) {
            continue;
        }
        let Some(set) = companions(cpu)? else { continue };
        let mut group = and(&set, &left);
        group.insert(cpu);
        left = and_not(&left, &group);
        groups.push(group);
    }
    Ok(groups)
}

/// Groups that hold an allowed CPU, ordered by their lowest allowed one, then groups that count for another reason.
#[derive(Default)]
pub(super) struct Groups {
    /// All online CPUs of each group, including those that are not allowed.
    pub(super) online: Vec<CpuSet>,
    /// The allowed CPUs of each group.
    pub(super) allowed: Vec<CpuSet>,
    /// The group of each CPU, by the CPU's number.
    index: Vec<Option<u32>>,
}

impl Groups {
    pub(super) fn new(groups: Vec<CpuSet>, allowed: &CpuSet) -> Self {
        Self::with(groups, allowed, &CpuSet::new())
    }

    /// Also keeps groups without an allowed CPU that hold one of `also`.
    pub(super) fn with(groups: Vec<CpuSet>, allowed: &CpuSet, also: &CpuSet) -> Self {
        let mut both: Vec<(CpuSet, CpuSet)> =
            groups.into_iter().map(|online| (and(&online, allowed), online)).collect();
        both.retain(|(allowed, online)| !allowed.is_empty() || !and(online, also).is_empty());
        both.sort_by_key(|(allowed, online)| (allowed.is_empty(), allowed.first(), online.first()));
        let mut new = Self::default();
        for (number, (allowed, online)) in both.into_iter().enumerate() {
            for cpu in online.iter().map(|cpu| cpu as usize) {
                if new.index.len() <= cpu {
                    new.index.resize(cpu + 1, None);
                }
                new.index[cpu] = Some(number as u32);
            }
            new.online.push(online);
            new.allowed.push(allowed);
        }
        new
    }

    /// The group of a CPU.
    pub(super) fn of(&self, cpu: u32) -> Option<u32> {
        self.index.get(cpu as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn list(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    #[test]
    fn word_wise_operations_agree_with_the_set_operations() {
        for (a, b) in [("0-3,64,130", "2-70"), ("", "1"), ("5", ""), ("0-200:3", "0-200:2")] {
            let (a, b) = (list(a), list(b));
            assert_eq!(and(&a, &b), a.intersection(&b));
            assert_eq!(and_not(&a, &b), a.difference(&b));
        }
    }

    #[test]
    fn contradicting_sets_still_make_a_partition() {
        let sets = ["0-1", "1-2", "0-2", "9"].map(list);
        let groups =
            partition(&list("0-3"), |cpu| Ok::<_, Infallible>(Some(sets[cpu as usize].clone()))).unwrap();
        assert_eq!(groups, ["0-1", "2", "3"].map(list));
    }

    #[test]
    fn groups_are_numbered_by_their_lowest_allowed_cpu() {
        let groups = Groups::new(["0,3", "1-2", "4"].map(list).to_vec(), &list("1-3"));
        assert_eq!(groups.allowed, ["1-2", "3"].map(list));
        assert_eq!((groups.of(0), groups.of(1), groups.of(4)), (Some(1), Some(0), None));
        let groups = Groups::with(["0-1", "2-3", "4-5"].map(list).to_vec(), &list("4"), &list("3"));
        assert_eq!(groups.allowed, ["4", ""].map(list));
        assert_eq!((groups.of(0), groups.of(2)), (None, Some(1)));
    }
}
