//! Looks around slices: where the study's logical CPUs are, right before and right after each slice.
//!
//! All logical CPUs of a block are woken in the same way before every slice of every treatment, those that
//! the treatment leaves idle too: a hypervisor may choose a core when a logical CPU wakes, so only what is
//! seen after the same waking for all does not depend on the treatment. Figures: docs/PROBE.md, "Looks".

use crate::clock::Clock;
use crate::neighbours::Neighbours;
use std::collections::BTreeSet;
use std::time::Duration;
use threadwise_machine::CpuSet;
use threadwise_probe::bench::ProbeError;
use threadwise_probe::look::live::Lookers;
use threadwise_study::look::follow::{Follower, Share};
use threadwise_study::{
    BlockPlan, DuringLook, Look, Moment, Note, NoteCode, SliceLook, Study, looked_at, looks_during,
};

/// Looks in the middle of slices that are longer than this come again and again.
const LONG: Duration = Duration::from_millis(200);
/// How often, then, at most.
const EVERY: Duration = Duration::from_millis(100);
/// The golden ratio.
const GOLDEN: f64 = 1.618_033_988_749_895;
/// And so long after a look, as a multiple of the time that it took: 0.2% of each logical CPU at most.
const PAUSE: u32 = 500;

/// How long after a look it is repeated, where it is to show whether it was right.
const AT_ONCE: Duration = Duration::from_micros(200);

/// The logical CPUs that had their core to themselves in a look, and those that shared it in one.
#[derive(Debug, Default)]
struct Changes {
    alone: BTreeSet<u32>,
    shared: BTreeSet<u32>,
}

impl Changes {
    fn add(&mut self, look: &Look, shares: &[Share]) {
        for (seen, share) in look.cpus.iter().zip(shares) {
            match share {
                Share::Alone => self.alone.insert(seen.cpu),
                Share::Neighbour | Share::With(_) => self.shared.insert(seen.cpu),
                Share::Slowed | Share::Apart | Share::Away | Share::Unknown => false,
            };
        }
    }

    fn are_seen(&self) -> bool {
        !self.alone.is_disjoint(&self.shared)
    }
}

/// Which slices have looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Looks {
    /// None.
    #[default]
    None,
    /// Every slice.
    All,
    /// Those of every other round, to see what looks cost.
    EveryOtherRound,
}

/// What looks in a block.
#[derive(Debug)]
pub struct Looking {
    which: Looks,
    lookers: Lookers,
    follower: Follower,
    cpus: Vec<u32>,
    during: Vec<Option<DuringLook>>,
    /// The states that the logical CPUs have been in: whether one had its core to itself at times and shared it at others.
    changes: Changes,
    /// Nanoseconds that the last looks during a slice took, as a running mean.
    took_ns: u64,
}

impl Looking {
    /// Gets ready for a block, or for a phase of it in which only some logical CPUs are online. `None` where nothing
    /// is to be looked at.
    ///
    /// # Errors
    /// See [`Lookers::new`].
    pub fn new(
        which: Looks,
        study: &Study,
        plan: &BlockPlan,
        allowed: &CpuSet,
        online: Option<&CpuSet>,
    ) -> Result<Option<Self>, ProbeError> {
        let mut cpus = looked_at(study, plan, allowed);
        cpus.retain(|&cpu| online.is_none_or(|online| online.contains(cpu)));
        if which == Looks::None || study.is_simulated() || cpus.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            which,
            lookers: Lookers::new(&cpus.iter().copied().collect())?,
            follower: Follower::new(&cpus),
            cpus,
            during: looks_during(study, plan.block),
            changes: Changes::default(),
            took_ns: 0,
        }))
    }

    /// Whether the slices of a round have looks.
    pub fn is_due(&self, round: u32) -> bool {
        match self.which {
            Looks::None => false,
            Looks::All => true,
            Looks::EveryOtherRound => round.is_multiple_of(2),
        }
    }

    /// When the first look during a slice is due, after its start: the slice is the one of this number in its block and of
    /// this one in the study, and its window of this length begins after so much re-warming.
    pub fn first_during(
        &self,
        number: u64,
        sequence: u64,
        rewarm: Duration,
        window: Duration,
    ) -> Option<Duration> {
        if window > LONG {
            // From slice to slice another part of the time between two looks has passed (Weyl's sequence), so that looks
            // come at all times alike, however long a query or run takes.
            return Some(rewarm + EVERY.mul_f64((sequence as f64 * GOLDEN).fract()));
        }
        let look = self.drawn(number)?;
        Some(rewarm + window.mul_f64(look.at))
    }

    /// The look that is drawn for a slice, if it is due.
    fn drawn(&self, number: u64) -> Option<DuringLook> {
        let look = (*self.during.get(usize::try_from(number).ok()?)?)?;
        (!look.where_changing || self.changes.are_seen()).then_some(look)
    }

    /// How long after a look during the slice of a number the next one is due; `looks` have been taken during it.
    pub fn next_during(&self, number: u64, looks: usize, window: Duration) -> Option<Duration> {
        let pause = Duration::from_nanos(self.took_ns) * PAUSE;
        let is_repeated = || looks == 1 && self.drawn(number).is_some_and(|look| look.repeated);
        match window > LONG {
            true => Some(pause.max(EVERY)),
            false => is_repeated().then_some(AT_ONCE),
        }
    }

    /// Looks, and adds to what is known of a run's neighbours.
    pub fn look(&mut self, moment: Moment, clock: Clock, neighbours: &mut Neighbours) -> Option<SliceLook> {
        let mut pairs: Vec<(u32, u32)> = self.follower.pairs();
        pairs.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
        pairs.sort_unstable();
        let start_ns = clock.now_ns();
        let look =
            Look { start_ns, ..self.lookers.look(&self.cpus, &pairs, self.follower.test(&pairs)).ok()? };
        if moment == Moment::During {
            self.took_ns = (7 * self.took_ns + look.took_ns) / 8;
        }
        let seen = SliceLook { moment, look };
        let shares = self.follower.judge(&seen.look);
        self.changes.add(&seen.look, &shares);
        neighbours.add(&seen, &shares);
        Some(seen)
    }
}

