//! Points of a sweep, as they are fitted, and errors in them.

use super::load::Load;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_statistics::{mean, summary};

/// Fewest different loads for a curve.
pub const FEWEST_LOADS: usize = 3;

/// Throughput at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its name.
    pub label: String,
    /// The load.
    pub load: Load,
    /// Natural logarithm of throughput, one value per block; one for data without blocks.
    pub log_rates: Vec<f64>,
}

/// Points of one workload on one machine, all with the same blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    points: Vec<Measured>,
}

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// Too few points.
    #[error(
        "a scaling law needs at least {FEWEST_LOADS} different numbers of busy sessions, and these are {0}: measure more of them"
    )]
    FewLoads(usize),
    /// Points that do not separate the law's numbers, or leave nothing to estimate the misfit.
    #[error(
        "{loads} different loads do not determine the {numbers} numbers of the law{}: measure more numbers of sessions",
        if *has_blocks { "" } else { " and the misfit" }
    )]
    FewPoints {
        /// Different loads.
        loads: usize,
        /// Numbers of the law.
        numbers: usize,
        /// Whether points have blocks.
        has_blocks: bool,
    },
    /// A throughput that has no logarithm.
    #[error("the throughput at {0} sessions is not above 0")]
    NotPositive(u32),
    /// Blocks that differ from point to point.
    #[error("points do not all have the same blocks, which a law is fitted to: measure them in one study")]
    Blocks,
    /// No search ended.
    #[error("no law fits: check the figures for errors")]
    NoFit,
}

impl Sweep {
    /// Combines points, in the order of their sessions. Two of the same load are two points.
    ///
    /// # Errors
    /// Fewer than three different loads, a throughput that is not above 0, points of different blocks.
    pub fn new(points: Vec<Measured>) -> Result<Self, SweepError> {
        let sweep = Self::of_few(points)?;
        match sweep.loads() {
            FEWEST_LOADS.. => Ok(sweep),
            few => Err(SweepError::FewLoads(few)),
        }
    }

    /// Combines points with fewer loads, whose law others have to show.
    ///
    /// # Errors
    /// A throughput that is not above 0, points of different blocks.
    pub fn of_few(mut points: Vec<Measured>) -> Result<Self, SweepError> {
        let blocks = points.first().map_or(0, |point| point.log_rates.len());
        if points.iter().any(|point| point.log_rates.len() != blocks) || blocks == 0 && !points.is_empty() {
            return Err(SweepError::Blocks);
        }
        let is_bad = |point: &&Measured| point.log_rates.iter().any(|rate| !rate.is_finite());
        if let Some(bad) = points.iter().find(is_bad) {
            return Err(SweepError::NotPositive(bad.load.sessions));
        }
        points.sort_by(|one, other| one.load.place().cmp(&other.load.place()));
        Ok(Self { points })
    }

    /// All points.
    pub fn points(&self) -> &[Measured] {
        &self.points
    }

    /// Blocks that every point has.
    pub fn blocks(&self) -> usize {
        self.points.first().map_or(0, |point| point.log_rates.len())
    }

    /// Different loads.
    pub fn loads(&self) -> usize {
        self.load_numbers().last().map_or(0, |last| last + 1)
    }

    /// Different loads in which some core has more than one busy thread.
    pub fn sibling_loads(&self) -> usize {
        let with = self.points.iter().filter(|point| point.load.widest() > 1);
        with.map(|point| point.load.place()).collect::<BTreeSet<_>>().len()
    }

    /// Most busy threads of one core.
    pub fn widest(&self) -> u32 {
        self.points.iter().map(|point| point.load.widest()).max().unwrap_or(0)
    }

    /// Largest number of sessions, at least 2.
    pub fn largest(&self) -> f64 {
        self.points.iter().map(|point| f64::from(point.load.sessions)).fold(2.0, f64::max)
    }

