//! One look, as its threads go through it together.
//!
//! A line is passed as in `latency::pass`, by compare-and-swap. There is one line and not a page of them: a look asks how far two CPUs are apart now,
//! and compares only with other looks of the same line.

use crate::kernels::{self, Kernel, Scratch, TURN_STEPS};
use crate::latency::pass::{Line, swaps};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Round trips in a batch.
const ROUND_TRIPS: u64 = 32;
/// Batches of a look at most; they end when three agree.
const MOST_BATCHES: u64 = 8;
/// How near to each other the best three batches are when no more is needed.
const AGREED: f64 = 1.05;
/// All batches together take no longer. Three take 1.3 µs at 7 ns a move, and 29 µs at 150 ns.
const LINE_LIMIT: Duration = Duration::from_micros(60);
/// How long the first waits for the last.
const ARRIVAL_LIMIT: Duration = Duration::from_micros(400);
/// Tries between two looks at the clock.
const TRIES: u32 = 64;
/// Pieces of the wide kernel, 1.1 µs each on a free core of 3.6 GHz. Shorter ones show the clock: with
/// 0.3 µs, of which reading it takes a tenth, a free core had 4 to 7 adds a step.
const WIDE_PIECES: usize = 11;
const WIDE_TURNS: u64 = 130;
/// Pieces of the latency-limited kernel, 1 µs each, for the clock.
const CHAIN_PIECES: usize = 5;
const CHAIN_TURNS: u64 = 225;

/// What a pair passes, and whether the side that leads has seen enough.
#[derive(Debug, Default)]
struct Pair {
    line: Line,
    enough: Line,
}

/// Where the threads of a look meet.
#[derive(Debug)]
pub struct Meeting {
    arrived: [Line; 2],
    threads: u64,
    pairs: Vec<Pair>,
    finished: AtomicU32,
    /// Somebody has not come in time.
    over: AtomicBool,
}

/// A thread's place in a look: its pair and whether it leads, where it has one.
pub type Place = Option<(usize, bool)>;

/// What a thread saw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Seen {
    /// One move of the line; of the thread that leads.
    pub line_ns: Option<f64>,
    /// A step of the latency-limited kernel.
    pub chain_ns: Option<f64>,
    /// A step of the wide kernel while all ran it.
    pub wide_ns: Option<f64>,
}

impl Meeting {
    /// For so many threads and pairs.
    pub fn new(threads: usize, pairs: usize) -> Self {
        Self {
            arrived: Default::default(),
            threads: threads as u64,
            pairs: (0..pairs).map(|_| Pair::default()).collect(),
            finished: AtomicU32::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// A thread's whole part.
    pub fn attend(&self, place: Place, scratch: &mut Scratch) -> Seen {
        let mut seen = Seen::default();
        if !self.gather(0, ARRIVAL_LIMIT) {
            return seen;
        }
        match place.and_then(|(pair, leads)| Some((self.pairs.get(pair)?, leads))) {
            Some((pair, true)) => seen.line_ns = pair.lead(),
            Some((pair, false)) => pair.follow(),
            None => {}
        }
        seen.chain_ns = median(pieces::<CHAIN_PIECES>(Kernel::Chain, CHAIN_TURNS, scratch));
        if self.gather(1, ARRIVAL_LIMIT) {
            seen.wide_ns = median(pieces::<WIDE_PIECES>(Kernel::Wide, WIDE_TURNS, scratch));
        }
        seen
    }

    /// Says that a thread is through; true for the last one.
    pub fn leave(&self) -> bool {
        u64::from(self.finished.fetch_add(1, Ordering::AcqRel)) + 1 == self.threads
    }

    /// Whether all are through.
    pub fn done(&self) -> bool {
        u64::from(self.finished.load(Ordering::Acquire)) >= self.threads
    }

    /// Ends it for those that are still to come: nobody waits for them.
    pub fn give_up(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Waits for all; whether they came.
    fn gather(&self, at: usize, limit: Duration) -> bool {
        let arrived = &self.arrived[at].0;
        arrived.fetch_add(1, Ordering::AcqRel);
        let until = Instant::now() + limit;
        let mut tries = 0_u32;
        while arrived.load(Ordering::Acquire) < self.threads {
            tries = tries.wrapping_add(1);
            if tries.is_multiple_of(TRIES) && Instant::now() > until {
                self.give_up();
            }
            if self.over.load(Ordering::Acquire) {
                return false;
            }
        }
        !self.over.load(Ordering::Acquire)
    }
}

impl Pair {
    /// Passes the line to and fro; the least time of a move over batches.
    fn lead(&self) -> Option<f64> {
        let until = Instant::now() + LINE_LIMIT;
        let mut times: Vec<f64> = Vec::with_capacity(MOST_BATCHES as usize);
        let mut began = Instant::now();
        for batch in 0..MOST_BATCHES {
            if agree(&times) || !self.batch(2 * batch * ROUND_TRIPS, until) {
                break;
            }
            let now = Instant::now();
            times.push(now.duration_since(began).as_nanos() as f64 / (2 * ROUND_TRIPS) as f64);
            began = now;
        }
        self.enough.0.store(1, Ordering::Release);
        times.into_iter().reduce(f64::min)
    }

    fn follow(&self) {
        let until = Instant::now() + LINE_LIMIT;
        for batch in 0..MOST_BATCHES {
            if !self.batch(2 * batch * ROUND_TRIPS + 1, until) {
                return;
            }
        }
    }

    /// A batch; whether it was done in time.
    fn batch(&self, turn: u64, until: Instant) -> bool {
        let is_over = || self.enough.0.load(Ordering::Acquire) > 0 || Instant::now() > until;
        swaps::<TRIES>(&self.line, turn, ROUND_TRIPS, &is_over)
    }
}

/// Whether the least three are near to each other.
fn agree(times: &[f64]) -> bool {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(2).is_some_and(|third| *third <= AGREED * sorted[0])
}

/// Times of a step in pieces.
fn pieces<const N: usize>(kernel: Kernel, turns: u64, scratch: &mut Scratch) -> [f64; N] {
    std::array::from_fn(|_| {
        let began = Instant::now();
        kernels::run(kernel, turns, scratch);
        began.elapsed().as_nanos() as f64 / (turns * TURN_STEPS) as f64
    })
}

fn median<const N: usize>(mut times: [f64; N]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(N / 2).copied()
}
