//! One look, as its threads go through it together.
//!
//! A line is passed as in `latency::pass`, by compare-and-swap. There is one line instead of a page of them: a look
//! asks how far apart two CPUs are now, and is compared only with other looks of the same line.
//!
//! The threads meet five times. Each time the first to arrive waits 0.4 ms at most for the others; then those that
//! have arrived continue, and later ones leave at once. The arrivals are one word ([`Arrivals`]), so that all of
//! them continue with the same number.

mod arrivals;

use crate::kernels::{self, Kernel, Scratch, TURN_STEPS};
use crate::latency::pass::{Line, swaps};
use arrivals::{Arrivals, Present};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Round trips in a batch.
const ROUND_TRIPS: u64 = 32;
/// Most batches of a look; they end when three agree.
const MOST_BATCHES: u64 = 8;
/// Largest difference of the best three batches that ends them.
const AGREED: f64 = 1.05;
/// Time limit of all batches. Three take 1.3 µs at 7 ns a move, and 29 µs at 150 ns.
const LINE_LIMIT: Duration = Duration::from_micros(60);
/// How long the first waits for the others.
const ARRIVAL_LIMIT: Duration = Duration::from_micros(400);
/// Tries between two checks of the clock.
const TRIES: u32 = 64;
/// Pieces of the wide kernel, 1.1 µs each on a free core of 3.6 GHz. Shorter ones show the clock: with
/// 0.3 µs, of which reading it takes a tenth, a free core had 4 to 7 adds a step.
const WIDE_PIECES: usize = 11;
const WIDE_TURNS: u64 = 130;
/// Divisions between two checks whether the others are done; each takes a dozen cycles.
const DIVISIONS: u32 = 32;
/// Pieces of the latency-limited kernel, 1 µs each, for the clock.
const CHAIN_PIECES: usize = 5;
const CHAIN_TURNS: u64 = 225;

/// Moves of a line between two readings of the clock: the time of a reading is divided by this in one move.
pub const MOVES_PER_READING: u64 = 2 * ROUND_TRIPS;
/// Longest time that a thread is busy in a look beside its kernels: it waits five times for the others, passes a line,
/// and stands still.
pub const WAIT_AT_MOST: Duration = Duration::from_micros(5 * 400 + 2 * 60);
const _: () = assert!(WAIT_AT_MOST.as_micros() == 5 * ARRIVAL_LIMIT.as_micros() + 2 * LINE_LIMIT.as_micros());
/// Steps of the latency-limited kernel in a look.
pub const CHAIN_STEPS: u64 = CHAIN_PIECES as u64 * CHAIN_TURNS * TURN_STEPS;
/// Steps of the wide kernel in a look: with all twice, and once without each of two.
pub const WIDE_STEPS: u64 = 4 * WIDE_PIECES as u64 * WIDE_TURNS * TURN_STEPS;

/// The line of a pair, and whether the leading side has seen enough.
#[derive(Debug, Default)]
struct Pair {
    line: Line,
    enough: Line,
}

/// Where the threads of a look meet.
#[derive(Debug)]
pub struct Meeting {
    arrivals: [Arrivals; 5],
    all: Present,
    pairs: Vec<Pair>,
    finished: AtomicU32,
    /// All that continued to the end are done.
    done: AtomicBool,
    /// How many have seen enough while the second stood still, and while the first did.
    seen_alone: [AtomicU32; 2],
    /// The caller of the look waits no longer.
    over: AtomicBool,
}

/// What a thread measures in a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LookRole {
    /// Its pair and whether it leads, if it has one.
    pub pair: Option<(usize, bool)>,
    /// Whether it is the first or the second of the tested pair, if it is in it.
    pub tested: Option<Side>,
}

/// The two of a tested pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Is seen first without the other.
    First,
    /// Stands still first.
    Second,
}

/// A thread's results, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LookTimes {
    /// One move of the line; of the thread that leads.
    pub line_ns: Option<f64>,
    /// A step of the latency-limited kernel.
    pub chain_ns: Option<f64>,
    /// A step of the wide kernel while all ran it: the minimum, if they did so before and after a test.
    pub wide_ns: Option<f64>,
    /// A step of it while the other of the tested pair stood still.
    pub alone_ns: Option<f64>,
}

impl Meeting {
    /// For so many threads and pairs; in a test each of two is seen without the other.
    pub fn new(threads: u32, pairs: usize, has_test: bool) -> Self {
        Self {
            arrivals: Default::default(),
            all: Present { threads, tested: if has_test { 2 } else { 0 } },
            pairs: (0..pairs).map(|_| Pair::default()).collect(),
            finished: AtomicU32::new(0),
            done: AtomicBool::new(false),
            seen_alone: Default::default(),
            over: AtomicBool::new(false),
        }
    }