    /// For each point the index of its load, from 0, in their order.
    pub fn load_numbers(&self) -> Vec<usize> {
        let loads = self.points.chunk_by(|one, other| one.load.place() == other.load.place()).enumerate();
        loads.flat_map(|(number, points)| vec![number; points.len()]).collect()
    }

    /// The points of some of the different loads.
    pub fn with_loads(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let each = self.points.iter().zip(self.load_numbers());
        Self { points: each.filter(|(_, load)| is_kept(*load)).map(|(point, _)| point.clone()).collect() }
    }

    /// Mean over blocks of each point's logarithm, over the given blocks (some may come twice).
    pub fn means(&self, blocks: &[usize]) -> Vec<f64> {
        let count = blocks.len() as f64;
        let mean = |point: &Measured| blocks.iter().map(|block| point.log_rates[*block]).sum::<f64>() / count;
        self.points.iter().map(mean).collect()
    }

    /// Standard error of each point's mean, without what moves a block as a whole, which λ takes up; `None` with fewer
    /// than two blocks.
    ///
    /// Half of each variance is the point's and half the mean of all, since few blocks say little about one variance.
    pub fn standard_errors(&self) -> Option<Vec<f64>> {
        let (blocks, points) = (self.blocks(), self.points.len());
        if blocks < 2 {
            return None;
        }
        let of_block = |block: usize| self.points.iter().map(|point| point.log_rates[block]).sum::<f64>();
        let shared: Vec<f64> = (0..blocks).map(|block| of_block(block) / points as f64).collect();
        let variance = |point: &Measured| {
            let rest: Vec<f64> =
                point.log_rates.iter().zip(&shared).map(|(rate, mean)| rate - mean).collect();
            summary(&rest).map_or(0.0, |all| all.sd * all.sd)
        };
        let variances: Vec<f64> = self.points.iter().map(variance).collect();
        let pooled = variances.iter().sum::<f64>() / points as f64;
        Some(variances.iter().map(|each| (f64::midpoint(*each, pooled) / blocks as f64).sqrt()).collect())
    }
}

/// The clock over that of one busy core, by the number of busy cores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clock {
    /// Busy cores and clock, ascending; empty if unknown.
    pub steps: Vec<(u32, f64)>,
}

impl Clock {
    /// From the number of busy cores and the clock of each point, in any unit: the clock by busy cores, and that of
    /// each point, over that of the points with the fewest busy cores. Empty if the clock of any point is unknown.
    pub fn of(points: &[(u32, Option<f64>)]) -> (Self, Vec<Option<f64>>) {
        let nothing = (Self::default(), vec![None; points.len()]);
        let mut by_cores: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (cores, clock) in points {
            let known = clock.filter(|clock| *clock > 0.0 && clock.is_finite());
            let Some(clock) = known else { return nothing };
            by_cores.entry(*cores).or_default().push(clock);
        }
        let means = by_cores.into_iter().filter_map(|(cores, all)| Some((cores, mean(all.into_iter())?)));
        let means: Vec<(u32, f64)> = means.collect();
        let Some((_, base)) = means.first().copied() else { return nothing };
        let ratios = points.iter().map(|(_, clock)| clock.map(|clock| clock / base)).collect();
        (Self { steps: means.into_iter().map(|(cores, clock)| (cores, clock / base)).collect() }, ratios)
    }

    /// The clock at a number of busy cores: interpolated between two measured numbers, constant beyond the last; `None`
    /// if none is known.
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
    /// Its name; empty if there is one.
    pub name: String,
    /// Its points.
    pub points: Vec<Measured>,
    /// Number of logical CPUs of each core of the machine, as far as they may be used; if unknown, one core for each
    /// session of the largest point.
    pub threads_of_cores: Vec<u32>,
    /// Whether that machine is known.
    pub is_machine_known: bool,
    /// Most packages that a point is known to keep busy; `None` if unknown.
    pub packages: Option<u32>,
    /// The clock.
    pub clock: Clock,
    /// What is not a point, and why, one per line.
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
