//! How much of the spread of ratios states explain, and what is left without them.
//!
//! Source: analysis of covariance within blocks, with R² adjusted for the number of regressors (Theil, *Economic
//! Forecasts and Policy*, 1961); interval by the jackknife over blocks (Efron, Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, chapter 11).

use super::contrast::Contrast;
use super::rows::{Round, Row};
use super::states::LookState;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::Interval;
use threadwise_statistics::{MeanEstimate, t_quantile};

/// Effect of states on the spread of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// Share of the variance (slightly below 0 if states explain nothing) of ln(A′/A) between rounds of a block that the states before both explain.
    pub twin: Option<Interval>,
    /// Share for the ratio, by the states before the treatment's slice and the baselines'.
    pub ratio: Option<Interval>,
    /// The ratio over all complete rounds.
    #[serde(rename = "all")]
    pub raw: Option<Contrast>,
    /// The ratio over rounds in which the looks before all three slices were clear.
    pub clear: Option<Contrast>,
}

/// States that explain; clear is the reference.
const EXPLAINING: [LookState; 4] =
    [LookState::SameCore, LookState::Neighbour, LookState::Away, LookState::Unknown];

/// A round's number and its regressors: whether each state was there before each of two sides.
struct Point {
    y: f64,
    x: [f64; 2 * EXPLAINING.len()],
}

impl Spread {
    /// From complete rounds; intervals at level 1 − `alpha`.
    pub fn new(rounds: &[Round], alpha: f64) -> Self {
        let of_twin = |round: &Round| {
            let [a, twin] = &round.baselines;
            Point { y: twin.amount.log_rate() - a.amount.log_rate(), x: regressors(&[twin], &[a]) }
        };
        let of_ratio = |round: &Round| {
            let [a, twin] = &round.baselines;
            Point { y: log_ratio(round), x: regressors(&[&round.treatment], &[a, twin]) }
        };
        let clear = |round: &&Round| {
            let [a, twin] = &round.baselines;
            [&round.treatment, a, twin].iter().all(|row| row.before == Some(LookState::Clear))
        };
        Self {
            twin: explained(rounds, of_twin, alpha),
            ratio: explained(rounds, of_ratio, alpha),
            raw: mean_ratio(rounds.iter(), alpha),
            clear: mean_ratio(rounds.iter().filter(clear), alpha),
        }
    }
}

fn log_ratio(round: &Round) -> f64 {
    let [a, twin] = round.baselines.map(|row| row.amount.log_rate());
    round.treatment.amount.log_rate() - (a + twin) / 2.0
}

/// d of each block is the mean over its rounds, as everywhere; blocks have equal weight.
fn mean_ratio<'r>(rounds: impl Iterator<Item = &'r Round>, alpha: f64) -> Option<Contrast> {
    let mut blocks: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for round in rounds {
        let (sum, count) = blocks.entry(round.treatment.block).or_default();
        *sum += log_ratio(round);
        *count += 1.0;
    }
    let d: Vec<f64> = blocks.values().map(|(sum, count)| sum / count).collect();
    Some(Contrast::new(&MeanEstimate::of(&d)?, alpha))
}

/// Shares of the slices of the sides above and below that have each state.
fn regressors(above: &[&Row], below: &[&Row]) -> [f64; 2 * EXPLAINING.len()] {
    let share = |rows: &[&Row], state| {
        rows.iter().filter(|row| row.before == Some(state)).count() as f64 / rows.len() as f64
    };
    let mut x = [0.0; 2 * EXPLAINING.len()];
    for (at, state) in EXPLAINING.into_iter().enumerate() {
        x[at] = share(above, state);
        x[EXPLAINING.len() + at] = share(below, state);
    }
    x
}

/// Sums of squares and products around the means of a block: of all columns with each other, y being the last.
type Products = [[f64; 2 * EXPLAINING.len() + 1]; 2 * EXPLAINING.len() + 1];

fn explained(rounds: &[Round], point: impl Fn(&Round) -> Point, alpha: f64) -> Option<Interval> {
    let mut blocks: BTreeMap<u32, Vec<Point>> = BTreeMap::new();
    for round in rounds {
        blocks.entry(round.treatment.block).or_default().push(point(round));
    }
    let parts: Vec<(Products, f64)> =
        blocks.values().map(|points| (products(points), points.len() as f64 - 1.0)).collect();
    let mut sum: Products = Default::default();
    let mut degrees = 0.0;
    for (part, freedom) in &parts {
        add(&mut sum, part, 1.0);
        degrees += freedom;
    }
    let share = adjusted(&sum, degrees)?;
    let n = parts.len() as f64;
    let left_out = |(part, freedom): &(Products, f64)| {
        let mut rest = sum;
        add(&mut rest, part, -1.0);
        adjusted(&rest, degrees - freedom)
    };
    let pseudo: Option<Vec<f64>> =
        parts.iter().map(|part| Some(n * share - (n - 1.0) * left_out(part)?)).collect();
    let spread = MeanEstimate::of(&pseudo?)?;
    let half = t_quantile(1.0 - alpha / 2.0, n - 1.0)? * spread.standard_error;
    Some(Interval::of([share, share - half, share + half], "share"))
}

fn products(points: &[Point]) -> Products {
    let columns = |point: &Point| {
        let mut all = [0.0; 2 * EXPLAINING.len() + 1];
        all[..point.x.len()].copy_from_slice(&point.x);
        all[point.x.len()] = point.y;
        all
    };
    let mut means = [0.0; 2 * EXPLAINING.len() + 1];
    for point in points {
        for (mean, value) in means.iter_mut().zip(columns(point)) {
            *mean += value / points.len() as f64;
        }
    }
    let mut sums: Products = Default::default();
    for point in points {
        let mut around = columns(point);
        around.iter_mut().zip(means).for_each(|(value, mean)| *value -= mean);
        for (row, a) in sums.iter_mut().zip(around) {
            row.iter_mut().zip(around).for_each(|(sum, b)| *sum += a * b);
        }
    }
    sums
}

fn add(sum: &mut Products, part: &Products, sign: f64) {
    for (row, other) in sum.iter_mut().zip(part) {
        row.iter_mut().zip(other).for_each(|(a, b)| *a += sign * b);
    }
}

/// R² of the last column on the others, adjusted. Columns are swept out one by one (Gaussian elimination); one that
/// depends on the others, or never varies, takes no degree of freedom. `None` without spread or without freedom left.
fn adjusted(sums: &Products, degrees: f64) -> Option<f64> {
    let mut rest = *sums;
    let last = rest.len() - 1;
    let mut used = 0.0;
    for column in 0..last {
        let pivot = rest[column][column];
        // The rest of a column that depends on others is rounding.
        if pivot <= 1e-9 * sums[column][column] || pivot <= 0.0 {
            continue;
        }
        used += 1.0;
        let swept = rest[column];
        for below in rest.iter_mut().skip(column + 1) {
            let factor = below[column] / pivot;
            below.iter_mut().zip(swept).skip(column + 1).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let all = sums[last][last];
    (all > 0.0 && degrees > used).then(|| 1.0 - (rest[last][last] / (degrees - used)) / (all / degrees))
}