/// Why there are no looks.
pub fn no_looks(error: &ProbeError) -> Note {
    Note::new(NoteCode::NoLooks, format!("no looks at where slices ran: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_coarse_clock_a_study_says_why_it_has_no_looks() {
        let why = no_looks(&ProbeError::CoarseClock { step_ns: 4_000_000 });
        let words =
            "no looks at where slices ran: the clock is too coarse to measure with: its steps are 4000000 ns";
        assert!(why.text.starts_with(words) && why.code == NoteCode::NoLooks, "{why:?}");
    }

    #[test]
    fn looks_during_long_slices_keep_to_their_budget() {
        let cpus = [threadwise_machine::pin::current_affinity().unwrap().first().unwrap()];
        let mut looking = Looking {
            which: Looks::EveryOtherRound,
            lookers: Lookers::new(&cpus.into_iter().collect()).unwrap(),
            follower: Follower::new(&cpus),
            cpus: cpus.to_vec(),
            during: vec![
                None,
                Some(DuringLook { at: 0.5, where_changing: false, repeated: true }),
                Some(DuringLook { at: 0.25, where_changing: true, repeated: false }),
            ],
            changes: Changes::default(),
            took_ns: 0,
        };
        let ms = Duration::from_millis;
        assert_eq!(looking.first_during(0, 0, ms(5), ms(50)), None);
        assert_eq!(looking.first_during(1, 1, ms(5), ms(50)), Some(ms(30)));
        assert_eq!(looking.first_during(2, 2, ms(5), ms(40)), None, "nothing has changed yet");
        assert_eq!(looking.next_during(1, 1, ms(50)), Some(AT_ONCE));
        assert_eq!([(1, 2), (2, 1)].map(|(at, looks)| looking.next_during(at, looks, ms(50))), [None, None]);
        looking.changes = Changes { alone: [3].into(), shared: [3, 4].into() };
        assert_eq!(looking.first_during(2, 2, ms(5), ms(40)), Some(ms(15)));
        let first = |sequence| looking.first_during(0, sequence, ms(7), ms(9_000)).map(|due| due.as_millis());
        assert_eq!(
            [0, 1, 2, 3].map(first),
            [Some(7), Some(68), Some(30), Some(92)],
            "at another time in each"
        );
        assert_eq!(looking.next_during(0, 1, ms(9_000)), Some(ms(100)));
        looking.took_ns = 1_000_000;
        assert_eq!(looking.next_during(0, 1, ms(9_000)), Some(ms(500)));
        assert_eq!([0, 1, 2].map(|round| looking.is_due(round)), [true, false, true]);
        let mut neighbours = Neighbours::default();
        let seen = looking.look(Moment::Before, Clock { zero_ns: 0 }, &mut neighbours).unwrap();
        assert_eq!((seen.moment, seen.look.cpus[0].cpu, seen.look.pairs.len()), (Moment::Before, cpus[0], 0));
        assert!(seen.look.start_ns > 0 && seen.look.took_ns > 0);
    }
}
