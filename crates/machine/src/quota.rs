//! CPU quotas: when busy CPUs exceed one, and how slices fit its periods.
//!
//! Source: kernel `Documentation/scheduler/sched-bwc.rst`. A control group may use its quota in each period;
//! when that is used up, all its threads are throttled until the next one. Slices that share a period affect each
//! other, so slices are whole multiples of the period, with idle periods before each until the quota is full
//! again, and the load runs unmeasured for at least one period before the window, so that a window holds as many
//! refills as periods wherever in a period it begins.

use serde::{Deserialize, Serialize};

/// Fewest periods of a slice: one period more or less then changes a tenth.
const PERIODS_A_SLICE: u64 = 10;
/// Most periods that the load runs before a window, to use up the saved time.
const MOST_PERIODS_BEFORE: u64 = 10;

/// A CPU quota: the CPU time that a control group may use in each period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// CPU time a period, in CPUs (1.5 = 150 ms in 100 ms).
    pub cpus: f64,
    /// Length of a period, nanoseconds.
    pub period_ns: u64,
    /// CPU time, nanoseconds, that unused periods may save up.
    pub burst_ns: u64,
}

impl Quota {
    /// From the values of the kernel's files, microseconds. A limit or period of 0, which the kernel does not write,
    /// means no quota.
    pub(crate) fn of_us(limit_us: u64, period_us: u64, burst_us: u64) -> Option<Self> {
        let cpus = limit_us as f64 / period_us as f64;
        let [period_ns, burst_ns] = [period_us, burst_us].map(|us| us.saturating_mul(1_000));
        (limit_us > 0 && period_us > 0).then_some(Self { cpus, period_ns, burst_ns })
    }

    /// Whether so many busy logical CPUs use up the quota. As many as it has do: the rest of the container needs CPU
    /// time too.
    pub fn is_beyond(&self, busy_cpus: usize) -> bool {
        busy_cpus as f64 >= self.cpus
    }

    /// Number of whole CPUs that it is worth.
    pub fn whole_cpus(&self) -> u32 {
        // A float that is too large saturates.
        self.cpus.floor() as u32
    }

    /// How long to idle before a slice: the rest of the current period, one in which a debt is paid, and those that
    /// fill what may be saved.
    pub fn idle_ns(&self) -> u64 {
        let saving = (self.burst_ns as f64 / (self.cpus * self.period_ns as f64)).ceil() as u64;
        self.period_ns.saturating_mul(saving.saturating_add(2))
    }

    /// A slice of at least `asked_ns` that is a whole multiple of the period.
    pub fn slice_ns(&self, asked_ns: u64) -> u64 {
        let periods = asked_ns.div_ceil(self.period_ns).max(PERIODS_A_SLICE);
        self.period_ns.saturating_mul(periods)
    }

    /// How long the load of up to `busy_cpus` logical CPUs runs before a window.
    pub fn rewarm_ns(&self, busy_cpus: usize) -> u64 {
        let excess_ns = (busy_cpus as f64 - self.cpus).max(0.1) * self.period_ns as f64;
        let saved = (self.burst_ns as f64 / excess_ns).ceil() as u64;
        self.period_ns.saturating_mul(saved.saturating_add(1).min(MOST_PERIODS_BEFORE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn quota(cpus: f64, period_ms: u64, burst_ms: u64) -> Quota {
        Quota { cpus, period_ns: period_ms * MS, burst_ns: burst_ms * MS }
    }

    #[test]
    fn as_many_cpus_as_the_quota_are_beyond_it() {
        let quota = quota(1.5, 100, 0);
        assert!(!quota.is_beyond(1) && quota.is_beyond(2));
        assert!(Quota { cpus: 2.0, ..quota }.is_beyond(2), "nothing is left for the rest");
        assert_eq!((quota.whole_cpus(), Quota { cpus: 0.5, ..quota }.whole_cpus()), (1, 0));
    }

    #[test]
    fn slices_are_whole_periods_ten_at_the_least() {
        let long = quota(1.5, 100, 0);
        assert_eq!((long.slice_ns(50 * MS), long.slice_ns(1_001 * MS)), (1_000 * MS, 1_100 * MS));
        assert_eq!(quota(1.5, 5, 0).slice_ns(52 * MS), 55 * MS);
        assert_eq!((long.idle_ns(), long.rewarm_ns(2)), (200 * MS, 100 * MS));
    }

    #[test]
    fn what_may_be_saved_is_filled_before_and_used_up_before_the_window() {
        // 150 ms a period, 75 saved: one idle period more; 50 too many a period: two more until it is gone.
        let saving = quota(1.5, 100, 75);
        assert_eq!((saving.idle_ns(), saving.rewarm_ns(2)), (300 * MS, 300 * MS));
        assert_eq!(quota(2.0, 100, 200).rewarm_ns(2), 1_000 * MS, "no longer than ten periods");
    }
}
