//! Looks at the logical CPUs of the server's machine at random moments of an interval: the share of them in which a
//! neighbour was on the other thread of a core.
//!
//! The interval is cut into equal parts, each with a look at a random moment of it, so that looks keep no time with
//! anything periodic (stratified sampling: Cochran, *Sampling Techniques*, 3rd ed. 1977, chapter 5). There are no looks
//! before the first interval: a core's whole width is learnt from the first ones, which show nothing yet.

use crate::commands::probe::probe_error;
use crate::commands::watch::{MOST_CPUS, chosen, one};
use crate::error::AppError;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use threadwise_document::numbers;
use threadwise_machine::Topology;
use threadwise_observed::{Neighbours, Tally, Unseen};
use threadwise_probe::look::live::Lookers;
use threadwise_probe::neighbour::FREE_ADDS;
use threadwise_study::look::follow::{Follower, Share};

/// Looks in an interval that is long enough for them.
const LOOKS: f64 = 20.0;
/// Longest time that a look keeps a logical CPU busy: at 1 GHz, with both siblings running and all others late.
const LOOK_AT_MOST_S: f64 = 2.5e-3;
/// Largest share of each logical CPU's time that looks may take, if each took as long as it may.
const TIME_SHARE_AT_MOST: f64 = 0.004;

/// Neighbours of this machine, interval after interval.
pub struct NeighbourWatch {
    looking: Result<Looking, Unseen>,
    interval_s: f64,
}

/// What looks.
struct Looking {
    lookers: Lookers,
    follower: Follower,
    cpus: Vec<u32>,
    moments: VecDeque<Instant>,
    tally: Tally,
}

impl NeighbourWatch {
    /// Prepares looks at this machine; without a topology the server is elsewhere.
    ///
    /// # Errors
    /// The clock is too coarse for looks, or a thread cannot be started.
    pub fn open(topology: Option<&Topology>, interval_s: f64) -> Result<Self, AppError> {
        let looking = match topology {
            None => Err(Unseen::Elsewhere),
            Some(topology) => match unseen(topology) {
                Some(unseen) => Err(unseen),
                None => Ok(Looking::open(topology)?),
            },
        };
        Ok(Self { looking, interval_s })
    }

    /// What is looked at, or why nothing is.
    pub fn note(&self) -> String {
        match &self.looking {
            Err(unseen) => format!("neighbours are not known: {}", unseen.words()),
            Ok(looking) => format!(
                "neighbours: {} an interval at {}",
                numbers::counted(looks(self.interval_s), "look"),
                numbers::counted(looking.cpus.len(), "logical CPU")
            ),
        }
    }

    /// Draws the moments of looks of the interval that begins.
    pub fn begin(&mut self, start: Instant) {
        if let Ok(looking) = &mut self.looking {
            let offsets = moments(self.interval_s, &mut uniform);
            looking.moments = offsets.into_iter().map(|offset| start + offset).collect();
        }
    }

    /// The moment of the next look, if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.looking.as_ref().ok()?.moments.front().copied()
    }

    /// Looks once if it is time. Missed looks are left out.
    ///
    /// # Errors
    /// A thread that looks has ended.
    pub fn look(&mut self, now: Instant) -> Result<(), AppError> {
        let Ok(looking) = &mut self.looking else { return Ok(()) };
        let due = looking.moments.iter().take_while(|moment| **moment <= now).count();
        if due > 0 {
            looking.moments.drain(..due);
            let (_, shares) = one(&looking.lookers, &mut looking.follower, &looking.cpus)?;
            add(&mut looking.tally, &shares);
        }
        Ok(())
    }

    /// What was seen since the last call, of a machine with so many logical CPUs online now.
    pub fn take(&mut self, online: Option<u32>) -> Neighbours {
        match &mut self.looking {
            Err(unseen) => Neighbours::Unknown(*unseen),
            Ok(looking) => {
                let seen = std::mem::take(&mut looking.tally).neighbours();
                let is_covered = online.is_none_or(|online| online as usize == looking.cpus.len());
                if is_covered { seen } else { Neighbours::Unknown(Unseen::Uncovered) }
            }
        }
    }
}

