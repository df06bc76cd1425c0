//! The state of logical CPUs in each look of a study.

use std::collections::BTreeMap;
use threadwise_study::look::follow::{Share, judge_all};
use threadwise_study::{Look, Moment, Run, Slice};

/// How some logical CPUs had their cores at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LookState {
    /// Each had its core to itself, as far as the study's logical CPUs and neighbours go.
    Clear,
    /// Two of them were on one core.
    SameCore,
    /// On different cores, with a neighbour on a sibling of one or more.
    Neighbour,
    /// One did not run in time: stacked on another, or preempted.
    Away,
    /// On different cores; neighbours are unknown, or the figures contradict each other.
    Unknown,
}

impl LookState {
    /// All states, in display order.
    pub const ALL: [Self; 5] = [Self::Clear, Self::SameCore, Self::Neighbour, Self::Away, Self::Unknown];

    /// State of those of these logical CPUs that were looked at, by how each has its core; unknown if none was. One
    /// that shares its core with a logical CPU of the study that is not among them is clear: that one is idle while
    /// they work.
    pub fn of(cpus: &[u32], shares: &Shares) -> Self {
        let of_share = |share: Share| match share {
            Share::Unknown | Share::Slowed | Share::Apart => Self::Unknown,
            Share::Away => Self::Away,
            Share::With(other) if cpus.contains(&other) => Self::SameCore,
            Share::With(_) | Share::Alone => Self::Clear,
            Share::Neighbour => Self::Neighbour,
        };
        let states: Vec<Self> = cpus.iter().filter_map(|cpu| shares.get(*cpu)).map(of_share).collect();
        let first = [Self::Away, Self::SameCore, Self::Unknown, Self::Neighbour];
        first.into_iter().find(|state| states.contains(state)).unwrap_or(match states.is_empty() {
            true => Self::Unknown,
            false => Self::Clear,
        })
    }
}

/// How each logical CPU of a look had its core. Looks have a few of them, and a study may have many looks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shares(Box<[(u32, Share)]>);

impl Shares {
    /// For a logical CPU; `None` if it was not looked at.
    pub fn get(&self, cpu: u32) -> Option<Share> {
        self.iter().find(|(known, _)| *known == cpu).map(|(_, share)| share)
    }

    /// Logical CPUs in the look's order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Share)> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<(u32, Share)> for Shares {
    fn from_iter<I: IntoIterator<Item = (u32, Share)>>(shares: I) -> Self {
        Self(shares.into_iter().collect())
    }
}

/// A look and its result for each logical CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<'r> {
    /// Its moment relative to the slice.
    pub moment: Moment,
    /// The look.
    pub look: &'r Look,
    /// How each logical CPU that was looked at had its core.
    pub shares: Shares,
}

/// A slice and the looks around it.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedAt<'r> {
    /// Its run.
    pub run: &'r Run,
    /// The slice.
    pub slice: &'r Slice,
    /// Its looks, in the order in which they were taken.
    pub looks: Vec<Judged<'r>>,
}

impl LookedAt<'_> {
    /// State of some logical CPUs in the last look before the slice.
    pub fn before(&self, cpus: &[u32]) -> Option<LookState> {
        self.looks
            .iter()
            .rev()
            .find(|one| one.moment == Moment::Before)
            .map(|one| LookState::of(cpus, &one.shares))
    }

    /// State in which most looks during the slice saw some logical CPUs; `None` without one.
    pub fn mostly(&self, cpus: &[u32]) -> Option<LookState> {
        let mut counts = BTreeMap::new();
        for one in self.looks.iter().filter(|one| one.moment == Moment::During) {
            *counts.entry(LookState::of(cpus, &one.shares)).or_insert(0_u32) += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(state, _)| state)
    }

    /// State of some logical CPUs in the first look after the slice.
    pub fn after(&self, cpus: &[u32]) -> Option<LookState> {
        self.looks.iter().find(|one| one.moment == Moment::After).map(|one| LookState::of(cpus, &one.shares))
    }
}

