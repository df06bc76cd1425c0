//! The study's clock: CLOCK_MONOTONIC, which workers read too, less the study's start.
//!
//! Source: `clock_gettime(2)`; the clock is the same for all processes of a machine and stops
//! while the machine is suspended.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// Times since the study's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// CLOCK_MONOTONIC at the study's start in nanoseconds. Negative if a study is resumed
    /// after a reboot, so that time continues where it had stopped.
    pub zero_ns: i64,
}

impl Clock {
    /// A clock that shows `elapsed_ns` now: 0 for a new study, more for a resumed one.
    pub fn resumed(elapsed_ns: u64) -> Self {
        Self { zero_ns: monotonic_ns().saturating_sub(i64::try_from(elapsed_ns).unwrap_or(i64::MAX)) }
    }

    /// Nanoseconds since the study's start.
    pub fn now_ns(self) -> u64 {
        u64::try_from(monotonic_ns().saturating_sub(self.zero_ns)).unwrap_or(0)
    }

    /// Turns a worker's CLOCK_MONOTONIC into time since the study's start; 0 for earlier times.
    pub fn at_ns(self, monotonic_ns: u64) -> u64 {
        let since = i128::from(monotonic_ns) - i128::from(self.zero_ns);
        u64::try_from(since.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_time_is_moved_to_the_studys_start() {
        assert_eq!(Clock { zero_ns: 100 }.at_ns(130), 30);
        assert_eq!(Clock { zero_ns: -100 }.at_ns(30), 130);
        assert_eq!(Clock { zero_ns: 100 }.at_ns(30), 0);
        assert_eq!(Clock { zero_ns: i64::MIN }.at_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_resumed_clock_goes_on() {
        assert!(Clock::resumed(5_000_000_000_000).now_ns() >= 5_000_000_000_000);
    }
}
