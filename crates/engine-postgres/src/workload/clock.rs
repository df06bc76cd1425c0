//! The server's clock relative to this machine's: windows are on CLOCK_MONOTONIC, a loop inside the server only has
//! `clock_timestamp()`.
//!
//! The offset is that of the fastest of several round trips, as in Cristian's algorithm (Distributed
//! Computing 3, 1989): the server read its clock at some time between sending and receiving, so half
//! of the round trip bounds the error.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threadwise_engine::{EngineError, clock};

use crate::error::{failed, query};

/// Round trips of one measurement, at least.
const ROUND_TRIPS: u32 = 20;

/// Round trips of one measurement, at most: more are made while the error of a local server stays above
/// [`MOST_UNCERTAIN_NS`].
const MOST_ROUND_TRIPS: u32 = 400;

/// Largest accepted error of a local server: 2% of a slice of 50 ms.
const MOST_UNCERTAIN_NS: u64 = 1_000_000;

/// Age after which the offset is measured again: the server's clock is a wall clock, which time services
/// steer by up to 500 ppm (adjtimex(2)), 5 ms in this time.
const OLD_NS: u64 = 10_000_000_000;

/// The server's clock relative to CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerClock {
    /// Server's clock minus CLOCK_MONOTONIC, nanoseconds.
    offset_ns: i128,
    /// When it was measured.
    measured_ns: u64,
    /// Largest error of the offset.
    uncertain_ns: u64,
}

impl ServerClock {
    /// Measures the offset.
    ///
    /// # Errors
    /// An error of the server, or a local server that never answers fast enough for an accurate offset.
    pub fn measure(client: &mut postgres::Client, is_local: bool) -> Result<Self, EngineError> {
        let action = "read the server's clock";
        let now = client.prepare("SELECT clock_timestamp()").map_err(|cause| query(action, &cause))?;
        let mut best: Option<Self> = None;
        for trip in 0..MOST_ROUND_TRIPS {
            let is_good = best.is_some_and(|best| best.uncertain_ns <= MOST_UNCERTAIN_NS || !is_local);
            if trip >= ROUND_TRIPS && is_good {
                break;
            }
            let sent_ns = clock::monotonic_ns();
            let row = client.query_one(&now, &[]).map_err(|cause| query(action, &cause))?;
            let received_ns = clock::monotonic_ns();
            let server_ns = since_epoch_ns(row.try_get(0).map_err(|cause| query(action, &cause))?);
            let seen = Self::from_round_trip(sent_ns, server_ns, received_ns);
            if best.is_none_or(|best| seen.uncertain_ns < best.uncertain_ns) {
                best = Some(seen);
            }
        }
        match best {
            Some(best) if best.uncertain_ns <= MOST_UNCERTAIN_NS || !is_local => Ok(best),
            Some(best) => Err(failed(
                "measure the server's clock",
                format!(
                    "the fastest of {MOST_ROUND_TRIPS} round trips took {} us; the machine is too busy",
                    best.uncertain_ns / 500
                ),
            )),
            None => Err(failed("measure the server's clock", "no round trip was made")),
        }
    }

    fn from_round_trip(sent_ns: u64, server_ns: i128, received_ns: u64) -> Self {
        let half_ns = received_ns.saturating_sub(sent_ns) / 2;
        Self {
            offset_ns: server_ns - i128::from(sent_ns + half_ns),
            measured_ns: received_ns,
            // The server's clock has whole microseconds.
            uncertain_ns: half_ns + 1000,
        }
    }

    /// The server's time at a CLOCK_MONOTONIC time, in whole microseconds.
    pub fn server_time(&self, monotonic_ns: u64) -> SystemTime {
        let ns = (i128::from(monotonic_ns) + self.offset_ns).max(0) / 1000 * 1000;
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The CLOCK_MONOTONIC time at a time of the server.
    pub fn monotonic_ns(&self, server: SystemTime) -> u64 {
        u64::try_from(since_epoch_ns(server) - self.offset_ns).unwrap_or(0)
    }

    /// Largest error of the offset, nanoseconds.
    pub fn uncertain_ns(&self) -> u64 {
        self.uncertain_ns
    }

    /// Whether it has to be measured again.
    pub fn is_old(&self) -> bool {
        clock::monotonic_ns().saturating_sub(self.measured_ns) > OLD_NS
    }
}

fn since_epoch_ns(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_over_and_come_back() {
        let clock = ServerClock::from_round_trip(1_000_000, 5_000_100_000, 1_200_000);
        assert_eq!((clock.offset_ns, clock.uncertain_ns), (5_000_100_000 - 1_100_000, 101_000));
        let there = clock.server_time(1_100_000);
        assert_eq!(there, UNIX_EPOCH + Duration::from_nanos(5_000_100_000));
        assert_eq!(clock.monotonic_ns(there), 1_100_000);
        assert_eq!(clock.monotonic_ns(UNIX_EPOCH), 0);
    }
}
