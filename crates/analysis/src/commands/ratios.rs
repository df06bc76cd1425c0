//! Ratios of every quantity: d by block, floors, families, and why there is none.

use super::figures::{Figures, Table};
use super::types::{Gap, NOT_REPORTED, Quantity, direction};
use crate::estimate::member::{Member, Series, Source, estimates_of, floor_of, sides};
use crate::setting::Setting;
use crate::statistics::MeanEstimate;
use crate::{Estimate, NoiseFloor};
use std::collections::BTreeMap;
use threadwise_document::numbers::significant;
use threadwise_study::Study;

/// Estimates (the headline's first), A/A intervals of all quantities, gaps.
pub fn ratios(
    setting: &Setting<'_>,
    table: &Table<'_>,
    quantities: &[Quantity],
    flagged: &[u32],
) -> (Vec<Estimate>, Vec<NoiseFloor>, Vec<Gap>) {
    let (study, alpha) = (setting.study, setting.alpha);
    let a_a = twins(study, table, quantities);
    let mut gaps = Vec::new();
    // The headline is the study's question; the rest is one family.
    let mut families: [Vec<Member<'_>>; 2] = Default::default();
    for (rank, quantity) in quantities.iter().enumerate() {
        for comparison in &study.comparisons {
            let Some((top, below)) = sides(study, comparison) else { continue };
            let series = match series(study, table, &quantity.metric, top, &below) {
                Ok(series) => series,
                Err(Nothing::NoRun) => continue,
                Err(Nothing::Because(reason)) => {
                    gaps.push(Gap {
                        comparison: comparison.name.clone(),
                        treatment: comparison.treatment.clone(),
                        metric: quantity.metric.clone(),
                        reason,
                    });
                    continue;
                }
            };
            let floor = floor_of(a_a.get(&(table.group(top), quantity.metric.as_str())).copied(), alpha);
            let what = (quantity.metric.as_str(), direction(quantity.better), Source::WholeRuns);
            families[rank.min(1)].extend(Member::new(comparison, what, series, floor, (flagged, alpha)));
        }
    }
    let estimates = families.iter().flat_map(|family| estimates_of(study, family, alpha)).collect();
    (estimates, floors(study, quantities, &a_a, alpha), gaps)
}

/// A′/A by group and metric name, in logarithms.
type Twins<'a> = BTreeMap<(usize, &'a str), MeanEstimate>;

fn twins<'a>(study: &Study, table: &Table<'_>, quantities: &'a [Quantity]) -> Twins<'a> {
    let mut all = Twins::new();
    for group in 0..study.groups().len() {
        let [base, twin] = table.baselines(group)[..] else { continue };
        for quantity in quantities {
            let twins = series(study, table, &quantity.metric, twin, &[base]).ok();
            let estimate = twins.and_then(|series| MeanEstimate::of(&series.d));
            all.extend(estimate.map(|estimate| ((group, quantity.metric.as_str()), estimate)));
        }
    }
    all
}

fn floors(study: &Study, quantities: &[Quantity], a_a: &Twins<'_>, alpha: f64) -> Vec<NoiseFloor> {
    let mut floors = Vec::new();
    for (group, name) in study.groups().into_iter().enumerate() {
        for quantity in quantities {
            let Some(estimate) = a_a.get(&(group, quantity.metric.as_str())) else { continue };
            let (low, high) = estimate.interval(alpha);
            floors.push(NoiseFloor {
                group: name.to_owned(),
                metric: quantity.metric.clone(),
                low: low.exp(),
                high: high.exp(),
                floor: floor_of(Some(*estimate), alpha),
            });
        }
    }
    floors
}

/// Why there is no number.
enum Nothing {
    /// No block has usable runs of both sides: reported with the treatment.
    NoRun,
    /// Another reason.
    Because(String),
}

/// d of every block in which all sides have the number. A number of 0 or less has no logarithm; then
/// there is no ratio at all, since leaving its block out would drop just the blocks in which one side
/// had the least.
fn series(
    study: &Study,
    table: &Table<'_>,
    metric: &str,
    top: usize,
    below: &[usize],
) -> Result<Series, Nothing> {
    let mut series = Series::default();
    let mut is_run = false;
    let all: Vec<usize> = std::iter::once(top).chain(below.iter().copied()).collect();
    for (block, row) in &table.blocks {
        let runs: Option<Vec<&Figures>> = all.iter().map(|at| row[*at].as_ref()).collect();
        let Some(runs) = runs else { continue };
        is_run = true;
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.get(metric).copied()).collect();
        let Some(values) = values else { continue };
        if let Some(at) = values.iter().position(|value| *value <= 0.0) {
            let name = &study.treatments[all[at]].name;
            let number = significant(values[at], 3);
            return Err(Nothing::Because(format!("{number} in block {block} of {name}")));
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        series.push(*block, logs[0] - logs[1..].iter().sum::<f64>() / below.len() as f64);
    }
    match (series.d.is_empty(), is_run) {
        (false, _) => Ok(series),
        (true, true) => Err(Nothing::Because(NOT_REPORTED.to_owned())),
        (true, false) => Err(Nothing::NoRun),
    }
}
