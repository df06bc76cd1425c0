//! The state of logical CPUs in each look of a study.

use std::collections::BTreeMap;
use threadwise_study::look::follow::{Share, judge_all};
use threadwise_study::{Look, Moment, Run, Slice};

/// How some logical CPUs had their cores at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Each had its core for itself, as far as logical CPUs of ours and co-runners go.
    Clear,
    /// Two of them were on one core.
    SameCore,
    /// On different cores, and a co-runner had a sibling of one or more.
    CoRunner,
    /// One did not run in time: stacked on another, or preempted.
    Away,
    /// On different cores; whether co-runners were there is not known, or the figures contradict each other.
    Unknown,
}

impl State {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Clear, Self::SameCore, Self::CoRunner, Self::Away, Self::Unknown];

    /// Of these logical CPUs, by how each has its core. One that shares it with a logical CPU of the study
    /// that is not among them is clear: that one is idle while they work.
    pub fn of(cpus: &[u32], shares: &BTreeMap<u32, Share>) -> Self {
        let of_cpu = |cpu: &u32| match shares.get(cpu) {
            None | Some(Share::Unknown | Share::Slowed | Share::Apart) => Self::Unknown,
            Some(Share::Away) => Self::Away,
            Some(Share::With(other)) if cpus.contains(other) => Self::SameCore,
            Some(Share::With(_) | Share::Alone) => Self::Clear,
            Some(Share::CoRunner) => Self::CoRunner,
        };
        let states: Vec<Self> = cpus.iter().map(of_cpu).collect();
        let first = [Self::Away, Self::SameCore, Self::Unknown, Self::CoRunner];
        first.into_iter().find(|state| states.contains(state)).unwrap_or(match states.is_empty() {
            true => Self::Unknown,
            false => Self::Clear,
        })
    }
}

/// A look and what it says of each logical CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<'r> {
    /// When, beside the slice.
    pub moment: Moment,
    /// What was seen.
    pub look: &'r Look,
    /// How each logical CPU that was looked at had its core.
    pub shares: BTreeMap<u32, Share>,
}

/// A slice and the looks around it.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedAt<'r> {
    /// The run that it belongs to.
    pub run: &'r Run,
    /// The slice.
    pub slice: &'r Slice,
    /// In the order in which they were taken.
    pub looks: Vec<Judged<'r>>,
}

impl LookedAt<'_> {
    /// State of some logical CPUs in the last look before the slice.
    pub fn before(&self, cpus: &[u32]) -> Option<State> {
        self.looks
            .iter()
            .rev()
            .find(|one| one.moment == Moment::Before)
            .map(|one| State::of(cpus, &one.shares))
    }

    /// State of some logical CPUs in the first look after the slice.
    pub fn after(&self, cpus: &[u32]) -> Option<State> {
        self.looks.iter().find(|one| one.moment == Moment::After).map(|one| State::of(cpus, &one.shares))
    }
}

/// All slices of a study's valid runs, in the order in which they were taken, with the looks around them,
/// which are judged by the levels of all looks of the study. Slices without a look are there too.
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
            let looks = with_shares.map(|(one, shares)| Judged {
                moment: one.moment,
                look: &one.look,
                shares: one.look.cpus.iter().map(|seen| seen.cpu).zip(shares).collect(),
            });
            LookedAt { run, slice, looks: looks.collect() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(cpus: &[u32], shares: &[Share]) -> State {
        State::of(cpus, &(0..).zip(shares.iter().copied()).collect())
    }

    #[test]
    fn the_state_of_several_is_the_worst_that_is_known() {
        use Share::{Alone, Apart, Away, CoRunner, Slowed, Unknown, With};
        assert_eq!(state(&[0, 1], &[Alone, Alone]), State::Clear);
        assert_eq!(state(&[0, 1], &[With(1), With(0)]), State::SameCore);
        assert_eq!(state(&[0], &[With(1), With(0)]), State::Clear, "the other one is idle");
        assert_eq!(state(&[0, 1], &[CoRunner, Alone]), State::CoRunner);
        assert_eq!(state(&[0, 1], &[Away, With(0)]), State::Away);
        for unsure in [Slowed, Apart, Unknown] {
            assert_eq!(state(&[0, 1], &[unsure, CoRunner]), State::Unknown);
        }
        assert_eq!(state(&[0, 7], &[Alone]), State::Unknown, "7 was not looked at");
        assert_eq!(state(&[], &[]), State::Unknown);
    }
}