impl Looking {
    fn open(topology: &Topology) -> Result<Self, AppError> {
        let cpus = chosen(topology, None)?;
        let lookers = Lookers::new(&cpus.iter().copied().collect()).map_err(probe_error)?;
        let follower = Follower::new(&cpus);
        Ok(Self { lookers, follower, cpus, moments: VecDeque::new(), tally: Tally::default() })
    }
}

/// Why looks cannot tell neighbours on this machine, if so.
fn unseen(topology: &Topology) -> Option<Unseen> {
    let has_siblings = topology.logical_cpus.iter().any(|cpu| cpu.siblings.len() > 1);
    // The siblings that are offline then are this machine's too.
    let is_off = topology.identity.smt_control.as_deref().is_some_and(|word| word.contains("off"));
    let online = topology.logical_cpus.iter().filter(|cpu| cpu.online).count();
    match () {
        () if topology.identity.hypervisor.is_none() => Some(Unseen::NoGuest),
        () if has_siblings || is_off => Some(Unseen::Declared),
        () if online > MOST_CPUS || topology.allowed().len() < online => Some(Unseen::Uncovered),
        () if FREE_ADDS.is_none() => Some(Unseen::Width),
        () => None,
    }
}

/// Number of looks in an interval: at most [`LOOKS`], and fewer where they would take more time than they may.
fn looks(interval_s: f64) -> usize {
    (interval_s * TIME_SHARE_AT_MOST / LOOK_AT_MOST_S).floor().clamp(1.0, LOOKS) as usize
}

/// Moments of looks since the start of an interval, ascending, one in each of its equal parts. `uniform` draws from 0
/// to 1.
fn moments(interval_s: f64, uniform: &mut dyn FnMut() -> f64) -> Vec<Duration> {
    let count = looks(interval_s);
    let part_s = interval_s / count as f64;
    (0..count).map(|part| Duration::from_secs_f64((part as f64 + uniform()) * part_s)).collect()
}

/// A number from 0 to 1 of the system's randomness.
fn uniform() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}

