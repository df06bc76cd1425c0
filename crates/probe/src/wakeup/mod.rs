//! Wake-ups of sleeping threads: two threads on two logical CPUs wake each other in turn, by a futex, a pipe or a TCP
//! connection, and each sleeps until it is woken, so that its logical CPU goes idle.
//!
//! A cache line between cores takes tens of nanoseconds, waking an idle logical CPU microseconds: the sender interrupts
//! it, it leaves its idle state, and the scheduler runs the thread; in a virtual machine the host's scheduler too. The
//! figure is half of a round trip, as lmbench gives it for pipes and sockets (McVoy, Staelin, USENIX 1996). On one
//! logical CPU it is a context switch without an idle CPU: the yardstick of what sleep adds. With a pause each side
//! works for a while between being woken and waking the other, which then was idle for as long, so that deeper idle
//! states, and the end of a hypervisor's polling, are seen.
//!
//! One representative pair for each distance is measured, in blocks of round trips; a round has a block of each pair,
//! method and pause, in a drawn order.

mod channel;
mod figures;
mod live;
mod pairs;

pub use live::LiveWakes;
pub use pairs::{Representative, representatives};

use crate::bench::ProbeError;
use figures::Blocks;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use threadwise_study::probe::{Locality, ProbeForm, WakeMethod, Wakeup};

/// Rounds, and so blocks of each figure: the median's interval leaves out two at each end. A round takes about 20 ms for
/// each distance, of which 13 are pauses.
const ROUNDS: u32 = 12;
/// Rounds of the short form, which leave out one at each end. A round takes 2 ms for each distance, nearly all of it to
/// start threads.
const SHORT_ROUNDS: u32 = 9;
/// Round trips of a block that count.
const ROUND_TRIPS: u32 = 12;
/// The same with a pause, of which each takes two.
const ROUND_TRIPS_IDLE: u32 = 3;
/// Pause of each side: longer than a hypervisor polls before its logical CPU sleeps (KVM's `halt_poll_ns`, 200 µs), and
/// than the menu governor needs to choose a deep state.
const IDLE_NS: u64 = 500_000;
/// Most pairs of the short form, with that of one logical CPU: the nearest and the farthest.
const SHORT_PAIRS: usize = 3;

/// One block: two threads wake each other in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Logical CPU of the thread that begins and takes the time.
    pub a: u32,
    /// Logical CPU of the other, which may be the same.
    pub b: u32,
    /// What wakes them.
    pub method: WakeMethod,
    /// Pause of each side before it wakes the other, nanoseconds.
    pub idle_ns: u64,
    /// Round trips that count.
    pub round_trips: u32,
}

/// Lets two threads wake each other.
pub trait WakeBench {
    /// Half of each round trip without its pauses, in nanoseconds, or why none was measured.
    ///
    /// # Errors
    /// [`WakeFault`].
    fn run(&mut self, order: &Order) -> Result<Vec<f64>, WakeFault>;
}

