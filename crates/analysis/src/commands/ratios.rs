//! Ratios of every quantity: d by block, floors, families, and why a ratio is missing.

use super::figures::{Figures, Table};
use super::types::{Gap, NOT_REPORTED, Quantity, direction};
use crate::estimate::Fastest;
use crate::estimate::member::{Family, Member, Series, Source, floor_of};
use crate::estimate::sides::Sides;
use crate::setting::Setting;
use crate::{Direction, Estimate, NoiseFloor};
use std::collections::BTreeMap;
use threadwise_document::numbers::significant;
use threadwise_statistics::{MeanEstimate, correlation};
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
        let mut members = Vec::new();
        for comparison in &study.comparisons {
            let Some(Sides { top, below }) = Sides::of(study, comparison) else { continue };
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
            let floor =
                floor_of(a_a.get(&(table.group(top), quantity.metric.as_str())).and_then(shown), alpha);
            members.push(Member {
                comparison,
                metric: &quantity.metric,
                direction: direction(quantity.better),
                source: Source::WholeRuns,
                floor,
                series,
                correlation: 0.0,
            });
        }
        let of_twins =
            (0..study.groups().len()).filter_map(|group| a_a.get(&(group, quantity.metric.as_str())));
        let every = members.iter().map(|member| &member.series).chain(of_twins);
        let correlation = correlation::common(&every.map(|series| series.d.as_slice()).collect::<Vec<_>>());
        members.iter_mut().for_each(|member| member.correlation = correlation);
        families[rank.min(1)].extend(members);
    }
    let family = Family { study, flagged, alpha };
    let estimates = families.iter().flat_map(|members| family.estimates(members)).collect();
    (estimates, floors(study, quantities, &a_a, alpha), gaps)
}

/// Which treatments of each group may be the best in a quantity; none if neither side is better.
pub fn fastest(study: &Study, table: &Table<'_>, quantity: &Quantity, alpha: f64) -> Vec<Fastest> {
    if direction(quantity.better) == Direction::Neither {
        return Vec::new();
    }
    let of_group = |(group, name): (usize, &str)| {
        let baselines = table.baselines(group);
        let baseline = *baselines.first()?;
        let others =
            (0..study.treatments.len()).filter(|at| table.group(*at) == group && !baselines.contains(at));
        let candidates: Vec<usize> = std::iter::once(baseline).chain(others).collect();
        let treatment = |at: usize| study.treatments[candidates[at]].name.clone();
        let over =
            |one: usize, other: usize| over(study, table, quantity, candidates[one], candidates[other]);
        Fastest::of(name, candidates.len(), treatment, over, alpha)
    };
    study.groups().into_iter().enumerate().filter_map(of_group).collect()
}

/// d by block of one treatment over another of the same group in a quantity, above 0 if the first is better; a baseline
/// is the mean of both of its names. Empty if neither side is better.
pub fn over(study: &Study, table: &Table<'_>, quantity: &Quantity, one: usize, other: usize) -> Vec<f64> {
    let d = |top: usize, below: &[usize]| {
        series(study, table, &quantity.metric, top, below).map(|series| series.d).unwrap_or_default()
    };
    let baselines = table.baselines(table.group(one));
    let (d, is_lower) = match (baselines.contains(&one), baselines.contains(&other)) {
        (true, _) => (d(other, &baselines), true),
        (_, true) => (d(one, &baselines), false),
        _ => (d(one, &[other]), false),
    };
    let sign = match direction(quantity.better) {
        Direction::HigherIsBetter if is_lower => -1.0,
        Direction::HigherIsBetter => 1.0,
        Direction::LowerIsBetter if is_lower => 1.0,
        Direction::LowerIsBetter => -1.0,
        Direction::Neither => return Vec::new(),
    };
    d.into_iter().map(|d| sign * d).collect()
}

/// d of A′/A by group and metric name.
type Twins<'a> = BTreeMap<(usize, &'a str), Series>;

fn twins<'a>(study: &Study, table: &Table<'_>, quantities: &'a [Quantity]) -> Twins<'a> {
    let mut all = Twins::new();
    for group in 0..study.groups().len() {
        let [base, twin] = table.baselines(group)[..] else { continue };
        for quantity in quantities {
            let twins = series(study, table, &quantity.metric, twin, &[base]).ok();
            all.extend(twins.map(|series| ((group, quantity.metric.as_str()), series)));
        }
    }
    all
}

/// What A/A showed.
fn shown(twins: &Series) -> Option<MeanEstimate> {
    MeanEstimate::of(&twins.d)
}

fn floors(study: &Study, quantities: &[Quantity], a_a: &Twins<'_>, alpha: f64) -> Vec<NoiseFloor> {
    let mut floors = Vec::new();
    for (group, name) in study.groups().into_iter().enumerate() {
        for quantity in quantities {
            let Some(estimate) = a_a.get(&(group, quantity.metric.as_str())).and_then(shown) else {
                continue;
            };
            floors.push(NoiseFloor::new(name, &quantity.metric, &estimate, (study.design.margin, alpha)));
        }
    }
    floors
}

/// Why a number is missing.
enum Nothing {
    /// No block has usable runs of both sides, which is reported with the treatment.
    NoRun,
    /// Another reason.
    Because(String),
}

/// d of every block in which all sides have the number. A number of 0 or less has no logarithm; then there is no ratio,
/// since leaving its block out would drop just the blocks in which one side had the least.
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
