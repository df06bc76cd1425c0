//! Points of one workload on one machine, before they are a sweep.

use super::sweep::Measured;
use std::collections::BTreeMap;
use threadwise_statistics::mean;

/// The clock over that of one busy core, by the number of busy cores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clock {
    /// Busy cores and clock, ascending; empty where it is not known.
    pub steps: Vec<(u32, f64)>,
}

impl Clock {
    /// From the number of busy cores and the clock, in any unit, of each point: the clock by busy cores, and that of each
    /// point, over that of the points with the fewest busy cores. Nothing where the clock of any point is not known.
    pub fn of(points: &[(u32, Option<f64>)]) -> (Self, Vec<Option<f64>>) {
        let nothing = (Self::default(), vec![None; points.len()]);
        let mut by_cores: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (cores, clock) in points {
            match clock {
                Some(clock) if *clock > 0.0 && clock.is_finite() => {
                    by_cores.entry(*cores).or_default().push(*clock)
                }
                _ => return nothing,
            }
        }
        let means = by_cores.into_iter().filter_map(|(cores, all)| Some((cores, mean(all.into_iter())?)));
        let means: Vec<(u32, f64)> = means.collect();
        let Some((_, base)) = means.first().copied() else { return nothing };
        let ratios = points.iter().map(|(_, clock)| clock.map(|clock| clock / base)).collect();
        (Self { steps: means.into_iter().map(|(cores, clock)| (cores, clock / base)).collect() }, ratios)
    }

    /// The clock at a number of busy cores: between two that were measured in proportion, beyond the last as there;
    /// `None` where none is known.
    pub fn at(&self, cores: u32) -> Option<f64> {
        let after = self.steps.partition_point(|(known, _)| *known < cores);
        let next = self.steps.get(after).or(self.steps.last())?;
        let before = after.checked_sub(1).and_then(|at| self.steps.get(at)).unwrap_or(next);
        if next.0 <= before.0 || cores >= next.0 {
            return Some(next.1);
        }
        let share = f64::from(cores - before.0) / f64::from(next.0 - before.0);
        Some(before.1 + share * (next.1 - before.1))
    }
}

/// Points of one workload on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name; empty where there is one.
    pub name: String,
    /// Its points.
    pub points: Vec<Measured>,
    /// Number of logical CPUs of each core of the machine, as far as they may be used; where it is not known a core for
    /// each session of the largest point.
    pub threads_of_cores: Vec<u32>,
    /// Whether that machine is known.
    pub is_machine_known: bool,
    /// Most packages that a point is known to keep busy; `None` where nothing says on which its sessions ran.
    pub packages: Option<u32>,
    /// The clock.
    pub clock: Clock,
    /// What is no point, and why, one line each.
    pub left_out: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_between_two_are_in_proportion_and_beyond_the_last_as_there() {
        let clock = Clock { steps: vec![(1, 1.0), (4, 0.94), (8, 0.9)] };
        let seen = [1, 2, 4, 6, 8, 16].map(|cores| clock.at(cores).unwrap());
        for (value, wanted) in seen.into_iter().zip([1.0, 0.98, 0.94, 0.92, 0.9, 0.9]) {
            assert!((value - wanted).abs() < 1e-12, "{seen:?}");
        }
        assert_eq!(Clock::default().at(2), None);
    }

    #[test]
    fn clocks_are_over_that_of_the_fewest_busy_cores() {
        let (clock, ratios) = Clock::of(&[(4, Some(3600.0)), (1, Some(4000.0)), (4, Some(3400.0))]);
        assert_eq!((clock.at(1), clock.at(4)), (Some(1.0), Some(0.875)));
        assert_eq!(ratios, [Some(0.9), Some(1.0), Some(0.85)]);
        assert_eq!(Clock::of(&[(1, Some(1.0)), (2, None)]), (Clock::default(), vec![None, None]));
    }
}