/// Why a block has no times.
#[derive(Debug, thiserror::Error)]
pub enum WakeFault {
    /// The system refuses the method, or an answer did not come in time; the text says which.
    #[error("{0}")]
    Refused(String),
    /// The probe cannot continue.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Pairs, from [`representatives`].
    pub pairs: &'a [Representative],
    /// How much is measured.
    pub form: ProbeForm,
    /// Seed of the order.
    pub seed: u64,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wakeups {
    /// Figures, nearest first, and by method and pause.
    pub wakeups: Vec<Wakeup>,
    /// What could not be measured, one line each.
    pub gaps: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Measures the pairs of a request. `tell` gets the finished share.
///
/// # Errors
/// A logical CPU is not available; or threads could not be started. Being stopped is no error.
pub fn measure(
    bench: &mut dyn WakeBench,
    request: &Request<'_>,
    tell: &mut dyn FnMut(f64),
) -> Result<Wakeups, ProbeError> {
    let mut cells = cells(request);
    let mut refused: BTreeMap<WakeMethod, String> = BTreeMap::new();
    let mut interrupted = false;
    let rounds = if request.form == ProbeForm::Short { SHORT_ROUNDS } else { ROUNDS };
    for round in 0..rounds {
        tell(f64::from(round) / f64::from(rounds));
        match run_round(bench, &mut cells, &mut refused, (request.seed, round)) {
            Err(ProbeError::Stopped) => interrupted = true,
            other => other?,
        }
        if interrupted {
            break;
        }
    }
    let figures = cells.into_iter().filter(|cell| !refused.contains_key(&cell.order.method));
    Ok(Wakeups {
        wakeups: figures.filter_map(Cell::figures).collect(),
        gaps: refused.into_iter().map(|(method, why)| gap(method, &why)).collect(),
        interrupted,
    })
}

fn gap(method: WakeMethod, why: &str) -> String {
    format!("no time of a wake-up by {}: {why}", method.words())
}

/// One block of each cell, in an order of its own.
fn run_round(
    bench: &mut dyn WakeBench,
    cells: &mut [Cell],
    refused: &mut BTreeMap<WakeMethod, String>,
    (seed, round): (u64, u32),
) -> Result<(), ProbeError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(2 << 32 | u64::from(round));
    let mut order: Vec<&mut Cell> = cells.iter_mut().collect();
    order.shuffle(&mut random);
    for cell in order {
        if refused.contains_key(&cell.order.method) {
            continue;
        }
        match bench.run(&cell.order) {
            Ok(times_ns) => cell.blocks.add(times_ns, cell.order.round_trips),
            Err(WakeFault::Refused(why)) => _ = refused.insert(cell.order.method, why),
            Err(WakeFault::Probe(error)) => return Err(error),
        }
    }
    Ok(())
}

/// One figure in the making.
struct Cell {
    distance: Locality,
    order: Order,
    blocks: Blocks,
}

impl Cell {
    fn figures(self) -> Option<Wakeup> {
        let Order { a, b, method, idle_ns, .. } = self.order;
        let figures = self.blocks.finish()?;
        Some(Wakeup {
            distance: self.distance,
            a,
            b,
            method,
            idle_ns,
            min_ns: figures.min_ns,
            median_ns: figures.median_ns,
            median_low_ns: figures.median_low_ns,
            median_high_ns: figures.median_high_ns,
            p90_ns: figures.p90_ns,
            blocks: figures.blocks,
            samples: figures.samples,
        })
    }
}

/// What a form measures: the short one, which has about 50 ms, TCP alone and without a pause.
fn cells(request: &Request<'_>) -> Vec<Cell> {
    let is_short = request.form == ProbeForm::Short;
    let (pairs, methods) = match is_short {
        true => (shortened(request.pairs), &[WakeMethod::Tcp][..]),
        false => (request.pairs.to_vec(), &WakeMethod::ALL[..]),
    };
    let mut cells = Vec::new();
    for Representative { distance, a, b } in pairs {
        // Two threads of one logical CPU leave none idle.
        let has_pause = !is_short && distance != Locality::SameCpu;
        for method in methods.iter().copied() {
            let order = Order { a, b, method, idle_ns: 0, round_trips: ROUND_TRIPS };
            cells.push(Cell { distance, order, blocks: Blocks::default() });
            if has_pause {
                let order = Order { idle_ns: IDLE_NS, round_trips: ROUND_TRIPS_IDLE, ..order };
                cells.push(Cell { distance, order, blocks: Blocks::default() });
            }
        }
    }
    cells
}

/// The first pairs, and the last.
fn shortened(pairs: &[Representative]) -> Vec<Representative> {
    match pairs {
        [first @ .., last] if pairs.len() > SHORT_PAIRS => [&first[..SHORT_PAIRS - 1], &[*last]].concat(),
        few => few.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that a distance and a method would take; answers no more after `limit` blocks.
    struct Model {
        orders: Vec<Order>,
        without: Option<WakeMethod>,
        limit: usize,
    }

    impl Model {
        fn new() -> Self {
            Self { orders: Vec::new(), without: None, limit: usize::MAX }
        }
    }

    impl WakeBench for Model {
        fn run(&mut self, order: &Order) -> Result<Vec<f64>, WakeFault> {
            if self.orders.len() >= self.limit {
                return Err(ProbeError::Stopped.into());
            }
            self.orders.push(*order);
            if self.without == Some(order.method) {
                return Err(WakeFault::Refused("no loopback".to_owned()));
            }
            let ns = f64::from(1000 * (1 + order.b - order.a)) + order.idle_ns as f64 / 100.0;
            Ok((0..order.round_trips).map(|trip| ns + f64::from(trip)).collect())
        }
    }

    fn pairs(count: u32) -> Vec<Representative> {
        let pair = |(b, distance)| Representative { distance, a: 0, b };
        (0..count).zip(Locality::ALL).map(pair).collect()
    }

    fn measured(model: &mut Model, pairs: &[Representative], form: ProbeForm) -> Wakeups {
        measure(model, &Request { pairs, form, seed: 3 }, &mut |_| {}).unwrap()
    }

    #[test]
    fn every_pair_has_every_method_and_a_pause_where_a_cpu_can_be_idle() {
        let mut model = Model::new();
        let found = measured(&mut model, &pairs(3), ProbeForm::Standard);
        assert_eq!((found.wakeups.len(), found.gaps.len()), (3 + 6 + 6, 0));
        for one in &found.wakeups {
            assert_eq!(one.blocks, ROUNDS);
            assert!(one.min_ns <= one.median_ns && one.median_ns <= one.p90_ns, "{one:?}");
            assert!(one.median_low_ns <= one.median_ns && one.median_ns <= one.median_high_ns, "{one:?}");
            assert!(one.idle_ns == 0 || one.distance != Locality::SameCpu, "{one:?}");
            let expected = f64::from(1000 * (1 + one.b)) + one.idle_ns as f64 / 100.0;
            assert_eq!(one.min_ns, expected, "{one:?}");
        }
        // Every round has each cell once, and rounds differ in their order.
        let rounds: Vec<&[Order]> = model.orders.chunks(15).collect();
        let same = |one: &&[Order]| rounds[0].iter().all(|order| one.contains(order));
        assert!(rounds.len() == ROUNDS as usize && rounds.iter().all(same));
        assert!(rounds.iter().any(|round| *round != rounds[0]));
    }

    #[test]
    fn the_short_form_has_tcp_on_the_nearest_and_the_farthest_pair() {
        let found = measured(&mut Model::new(), &pairs(7), ProbeForm::Short);
        let measured: Vec<(Locality, WakeMethod, u64)> =
            found.wakeups.iter().map(|one| (one.distance, one.method, one.idle_ns)).collect();
        let expected = [Locality::SameCpu, Locality::SameCore, Locality::OtherPackage];
        assert_eq!(measured, expected.map(|distance| (distance, WakeMethod::Tcp, 0)));
        assert!(found.wakeups.iter().all(|one| one.blocks == SHORT_ROUNDS));
        assert_eq!(shortened(&pairs(3)), pairs(3));
    }

    #[test]
    fn a_refused_method_is_a_gap_and_the_others_go_on() {
        let mut model = Model { without: Some(WakeMethod::Tcp), ..Model::new() };
        let found = measured(&mut model, &pairs(2), ProbeForm::Standard);
        assert_eq!(found.gaps, ["no time of a wake-up by TCP: no loopback"]);
        assert!(found.wakeups.iter().all(|one| one.method != WakeMethod::Tcp));
        assert_eq!(found.wakeups.len(), 2 + 4);
        let asked = model.orders.iter().filter(|order| order.method == WakeMethod::Tcp);
        assert_eq!(asked.count(), 1, "it is asked once");
    }

    #[test]
    fn what_was_measured_until_a_stop_is_kept_where_it_is_enough() {
        let few = measured(&mut Model { limit: 20, ..Model::new() }, &pairs(2), ProbeForm::Standard);
        assert!(few.interrupted && few.wakeups.is_empty() && few.gaps.is_empty());
        let most = measured(&mut Model { limit: 9 * 10, ..Model::new() }, &pairs(2), ProbeForm::Standard);
        assert!(most.interrupted && most.wakeups.iter().all(|one| one.blocks == 10), "{most:?}");
    }
}
