//! The server's clock against ours: loops inside the server are told their window in it.
//!
//! Cristian's method ("Probabilistic clock synchronization", 1989): of many questions, the one with the
//! shortest round trip bounds the offset best; half of that round trip is the uncertainty. The clock is
//! SYSUTCDATETIME, which never jumps for a change to daylight saving time.

use threadwise_engine::EngineError;
use threadwise_engine::clock::monotonic_ns;

use crate::client::connect::Connection;
use crate::client::error::query;
use crate::client::statements::column;
use crate::failed;

/// Microseconds since 2020 on the server's clock.
const NOW: &str = include_str!("../../sql/now.sql");

/// Questions at least, and at most where the machine is busy.
const ROUNDS: (u32, u32) = (20, 400);

/// Uncertainty that is good enough to stop asking.
const GOOD_NS: i64 = 200_000;

/// Uncertainty that a near server may have: 2% of a slice.
const MOST_NS: i64 = 1_000_000;

/// Uncertainty that a reader need not know of, microseconds.
const SMALL_US: u64 = 100;

/// Age at which it is measured again: the clocks drift by less than 50 ppm (NTP slews by up to 500).
const STALE_NS: u64 = 10_000_000_000;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerClock {
    /// Server's time minus CLOCK_MONOTONIC, nanoseconds.
    offset_ns: i64,
    /// At most this far off, nanoseconds.
    pub uncertainty_ns: i64,
    measured_ns: u64,
}

impl ServerClock {
    /// Asks the server.
    ///
    /// # Errors
    /// The server's; or a near server whose clock cannot be known to a millisecond.
    pub(crate) fn measure(connection: &mut Connection, near: bool) -> Result<Self, EngineError> {
        let action = "compare the server's clock";
        let mut best: Option<Self> = None;
        for round in 0..ROUNDS.1 {
            let before_ns = monotonic_ns();
            let rows = connection.rows(NOW).map_err(|cause| query(action, &cause))?;
            let after_ns = monotonic_ns();
            let server_us: Option<i64> = rows.first().and_then(|row| column(row, 0));
            let server_us = server_us.ok_or_else(|| failed(action, "it gives no time"))?;
            let clock = Self {
                offset_ns: server_us * 1000 - i64::midpoint(before_ns as i64, after_ns as i64),
                uncertainty_ns: (after_ns - before_ns) as i64 / 2,
                measured_ns: after_ns,
            };
            if best.is_none_or(|best| clock.uncertainty_ns < best.uncertainty_ns) {
                best = Some(clock);
            }
            let good = best.is_some_and(|best| best.uncertainty_ns <= if near { MOST_NS } else { i64::MAX });
            let better = best.is_some_and(|best| best.uncertainty_ns <= GOOD_NS);
            if round + 1 >= ROUNDS.0 && (better || (good && round + 1 >= 2 * ROUNDS.0)) {
                break;
            }
        }
        let clock = best.ok_or_else(|| failed(action, "it gives no time"))?;
        match near && clock.uncertainty_ns > MOST_NS {
            true => {
                let ms = clock.uncertainty_ns / 1_000_000;
                Err(failed(
                    action,
                    format!("it is not known to better than {ms} ms; the machine is too busy"),
                ))
            }
            false => Ok(clock),
        }
    }

    /// Measures again when too long ago.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub(crate) fn refresh(&mut self, connection: &mut Connection, near: bool) -> Result<(), EngineError> {
        if monotonic_ns() >= self.measured_ns + STALE_NS {
            *self = Self::measure(connection, near)?;
        }
        Ok(())
    }

    /// A time on CLOCK_MONOTONIC as the server's microseconds since 2020.
    pub(crate) fn to_server_us(self, ns: u64) -> i64 {
        (ns as i64 + self.offset_ns).div_euclid(1000)
    }
}

/// What a reader must know of an uncertainty, if anything. Rounded up, so that runs say the same.
pub(super) fn uncertainty_note(uncertainty_ns: i64) -> Option<String> {
    let us = uncertainty_ns.unsigned_abs().div_ceil(1000);
    if us <= SMALL_US {
        return None;
    }
    let steps = (2..19).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let rounded = steps.into_iter().find(|step| *step >= us).unwrap_or(us);
    Some(format!("the server's clock is known to {rounded} us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_large_uncertainty_is_reported_and_in_few_words() {
        let said = |ns: i64| uncertainty_note(ns).unwrap_or_default();
        assert_eq!((said(0), said(100_000)), (String::new(), String::new()));
        assert_eq!(said(200_001), "the server's clock is known to 500 us");
    }

    #[test]
    fn times_become_the_servers() {
        let clock = ServerClock { offset_ns: 217_000_000_000_000_123, uncertainty_ns: 0, measured_ns: 0 };
        assert_eq!(clock.to_server_us(5_000_000_877), 217_000_005_000_001);
    }
}
