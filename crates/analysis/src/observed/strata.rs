//! Strata: intervals of like load, and of one hour of the day.

use super::episodes::Episode;
use threadwise_observed::Interval;
use threadwise_statistics::quantile;

/// Loads that differ by less are alike.
const LIKE_LOAD: f64 = 1.5;
/// Episodes as long as this have all hours of the day, so that hours are matched; in shorter ones neighbours in time are
/// compared.
const WHOLE_DAY_NS: u64 = 20 * 3_600_000_000_000;
const HOUR_MS: i64 = 3_600_000;
/// Hours of a day.
pub(super) const HOURS: usize = 24;

/// How intervals are put into strata.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Strata {
    /// The smallest load that counts, in calls per second, if loads differ.
    pub(super) least_load: Option<f64>,
    /// Whether hours of the day are matched.
    pub(super) has_hours: bool,
}

impl Strata {
    /// For intervals with these calls, in these episodes.
    pub(super) fn of(
        intervals: &[Interval<u32>],
        calls: &[u64],
        episodes: &[Episode],
        is_by_day: bool,
    ) -> Self {
        let mut loads: Vec<f64> = episodes
            .iter()
            .flat_map(|one| &one.intervals)
            .map(|at| load(&intervals[*at], calls[*at]))
            .collect();
        loads.sort_by(f64::total_cmp);
        let spread = quantile(&loads, 0.05).zip(quantile(&loads, 0.95));
        let mut lengths: Vec<u64> = episodes.iter().map(|episode| episode.length_ns(intervals)).collect();
        lengths.sort_unstable();
        let is_long = lengths.get(lengths.len() / 2).is_some_and(|length| *length >= WHOLE_DAY_NS);
        Self {
            least_load: spread.filter(|(low, high)| *high > low * LIKE_LOAD).map(|(low, _)| low.max(1e-3)),
            has_hours: is_by_day || is_long,
        }
    }

    /// The stratum of an interval.
    pub(super) fn at(self, interval: &Interval<u32>, calls: u64) -> u32 {
        let of_load = self.least_load.map_or(0, |least| {
            let steps = (load(interval, calls).max(1e-3) / least).ln() / LIKE_LOAD.ln();
            steps.floor().clamp(-20.0, 200.0) as i32 + 20
        });
        let of_hour = if self.has_hours { hour(interval) } else { 0 };
        of_load as u32 * HOURS as u32 + of_hour as u32
    }
}

/// The hour of the day in UTC in which an interval has its middle.
pub(super) fn hour(interval: &Interval<u32>) -> usize {
    let middle = i64::midpoint(interval.start_unix_ms, interval.end_unix_ms);
    (middle.div_euclid(HOUR_MS)).rem_euclid(HOURS as i64) as usize
}

/// Calls of the whole server a second.
fn load(interval: &Interval<u32>, calls: u64) -> f64 {
    calls as f64 / (interval.length_ns as f64 / 1e9).max(1e-9)
}

/// The share of both sides' time that is in the same hours of the day, 0 to 1.
pub(super) fn overlap_of_hours(intervals: &[Interval<u32>], episodes: &[Episode]) -> f64 {
    let mut times = [[0.0; HOURS]; 2];
    for episode in episodes {
        for at in &episode.intervals {
            times[episode.side][hour(&intervals[*at])] += intervals[*at].length_ns as f64;
        }
    }
    let sums = times.map(|hours| hours.iter().sum::<f64>().max(1.0));
    (0..HOURS).map(|hour| (times[0][hour] / sums[0]).min(times[1][hour] / sums[1])).sum()
}
