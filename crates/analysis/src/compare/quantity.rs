//! What is compared of each treatment of several studies: a rate, or another figure that a treatment has in every block.
//!
//! A study's own mean of it is that of its blocks' logarithms, and its standard error that of the interval that the
//! report of the study shows (Student's t over blocks, docs/METHODOLOGY.md).

use crate::commands::direction;
use crate::estimate::THROUGHPUT;
use crate::{Direction, Facts, Interval, UNTIL_LEVEL_SHARE, kinds};
use threadwise_statistics::{MeanEstimate, t_quantile};
use threadwise_study::{Stopping, Study};

/// A figure of a treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    /// Its metric's name, as in the JSON of a report: `rows_per_s`, `latency_ns_p99`.
    pub metric: String,
    /// Its name for people: `rows/s`.
    pub name: String,
    /// Which side is better.
    pub direction: Direction,
}

/// What a study of sessions can be compared by, with the name for people and what is better.
const OF_SESSIONS: [(&str, &str, Direction); 6] = [
    (THROUGHPUT, "throughput", Direction::HigherIsBetter),
    ("rows_per_s_per_session", "throughput of a session", Direction::HigherIsBetter),
    ("cpu_ns_per_row", "CPU time of a row", Direction::LowerIsBetter),
    ("latency_ns_p50", "latency p50", Direction::LowerIsBetter),
    ("latency_ns_p99", "latency p99", Direction::LowerIsBetter),
    ("latency_ns_p99_of_slices", "latency p99 of slices", Direction::LowerIsBetter),
];

impl Quantity {
    /// All that a study can be compared by, its headline first.
    pub fn all(facts: &Facts<'_>) -> Vec<Self> {
        if let Some(commands) = &facts.analysis.commands {
            let one = |quantity: &crate::commands::Quantity| Self {
                metric: quantity.metric.clone(),
                name: quantity.name.clone(),
                direction: direction(quantity.better),
            };
            return commands.quantities.iter().map(one).collect();
        }
        let rate = kinds::of(facts.study).nouns(facts.study).rate;
        let one = |(metric, name, direction): (&str, &str, Direction)| Self {
            metric: metric.to_owned(),
            name: if metric == THROUGHPUT { rate } else { name }.to_owned(),
            direction,
        };
        OF_SESSIONS.map(one).to_vec()
    }

    /// The one that is asked for; without a name the headline: throughput, of a command its own. `None` where the study
    /// has none of this name.
    pub fn of(facts: &Facts<'_>, metric: Option<&str>) -> Option<Self> {
        let mut all = Self::all(facts).into_iter();
        match metric {
            Some(metric) => all.find(|one| one.metric == metric),
            None => all.next(),
        }
    }

    /// The figure of a treatment with its interval over blocks; `None` where the study has none.
    pub fn interval<'a>(&self, facts: &Facts<'a>, treatment: &str) -> Option<&'a Interval> {
        let interval = facts.summary(treatment)?.metrics.get(&self.metric)?;
        (interval.mean > 0.0 && interval.mean.is_finite()).then_some(interval)
    }

    /// The mean of its logarithm over the blocks of a study.
    ///
    /// Degenerate cases: one block has an infinite standard error.
    pub fn mean(&self, facts: &Facts<'_>, treatment: &str) -> Option<MeanEstimate> {
        let interval = self.interval(facts, treatment)?;
        let blocks = facts.summary(treatment)?.runs as usize;
        let (mean, degrees) = (interval.mean.ln(), blocks.saturating_sub(1) as f64);
        let t = t_quantile(1.0 - alpha(facts.study) / 2.0, degrees).filter(|_| interval.has_ends());
        Some(match t {
            Some(t) => MeanEstimate {
                n: blocks,
                mean,
                standard_error: (interval.high / interval.mean).ln() / t,
                correlation: 0.0,
                degrees,
            },
            None => {
                MeanEstimate { n: 1, mean, standard_error: f64::INFINITY, correlation: 0.0, degrees: 0.0 }
            }
        })
    }
}

/// 1 less the level of the intervals of a study's treatments.
pub fn alpha(study: &Study) -> f64 {
    let share = match study.design.stopping {
        Stopping::Until { .. } => UNTIL_LEVEL_SHARE,
        Stopping::Budget { .. } | Stopping::Blocks { .. } => 1.0,
    };
    (1.0 - study.design.level) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{machine, run, study};
    use threadwise_statistics::welch;

    #[test]
    fn the_mean_of_a_study_is_that_of_its_blocks() {
        let (study, topology) = (study(&[""], &["P same-package 2"]), machine(1, 2, 1));
        let rows = [1000u64, 1010, 990, 1020, 1005, 1000, 995, 1015];
        let runs: Vec<_> = (0..8u32)
            .flat_map(|block| ["A", "A'", "P"].map(|name| run(block, name, &[rows[block as usize]])))
            .collect();
        let analysis = analyse_on(&study, None, &runs, 1.0);
        let facts = Facts::new(&study, &topology, &analysis);
        let quantity = Quantity::of(&facts, None).unwrap();
        assert_eq!((quantity.metric.as_str(), quantity.name.as_str()), ("rows_per_s", "rows/s"));
        let got = quantity.mean(&facts, "P").unwrap();
        let logs = rows.map(|rows| (rows as f64).ln());
        let wanted = MeanEstimate::correlated(&logs, 0.0).unwrap();
        assert!((got.mean - wanted.mean).abs() < 1e-12 && got.degrees == 7.0);
        assert!((got.standard_error / wanted.standard_error - 1.0).abs() < 1e-9);
        // One value against itself: no ratio of two studies has an interval of one block.
        assert_eq!(welch(&logs[..1], &logs).unwrap().n, 1);
        let one_block = analyse_on(&study, None, &runs[..3], 1.0);
        let one_block = Facts::new(&study, &topology, &one_block);
        assert!(quantity.mean(&one_block, "P").unwrap().standard_error.is_infinite());
        assert_eq!((quantity.mean(&facts, "X"), Quantity::of(&facts, Some("speed"))), (None, None));
    }
}