/// All slices of a study's valid runs, in the order in which they were taken, with the looks around them, which are
/// judged by the levels of all looks of the study. Slices without a look are included.
pub fn looked_at(runs: &[Run]) -> Vec<LookedAt<'_>> {
    let valid = runs.iter().filter(|run| run.status.is_valid());
    let mut slices: Vec<(&Run, &Slice)> =
        valid.flat_map(|run| run.slices.iter().map(move |slice| (run, slice))).collect();
    slices.sort_by_key(|(_, slice)| slice.start_ns);
    let looks: Vec<&Look> =
        slices.iter().flat_map(|(_, slice)| slice.looks.iter().map(|one| &one.look)).collect();
    let mut judged = judge_all(&looks).into_iter();
    slices
        .into_iter()
        .map(|(run, slice)| {
            let with_shares = slice.looks.iter().zip(judged.by_ref());
            let looks = with_shares.map(|(one, shares)| {
                let shares: Shares = one.look.cpus.iter().map(|seen| seen.cpu).zip(shares).collect();
                let shares =
                    if one.moment == Moment::During { under_load(&shares, &run.cpus) } else { shares };
                Judged { moment: one.moment, look: &one.look, shares }
            });
            LookedAt { run, slice, looks: looks.collect() }
        })
        .collect()
}

/// Result of a look for logical CPUs while a run keeps some of them busy. One that did not come in time may have been
/// kept from it by the run's own threads, so its state is unknown. If not all of the run's logical CPUs were looked at,
/// a slowed one may share its core with one of them.
fn under_load(shares: &Shares, busy: &[u32]) -> Shares {
    let all_seen = busy.iter().all(|cpu| shares.get(*cpu).is_some());
    let known = |share| match share {
        Share::Away => Share::Unknown,
        Share::Neighbour | Share::Slowed if !all_seen => Share::Unknown,
        share => share,
    };
    shares.iter().map(|(cpu, share)| (cpu, known(share))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(cpus: &[u32], shares: &[Share]) -> LookState {
        LookState::of(cpus, &(0..).zip(shares.iter().copied()).collect())
    }

    #[test]
    fn under_load_who_did_not_come_is_not_known() {
        use Share::{Alone, Away, Neighbour, Unknown, With};
        let shares = |list: &[Share]| (0..).zip(list.iter().copied()).collect::<Shares>();
        let seen = shares(&[Away, Neighbour, Alone, With(4), With(3)]);
        let all_seen = shares(&[Unknown, Neighbour, Alone, With(4), With(3)]);
        assert_eq!(under_load(&seen, &[0, 1]), all_seen);
        let some_seen = shares(&[Unknown, Unknown, Alone, With(4), With(3)]);
        assert_eq!(under_load(&seen, &[0, 1, 9]), some_seen, "9 may be on the core of 1");
    }

    #[test]
    fn one_that_is_missing_counts_for_those_whose_it_is_and_not_for_others() {
        use Share::{Alone, Away, Slowed, With};
        // 2 did not come, so that who slows 3 is not known.
        let seen = [With(1), With(0), Away, Slowed, Alone];
        assert_eq!(state(&[0, 1], &seen), LookState::SameCore);
        assert_eq!(state(&[0, 4], &seen), LookState::Clear);
        assert_eq!(state(&[1, 2], &seen), LookState::Away);
        assert_eq!(state(&[3, 4], &seen), LookState::Unknown);
    }

    #[test]
    fn the_state_of_several_is_the_worst_that_is_known() {
        use Share::{Alone, Apart, Away, Neighbour, Slowed, Unknown, With};
        assert_eq!(state(&[0, 1], &[Alone, Alone]), LookState::Clear);
        assert_eq!(state(&[0, 1], &[With(1), With(0)]), LookState::SameCore);
        assert_eq!(state(&[0], &[With(1), With(0)]), LookState::Clear, "the other one is idle");
        assert_eq!(state(&[0, 1], &[Neighbour, Alone]), LookState::Neighbour);
        assert_eq!(state(&[0, 1], &[Away, With(0)]), LookState::Away);
        for unsure in [Slowed, Apart, Unknown] {
            assert_eq!(state(&[0, 1], &[unsure, Neighbour]), LookState::Unknown);
        }
        assert_eq!(state(&[0, 7], &[Alone]), LookState::Clear, "7 was not looked at");
        assert_eq!(state(&[0, 1, 7], &[With(1), With(0)]), LookState::SameCore);
        assert_eq!(state(&[7, 8], &[Alone]), LookState::Unknown, "neither was");
        assert_eq!(state(&[], &[]), LookState::Unknown);
    }
}
