//! Waits of the sessions, sampled from `pg_stat_activity` at 20 Hz.
//!
//! The first sample of a window comes at a random time within the period, so that samples are spread evenly over a
//! slice of any length. The server's clock dates a sample: outside of the window the sessions rest, and their waits
//! (`Client:ClientRead`) are threadwise's own.

use postgres::{Client, Statement};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::SystemTime;
use threadwise_engine::{EngineError, Window};
use threadwise_study::Counters;

use super::shared::{Shared, monotonic_ns};
use crate::error::query;

/// 20 Hz.
const PERIOD_NS: u64 = 50_000_000;

/// A session without a CPU counts as running too: to the server it does not wait.
const SQL: &str = "SELECT clock_timestamp(), coalesce(wait_event_type || ':' || wait_event, 'running') \
                   FROM pg_stat_activity WHERE pid = ANY($1)";

/// Samples waits on a separate connection.
pub struct Sampler {
    look: Statement,
    phase: ChaCha8Rng,
}

impl Sampler {
    /// Prepares sampling; the seed draws the phases.
    ///
    /// # Errors
    /// An error of the server.
    pub fn prepare(client: &mut Client, seed: u64) -> Result<Self, EngineError> {
        let look = client.prepare(SQL).map_err(|cause| query("prepare the sampling of waits", &cause))?;
        Ok(Self { look, phase: ChaCha8Rng::seed_from_u64(seed) })
    }

    /// Samples the processes of the working sessions until the window's end, or until none works: adds
    /// `waits/TYPE:EVENT`, `waits/running` and `waits_sampled` to `counters`.
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn watch(
        &mut self,
        client: &mut Client,
        window: &Window,
        at_work: &Shared,
        counters: &mut Counters,
    ) -> Result<(), EngineError> {
        let mut next_ns = window.start_ns + self.phase.next_u64() % PERIOD_NS;
        while next_ns < window.end_ns {
            // A fixed amount of work may be done before the window's end.
            at_work.sleep_until_ns(next_ns);
            let pids = at_work.at_work();
            if pids.is_empty() {
                break;
            }
            for (at, wait) in self.sample(client, &pids)? {
                let at_ns = monotonic_ns(at_work.clock(), at);
                if (window.start_ns..window.end_ns).contains(&at_ns) {
                    add(counters, &wait);
                }
            }
            next_ns += PERIOD_NS;
        }
        Ok(())
    }

    /// The current waits of the processes, by the server's time.
    ///
    /// # Errors
    /// An error of the server.
    pub fn sample(
        &self,
        client: &mut Client,
        pids: &[i32],
    ) -> Result<Vec<(SystemTime, String)>, EngineError> {
        let action = "sample waits";
        let rows = client.query(&self.look, &[&pids]).map_err(|cause| query(action, &cause))?;
        rows.iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .collect::<Result<_, postgres::Error>>()
            .map_err(|cause| query(action, &cause))
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

    #[test]
    fn every_sample_counts_twice() {
        let mut counters = Counters::new();
        for wait in ["running", "LWLock:WALWrite", "running"] {
            add(&mut counters, wait);
        }
        let wanted = [("waits/LWLock:WALWrite", 1), ("waits/running", 2), ("waits_sampled", 3)];
        assert_eq!(counters, wanted.map(|(name, count)| (name.to_owned(), count)).into());
    }
}