fn add(tally: &mut Tally, shares: &[Share]) {
    shares.iter().for_each(|share| tally.add(share.has_neighbour()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::topology::{Identity, LogicalCpu};
    use threadwise_probe::kernels::WIDE_ADDS_PER_STEP;
    use threadwise_probe::look::{CHAIN_STEPS, WAIT_AT_MOST, WIDE_STEPS};
    use threadwise_study::{CpuLook, Look, PairLook};

    #[test]
    fn looks_take_less_of_a_logical_cpu_than_half_a_percent() {
        const CYCLE_S: f64 = 1e-9;
        const SHARED: f64 = 2.4;
        let steps = CHAIN_STEPS as f64 + WIDE_STEPS as f64 * WIDE_ADDS_PER_STEP / SHARED;
        let look_s = CYCLE_S * steps + WAIT_AT_MOST.as_secs_f64();
        assert!(look_s <= LOOK_AT_MOST_S, "{look_s}");
        for interval_s in [1.0, 1.7, 5.0, 12.5, 60.0, 3600.0] {
            let count = looks(interval_s);
            assert!((1..=20).contains(&count), "{interval_s} {count}");
            assert!(count as f64 * LOOK_AT_MOST_S / interval_s < 0.005, "{interval_s} {count}");
        }
        assert_eq!((looks(60.0), looks(1.0)), (20, 1));
    }

    #[test]
    fn each_part_of_an_interval_has_a_look_at_a_moment_of_its_own() {
        for constant in [0.0, 0.4, 1.0] {
            let found = moments(60.0, &mut || constant);
            assert_eq!(found.len(), 20);
            for (part, moment) in found.iter().enumerate() {
                let wanted_s = (part as f64 + constant) * 3.0;
                assert!((moment.as_secs_f64() - wanted_s).abs() < 1e-6, "{moment:?}");
            }
        }
        let drawn = uniform();
        assert!((0.0..=1.0).contains(&drawn));
    }

    /// Looks at two logical CPUs, the width of each as given: a free core has 4.4 adds a step.
    fn tally(looks: &[[Option<f64>; 2]]) -> Neighbours {
        let mut follower = Follower::new(&[0, 1]);
        let mut tally = Tally::default();
        for widths in looks {
            let cpu = |cpu: u32| {
                let adds_per_step = widths[cpu as usize];
                CpuLook { cpu, chain_ns: adds_per_step.map(|_| 0.278), adds_per_step }
            };
            let pairs = vec![PairLook { a: 0, b: 1, line_ns: Some(61.0) }];
            let cpus = vec![cpu(0), cpu(1)];
            let look = Look { start_ns: 0, took_ns: 25_000, cpus, pairs, alone: None };
            add(&mut tally, &follower.judge(&look));
        }
        tally.neighbours()
    }

    #[test]
    fn looks_without_a_known_width_or_without_a_turn_show_nothing() {
        let (free, slowed) = (Some(4.4), Some(2.5));
        // From the fourth look on the width of the first is known; the other never had a free core.
        let looks = [[free, slowed]; 13];
        assert_eq!(tally(&looks), Neighbours::Seen { looks: 10, share: 0.0 });
        assert_eq!(tally(&looks[..3]), Neighbours::Unknown(Unseen::NoLook));
        let mut looks = vec![[free, free]; 13];
        looks.extend([[free, slowed], [slowed, slowed], [None, free], [None, None]]);
        assert_eq!(tally(&looks), Neighbours::Seen { looks: 25, share: 3.0 / 25.0 });
    }

    fn guest(cpus: u32, siblings: u32) -> Topology {
        let cpu = |os_id: u32| LogicalCpu {
            os_id,
            siblings: (os_id / siblings * siblings..(os_id / siblings + 1) * siblings).collect(),
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        };
        let identity = Identity { hypervisor: Some("KVM".to_owned()), ..Identity::default() };
        Topology { logical_cpus: (0..cpus).map(cpu).collect(), identity, ..Topology::default() }
    }

    #[test]
    fn only_all_of_a_guest_with_hidden_siblings_is_looked_at() {
        let width = FREE_ADDS.is_none().then_some(Unseen::Width);
        assert_eq!(unseen(&guest(16, 1)), width);
        assert_eq!(unseen(&guest(17, 1)), Some(Unseen::Uncovered));
        assert_eq!(unseen(&guest(8, 2)), Some(Unseen::Declared));
        let of = |change: fn(&mut Topology)| {
            let mut topology = guest(4, 1);
            change(&mut topology);
            unseen(&topology)
        };
        assert_eq!(of(|topology| topology.identity.hypervisor = None), Some(Unseen::NoGuest));
        assert_eq!(
            of(|topology| topology.identity.smt_control = Some("off".to_owned())),
            Some(Unseen::Declared)
        );
        assert_eq!(of(|topology| topology.identity.smt_control = Some("notsupported".to_owned())), width);
        assert_eq!(of(|topology| topology.logical_cpus[2].allowed = false), Some(Unseen::Uncovered));
        assert_eq!(of(|topology| topology.logical_cpus[2].online = false), width);
    }

    #[test]
    fn a_server_elsewhere_has_no_looks() {
        let mut watch = NeighbourWatch::open(None, 60.0).unwrap();
        watch.begin(Instant::now());
        assert!(watch.due().is_none() && watch.note().contains("not on this machine"));
        assert_eq!(watch.take(Some(2)), Neighbours::Unknown(Unseen::Elsewhere));
    }
}
