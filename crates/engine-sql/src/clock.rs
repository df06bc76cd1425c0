//! A server's clock relative to this machine's: loops inside the server get their window in server time.
//!
//! Cristian's method ("Probabilistic clock synchronization", 1989): of many requests, the one with the shortest
//! round trip bounds the offset best; half of that round trip is the uncertainty.

use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_engine::EngineError;
use threadwise_engine::clock::monotonic_ns;

/// Requests at least, and at most if the machine is busy.
const ROUNDS: (u32, u32) = (20, 400);

/// Uncertainty below which no more requests are needed, nanoseconds.
const GOOD_NS: i64 = 200_000;

/// Largest uncertainty of a local server: 2% of a slice.
const MOST_NS: i64 = 1_000_000;

/// Uncertainty below which the report has no note, microseconds.
const SMALL_US: u64 = 100;

/// Age after which it is measured again: the clocks drift by less than 50 ppm (NTP slews by up to 500).
const STALE_NS: u64 = 10_000_000_000;

/// Pairs of readings of both clocks of this machine; the closest pair counts.
const NEAR_ROUNDS: u32 = 5;

/// Asks for a server's time in whole microseconds, from an origin of the server's choice.
pub type AskTime<'a> = &'a mut dyn FnMut() -> Result<Option<i64>, EngineError>;

/// The measured offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerClock {
    engine: &'static str,
    /// Server's time minus CLOCK_MONOTONIC, nanoseconds.
    offset_ns: i64,
    /// Bound of the error, nanoseconds.
    uncertainty_ns: i64,
    measured_ns: u64,
}

impl ServerClock {
    /// Measures the clock of an engine's server.
    ///
    /// # Errors
    /// An error of the server; or a local server whose clock is uncertain by more than a millisecond.
    pub fn measure(engine: &'static str, local: bool, ask: AskTime<'_>) -> Result<Self, EngineError> {
        let failed = |why: String| EngineError::Failed {
            engine: engine.to_owned(),
            action: "measure the server's clock".to_owned(),
            why,
        };
        let mut best: Option<Self> = None;
        for round in 0..ROUNDS.1 {
            let before_ns = monotonic_ns();
            let server_us = ask()?;
            let after_ns = monotonic_ns();
            let server_us = server_us.ok_or_else(|| failed("it returned no time".to_owned()))?;
            let clock = Self {
                engine,
                offset_ns: server_us * 1000 - i64::midpoint(before_ns as i64, after_ns as i64),
                uncertainty_ns: (after_ns - before_ns) as i64 / 2,
                measured_ns: after_ns,
            };
            if best.is_none_or(|best| clock.uncertainty_ns < best.uncertainty_ns) {
                best = Some(clock);
            }
            let good = best.is_some_and(|best| best.uncertainty_ns <= if local { MOST_NS } else { i64::MAX });
            let better = best.is_some_and(|best| best.uncertainty_ns <= GOOD_NS);
            if round + 1 >= ROUNDS.0 && (better || (good && round + 1 >= 2 * ROUNDS.0)) {
                break;
            }
        }
        let clock = best.ok_or_else(|| failed("it returned no time".to_owned()))?;
        match local && clock.uncertainty_ns > MOST_NS {
            true => {
                let ms = clock.uncertainty_ns / 1_000_000;
                Err(failed(format!("it is uncertain by {ms} ms; the machine is too busy")))
            }
            false => Ok(clock),
        }
    }

    /// The clock of an engine that reads CLOCK_REALTIME of this machine.
    pub fn of_this_machine(engine: &'static str) -> Self {
        let look = || {
            let before_ns = monotonic_ns();
            // On a machine without a clock the time is before 1970; windows are then empty, which is reported.
            let real_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let after_ns = monotonic_ns();
            (after_ns - before_ns, real_ns as i64 - before_ns.midpoint(after_ns) as i64, after_ns)
        };
        let nearest = (0..NEAR_ROUNDS).map(|_| look()).min().unwrap_or_default();
        Self { engine, offset_ns: nearest.1, uncertainty_ns: 0, measured_ns: nearest.2 }
    }

    /// Measures again if the measurement is too old.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn refresh(&mut self, local: bool, ask: AskTime<'_>) -> Result<(), EngineError> {
        if monotonic_ns() >= self.measured_ns + STALE_NS {
            *self = Self::measure(self.engine, local, ask)?;
        }
        Ok(())
    }

    /// A time on CLOCK_MONOTONIC as the server's microseconds.
    pub fn to_server_us(self, ns: u64) -> i64 {
        (ns as i64 + self.offset_ns).div_euclid(1000)
    }

    /// The server's microseconds on CLOCK_MONOTONIC.
    pub fn monotonic_ns_of(self, us: i64) -> u64 {
        (us * 1000 - self.offset_ns).max(0) as u64
    }

    /// Bound of the error, nanoseconds.
    pub fn uncertainty_ns(self) -> i64 {
        self.uncertainty_ns
    }
}

/// The note for the report, if any. Rounded up, so that runs have the same text.
pub fn uncertainty_note(uncertainty_ns: i64) -> Option<String> {
    let us = uncertainty_ns.unsigned_abs().div_ceil(1000);
    if us <= SMALL_US {
        return None;
    }
    let steps = (2..19).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let rounded = steps.into_iter().find(|step| *step >= us).unwrap_or(us);
    Some(format!("the server's clock is uncertain by {rounded} us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_large_uncertainty_is_reported_and_in_few_words() {
        let said = |ns: i64| uncertainty_note(ns).unwrap_or_default();
        assert_eq!((said(0), said(100_000)), (String::new(), String::new()));
        for (ns, us) in [(100_001, "200"), (200_000, "200"), (200_001, "500"), (7_000_000, "10000")] {
            assert_eq!(said(ns), format!("the server's clock is uncertain by {us} us"));
        }
    }

    #[test]
    fn times_go_there_and_back() {
        let offset_ns = 1_795_313_194_000_000_123;
        let clock = ServerClock { engine: "test", offset_ns, uncertainty_ns: 0, measured_ns: 0 };
        let server = clock.to_server_us(5_000_000_877);
        assert_eq!(server, 1_795_313_199_000_001);
        assert_eq!(clock.monotonic_ns_of(server), 5_000_000_877);
        assert_eq!(clock.monotonic_ns_of(0), 0);
    }

    #[test]
    fn a_server_that_gives_no_time_or_fails_is_an_error_and_a_quick_one_is_asked_twenty_times() {
        let mut asked = 0_i64;
        let mut ask = || {
            asked += 1;
            Ok(Some(asked * 1_000_000_000))
        };
        assert!(ServerClock::measure("test", false, &mut ask).is_ok());
        assert!((20..=400).contains(&asked), "{asked}");
        let none = ServerClock::measure("test", false, &mut || Ok(None)).unwrap_err().to_string();
        assert!(none.contains("test could not measure the server's clock: it returned no time"), "{none}");
        let broken = EngineError::WrongAnswer("x".into());
        assert_eq!(ServerClock::measure("test", true, &mut || Err(broken.clone())), Err(broken));
    }
}