    /// A thread's whole part: its results, and the threads that continued with it to the end; `None` if it was late.
    pub fn attend(&self, role: LookRole, scratch: &mut Scratch) -> (LookTimes, Option<Present>) {
        let mut seen = LookTimes::default();
        let Some(present) = self.gather(0, self.all, role) else { return (seen, None) };
        // A thread whose partner did not arrive waits until the line's limit; that may be for nothing, but the pairs
        // of others need not be known to all.
        match role.pair.and_then(|(pair, leads)| Some((self.pairs.get(pair)?, leads))) {
            Some((pair, true)) => seen.line_ns = pair.lead(),
            Some((pair, false)) => pair.follow(),
            None => {}
        }
        seen.chain_ns = median(pieces::<CHAIN_PIECES>(Kernel::Chain, CHAIN_TURNS, scratch));
        let Some(present) = self.gather(1, present, role) else { return (seen, None) };
        seen.wide_ns = median(pieces::<WIDE_PIECES>(Kernel::Wide, WIDE_TURNS, scratch));
        let stayed =
            if present.tested == 2 { self.test(role, present, &mut seen, scratch) } else { Some(present) };
        (seen, stayed)
    }

    /// Each of the two without the other, and all once more: a neighbour that leaves meanwhile returns for
    /// neither. It ends if one more is missing, since another's width may then come from that.
    fn test(
        &self,
        role: LookRole,
        all: Present,
        seen: &mut LookTimes,
        scratch: &mut Scratch,
    ) -> Option<Present> {
        let mut alone_ns = None;
        for (at, standing) in [(2, Side::Second), (3, Side::First)] {
            let present = self.gather(at, all, role)?;
            if present != all {
                return Some(present);
            }
            let stands = role.tested == Some(standing);
            let step_ns = self.go_on(&self.seen_alone[at - 2], stands, present, scratch);
            if role.tested.is_some() && !stands {
                alone_ns = step_ns;
            }
        }
        let present = self.gather(4, all, role)?;
        if present == all {
            let again = median(pieces::<WIDE_PIECES>(Kernel::Wide, WIDE_TURNS, scratch));
            seen.wide_ns = seen.wide_ns.into_iter().chain(again).reduce(f64::min);
            seen.alone_ns = alone_ns;
        }
        Some(present)
    }

    /// The pieces in which one stands still; returns the time of a step of the others meanwhile.
    ///
    /// It may not sleep: the load of a slice would run in its place, and waking takes microseconds. Neither may it
    /// pause in a loop, since a hypervisor takes that for waiting and intercepts it. Divisions that depend on each
    /// other leave nearly all of a core to its sibling.
    fn go_on(
        &self,
        seen_alone: &AtomicU32,
        stands: bool,
        present: Present,
        scratch: &mut Scratch,
    ) -> Option<f64> {
        if !stands {
            let step_ns = median(pieces::<WIDE_PIECES>(Kernel::Wide, WIDE_TURNS, scratch));
            seen_alone.fetch_add(1, Ordering::AcqRel);
            return step_ns;
        }
        let until = Instant::now() + LINE_LIMIT;
        let mut divided = 1.5_f64;
        while seen_alone.load(Ordering::Acquire) + 1 < present.threads && Instant::now() < until {
            for _ in 0..DIVISIONS {
                divided = 1.0 / std::hint::black_box(divided);
            }
        }
        None
    }

    /// Records that a thread is done, and with whom it continued to the end; true for the last of these. Late
    /// threads are not waited for.
    pub fn leave(&self, stayed: Option<Present>) -> bool {
        let Some(present) = stayed else { return false };
        let is_last = self.finished.fetch_add(1, Ordering::AcqRel) + 1 == present.threads;
        if is_last {
            self.done.store(true, Ordering::Release);
        }
        is_last
    }

    /// Whether all that continued to the end are done.
    pub fn done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Ends it for those that are still in it or to come.
    pub fn give_up(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Waits for the others that are still in the look; returns those that continue. `None` if they continued before.
    fn gather(&self, at: usize, all: Present, role: LookRole) -> Option<Present> {
        let arrivals = &self.arrivals[at];
        if !arrivals.arrive(role.tested.is_some()) {
            return None;
        }
        let until = Instant::now() + ARRIVAL_LIMIT;
        let mut tries = 0_u32;
        loop {
            if self.over.load(Ordering::Acquire) {
                return None;
            }
            if let Some(present) = arrivals.present(all) {
                return Some(present);
            }
            tries = tries.wrapping_add(1);
            if tries.is_multiple_of(TRIES) && Instant::now() > until {
                return Some(arrivals.close(all));
            }
        }
    }
}

impl Pair {
    /// Passes the line back and forth; returns the shortest time of a move over batches.
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

    /// A batch; returns whether it finished in time.
    fn batch(&self, turn: u64, until: Instant) -> bool {
        let is_over = || self.enough.0.load(Ordering::Acquire) > 0 || Instant::now() > until;
        swaps::<TRIES>(&self.line, turn, ROUND_TRIPS, &is_over)
    }
}

/// Whether the lowest three are near each other.
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

#[cfg(test)]
mod tests;
