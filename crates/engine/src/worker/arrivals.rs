//! Arrivals: when requests are due, and which session takes the next one.
//!
//! All sessions of a treatment take requests from one schedule, in order: a free one takes the next request and sleeps
//! until it is due, so that requests wait only while all sessions are busy. That is a queue with c servers, first come,
//! first served (M/M/c, where arrivals are Poisson and service is exponential). The schedule does not depend on how fast
//! they are served.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::{Mutex, PoisonError};
use threadwise_study::Counters;
use threadwise_study::arrivals::{DUE, UNSERVED};

/// Longest time after a window's end in which requests that were due inside it are still served.
const MOST_EXTRA_NS: u64 = 2_000_000_000;

/// Stream of the seed's generator for distances of requests: numbers of sessions and PHASE_STREAM of the sampler, which
/// may have the same seed, are others.
const ARRIVALS_STREAM: u64 = u64::MAX - 1;

/// A rate at which requests arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Mean distance of two requests, nanoseconds.
    gap_ns: f64,
    /// Whether distances are exponential rather than equal.
    is_poisson: bool,
}

impl Rate {
    /// So many requests a second, more than 0: as a Poisson process, or at equal distances.
    pub fn new(per_s: f64, is_poisson: bool) -> Self {
        Self { gap_ns: 1e9 / per_s, is_poisson }
    }
}

/// Requests of a window, and of the time before it in which the queue settles.
#[derive(Debug)]
pub struct Arrivals {
    start_ns: u64,
    end_ns: u64,
    /// The moment from which on no further request is begun.
    give_up_ns: u64,
    seed: u64,
    schedule: Mutex<Schedule>,
}

#[derive(Debug)]
struct Schedule {
    rate: Rate,
    random: ChaCha8Rng,
    /// When the next request is due, from `from_ns` on.
    next_ns: f64,
    from_ns: u64,
    taken: u64,
    due: u64,
    unserved: u64,
}

impl Schedule {
    /// When the next request is due; takes it.
    fn take(&mut self) -> u64 {
        let due_ns = self.from_ns.saturating_add(self.next_ns as u64);
        self.advance();
        due_ns
    }

    fn advance(&mut self) {
        let gaps = match self.rate.is_poisson {
            // An exponential number by inversion; 53 bits, never 0.
            true => -(((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln(),
            false => 1.0,
        };
        self.next_ns += gaps * self.rate.gap_ns;
    }
}

/// What a schedule gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A request that is due at this moment of CLOCK_MONOTONIC.
    Due(u64),
    /// No further request is due before the window's end, or the others were given up.
    Over,
}

impl Arrivals {
    /// The arrivals of a window, which begin at `from_ns`: a pure function of the rate, the seed and the times.
    pub fn new(rate: Rate, seed: u64, from_ns: u64, [start_ns, end_ns]: [u64; 2]) -> Self {
        let extra_ns = end_ns.saturating_sub(start_ns).min(MOST_EXTRA_NS);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(ARRIVALS_STREAM);
        let mut schedule = Schedule { rate, random, next_ns: 0.0, from_ns, taken: 0, due: 0, unserved: 0 };
        schedule.advance();
        Self {
            start_ns,
            end_ns,
            give_up_ns: end_ns.saturating_add(extra_ns),
            seed,
            schedule: Mutex::new(schedule),
        }
    }

    /// The same arrivals from the beginning, for a model that computes all sessions of a window in each of them.
    pub(crate) fn again(&self) -> Self {
        let (rate, from_ns) = {
            let schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
            (schedule.rate, schedule.from_ns)
        };
        Self::new(rate, self.seed, from_ns, [self.start_ns, self.end_ns])
    }

    /// When arrivals begin.
    pub(crate) fn begin_ns(&self) -> u64 {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner).from_ns
    }

    /// Takes the next request for a session that is free now.
    pub fn next(&self, now_ns: u64) -> Next {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let is_given_up = now_ns >= self.give_up_ns;
        loop {
            let due_ns = schedule.take();
            if due_ns >= self.end_ns {
                // The others find the end, too.
                schedule.next_ns = f64::INFINITY;
                return Next::Over;
            }
            schedule.taken += 1;
            let is_counted = due_ns >= self.start_ns;
            schedule.due += u64::from(is_counted);
            if !is_given_up {
                return Next::Due(due_ns);
            }
            schedule.unserved += u64::from(is_counted);
        }
    }

    /// Whether a request that is due at this moment counts.
    pub fn is_counted(&self, due_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&due_ns)
    }

    /// Requests of the window that were due and that were given up, as counters of the slice; `None` if no session took a
    /// request, so that the loop was not one of arrivals.
    pub fn counters(&self) -> Option<Counters> {
        let schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = schedule.next_ns == f64::INFINITY;
        (schedule.taken > 0 || is_over).then(|| {
            Counters::from([(DUE.to_owned(), schedule.due), (UNSERVED.to_owned(), schedule.unserved)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_do_not_repeat_what_the_first_session_draws() {
        let arrivals = Arrivals::new(Rate::new(1000.0, true), 7, 0, [0, u64::MAX]);
        let due = |_| match arrivals.next(0) {
            Next::Due(due_ns) => due_ns,
            Next::Over => panic!("over"),
        };
        let found: Vec<u64> = (0..100).map(due).collect();
        // Streams of sessions are their numbers.
        for session in 0..3 {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            random.set_stream(session);
            let mut at_ns = 0.0;
            let mut next = || {
                at_ns -= (((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln() * 1e6;
                at_ns as u64
            };
            let same = found.iter().filter(|due_ns| **due_ns == next()).count();
            assert_eq!(same, 0, "session {session}");
        }
    }
}
