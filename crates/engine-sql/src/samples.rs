//! Samples of what sessions wait for, at 20 Hz: one session at one time each.
//!
//! The first sample of a window comes at a random time within the period, so that samples are spread evenly over a
//! slice of any length. Outside of the window sessions rest, and their waits are threadwise's own.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::{EngineError, Window};
use threadwise_study::Counters;

/// Time between two looks.
const PERIOD_NS: u64 = 50_000_000;

/// Stream of the seed's generator for the phases.
const PHASE_STREAM: u64 = u64::MAX;

/// Samples one treatment.
#[derive(Debug)]
pub struct Sampler {
    phases: ChaCha8Rng,
}

impl Sampler {
    /// The seed draws the phases.
    pub fn new(seed: u64) -> Self {
        let mut phases = ChaCha8Rng::seed_from_u64(seed);
        phases.set_stream(PHASE_STREAM);
        Self { phases }
    }

    /// Samples the sessions that are `at_work` until the window's end, or until none works, or `look` says that it
    /// cannot see. Adds `waits/NAME`, with `running` for work, and `waits_sampled` to `counters`. `sleep` until a time
    /// may end sooner when no session works.
    ///
    /// # Errors
    /// That of `look`.
    pub fn watch(
        &mut self,
        window: &Window,
        sleep: impl Fn(u64),
        at_work: impl Fn() -> Vec<i64>,
        mut look: impl FnMut(&[i64]) -> Result<Option<Vec<String>>, EngineError>,
        counters: &mut Counters,
    ) -> Result<(), EngineError> {
        let mut at_ns = window.start_ns + self.phases.next_u64() % PERIOD_NS;
        while at_ns < window.end_ns {
            sleep(at_ns);
            let ids = at_work();
            if ids.is_empty() {
                break;
            }
            let Some(waits) = look(&ids)? else { break };
            let now_ns = monotonic_ns();
            // A late answer is about the time between windows.
            if now_ns < window.end_ns && at_work().len() == ids.len() {
                waits.iter().for_each(|wait| add(counters, wait));
            }
            at_ns = (at_ns + PERIOD_NS).max(now_ns);
        }
        Ok(())
    }
}

fn add(counters: &mut Counters, wait: &str) {
    for name in [format!("waits/{wait}"), "waits_sampled".to_owned()] {
        *counters.entry(name).or_insert(0) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use threadwise_engine::clock::sleep_until_ns;

    fn window(length_ms: u64) -> Window {
        let start_ns = monotonic_ns();
        Window {
            sequence: 0,
            start_ns,
            end_ns: start_ns + length_ms * 1_000_000,
            piece_ns: None,
            arrivals: None,
        }
    }

    #[test]
    fn every_sample_counts_twice_and_none_is_none() {
        let looks = Cell::new(0);
        let mut counters = Counters::new();
        let look = |ids: &[i64]| {
            looks.set(looks.get() + 1);
            assert_eq!(ids, [4, 7]);
            Ok((looks.get() < 3).then(|| vec!["running".to_owned(), "WRITELOG".to_owned()]))
        };
        Sampler::new(1).watch(&window(60_000), sleep_until_ns, || vec![4, 7], look, &mut counters).unwrap();
        let wanted = [("waits/WRITELOG", 2), ("waits/running", 2), ("waits_sampled", 4)];
        assert_eq!(counters, wanted.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn what_comes_late_or_when_a_session_is_done_is_not_counted() {
        let mut counters = Counters::new();
        let (long, calls) = (window(60_000), Cell::new(0));
        let at_work = || {
            calls.set(calls.get() + 1);
            if calls.get() == 1 { vec![1] } else { Vec::new() }
        };
        let look = |_: &[i64]| Ok(Some(vec!["running".to_owned()]));
        Sampler::new(1).watch(&long, sleep_until_ns, at_work, look, &mut counters).unwrap();
        assert!(calls.get() == 3 && counters.is_empty(), "{counters:?}");
        let short = window(80);
        let late = |_: &[i64]| {
            sleep_until_ns(short.end_ns);
            Ok(Some(vec!["running".to_owned()]))
        };
        Sampler::new(1).watch(&short, sleep_until_ns, || vec![1], late, &mut counters).unwrap();
        assert!(counters.is_empty(), "{counters:?}");
    }
}
