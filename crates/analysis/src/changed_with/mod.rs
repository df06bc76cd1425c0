//! What changed with a ratio: clock, cache misses, power, waits and more on both sides of each comparison, paired by block;
//! and which of them move with the ratio from block to block.
//!
//! That a quantity differs between the sides does not say that the ratio is due to it: everything that a placement changes
//! differs. What moves with the ratio across blocks is evidence of another kind, though none of cause. Method:
//! docs/METHODOLOGY.md, "What changed with a ratio".

mod link;
mod pair;
mod quantities;
mod types;
pub mod words;

#[cfg(test)]
mod tests;

pub use link::{Tested, judge_links};
pub use types::{ChangedWith, Compared, Explained, Form, Link, Quantity};

use crate::Interval;
use crate::TreatmentSummary;
use crate::estimate::member::sides;
use crate::estimate::{Digest, Estimate, Observed, THROUGHPUT, paired};
use crate::setting::Setting;
use pair::{Pair, has_difference};
use quantities::{Known, Scale};
use threadwise_statistics::{arithmetic, geometric, mean};
use threadwise_study::tpch;

/// What changed with each comparison of a study; `None` where nothing is known of both sides of any.
pub(crate) fn changed_with(
    setting: &Setting<'_>,
    observed: &Observed,
    treatments: &[TreatmentSummary],
    estimates: &[Estimate],
) -> Option<ChangedWith> {
    let study = setting.study;
    let known = quantities::all(&quantities::waits(treatments.iter().map(|summary| &summary.activity)));
    let pairs: Vec<Pair<'_>> = study
        .comparisons
        .iter()
        .filter_map(|comparison| {
            let (top, below) = sides(study, comparison)?;
            let is_its = |one: &&Estimate| one.metric == THROUGHPUT && one.name == comparison.name;
            Some(Pair { comparison, top, below, estimate: estimates.iter().find(is_its) })
        })
        .collect();
    let not_tested = if study.runs_whole() || study.workload == tpch::WORKLOAD {
        Some("whole runs and queries have no rate of slices")
    } else if !pairs.iter().any(has_difference) {
        Some("no difference of throughput is shown")
    } else {
        None
    };
    let mut comparisons: Vec<Compared> =
        pairs.iter().map(|pair| compared(setting, observed, pair, &known)).collect();
    let tested = match not_tested {
        None => link::add(setting, observed, (&pairs, &known), &mut comparisons),
        Some(_) => 0,
    };
    comparisons.retain(|one| !one.quantities.is_empty());
    let blocks_needed = link::blocks_needed(tested as usize, setting.alpha);
    (!comparisons.is_empty()).then_some(ChangedWith { comparisons, tested, blocks_needed, not_tested })
}

/// The table of a comparison, without links.
fn compared(setting: &Setting<'_>, observed: &Observed, pair: &Pair<'_>, known: &[Known]) -> Compared {
    let of_both: Vec<(&Known, Sides)> =
        known.iter().filter_map(|one| Some((one, Sides::of(observed, pair, one)?))).collect();
    let series: Vec<Vec<f64>> = of_both.iter().map(|(_, sides)| sides.differences()).collect();
    let twins = observed.twins(setting.study).into_iter();
    let twins = twins.flat_map(|(twin, base)| {
        of_both
            .iter()
            .map(move |(one, sides)| observed.differences(twin, &[base], &|run| sides.form(one, run)).d)
    });
    let twins: Vec<Vec<f64>> = twins.collect();
    let changes = paired(&series, &twins, setting.alpha);
    let quantities = of_both.iter().zip(changes).filter_map(|((one, sides), change)| {
        let change = change?.in_unit(sides.unit());
        Some(Quantity {
            metric: one.metric.clone(),
            baseline: sides.mean(one, &sides.baseline, setting.alpha)?,
            treatment: sides.mean(one, &sides.treatment, setting.alpha)?,
            change: if sides.is_ratio { change.ratio() } else { change },
            link: None,
            not_tested: Some(link::why_not(pair, one)),
        })
    });
    let is_different = has_difference(pair);
    Compared {
        comparison: pair.comparison.name.clone(),
        treatment: pair.comparison.treatment.clone(),
        baseline: pair.comparison.baseline.join(" and "),
        answer: if is_different { Explained::NotTested } else { Explained::NoDifference },
        blocks: pair.estimate.map_or(0, |estimate| estimate.ratio.blocks),
        quantities: quantities.collect(),
    }
}

/// A quantity of both sides by block, in the scale in which it is compared.
struct Sides {
    treatment: Vec<f64>,
    baseline: Vec<f64>,
    /// Whether it is compared as a ratio, in logarithms: a value of 0 has none.
    is_ratio: bool,
    scale: Scale,
}

impl Sides {
    /// Of the blocks in which both sides have it; `None` where there are none, or where it is 0 everywhere.
    fn of(observed: &Observed, pair: &Pair<'_>, one: &Known) -> Option<Self> {
        let values: Vec<(f64, Vec<f64>)> = observed
            .blocks
            .iter()
            .filter_map(|block| {
                let side = |at: usize| (one.value)(observed.usable(block, at)?);
                Some((side(pair.top)?, pair.below.iter().map(|at| side(*at)).collect::<Option<_>>()?))
            })
            .collect();
        let all = || values.iter().flat_map(|(top, below)| below.iter().chain([top]));
        if !all().any(|value| *value > 0.0) {
            return None;
        }
        let is_ratio = one.scale == Scale::Ratio && all().all(|value| *value > 0.0);
        let form = |value: f64| scaled(one.scale, is_ratio, value);
        let below = |below: &Vec<f64>| mean(below.iter().map(|value| form(*value)));
        Some(Self {
            treatment: values.iter().map(|(top, _)| form(*top)).collect(),
            baseline: values.iter().filter_map(|(_, values)| below(values)).collect(),
            is_ratio,
            scale: one.scale,
        })
    }

    /// Its value in a run as it is compared.
    fn form(&self, one: &Known, run: &Digest) -> Option<f64> {
        Some(scaled(self.scale, self.is_ratio, (one.value)(run)?))
    }

    fn differences(&self) -> Vec<f64> {
        self.treatment.iter().zip(&self.baseline).map(|(top, below)| top - below).collect()
    }

    fn unit(&self) -> &'static str {
        match self.scale {
            Scale::Points => "points",
            Scale::Ratio => "1",
        }
    }

    fn mean(&self, one: &Known, side: &[f64], alpha: f64) -> Option<Interval> {
        match self.scale {
            _ if self.is_ratio => geometric(side, 1.0, one.unit, alpha),
            Scale::Ratio => arithmetic(side, one.unit, alpha),
            Scale::Points => {
                let shares: Vec<f64> = side.iter().map(|points| points / 100.0).collect();
                let mut share = arithmetic(&shares, one.unit, alpha)?;
                if share.high.is_finite() {
                    share.high = share.high.min(1.0);
                }
                Some(share)
            }
        }
    }
}

fn scaled(scale: Scale, is_ratio: bool, value: f64) -> f64 {
    match scale {
        _ if is_ratio => value.ln(),
        Scale::Ratio => value,
        Scale::Points => 100.0 * value,
    }
}
