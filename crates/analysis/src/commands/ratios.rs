//! Ratios of every quantity: d by block, floors, families, and why a ratio is missing.

use super::figures::{Figures, Table};
use super::types::{Gap, NOT_REPORTED, Quantity, direction};
use crate::choices;
use crate::estimate::member::{Family, Member, Series, Source, floor_of};
use crate::estimate::sides::Sides;
use crate::setting::Setting;
use crate::{Direction, Estimate, NoiseFloor};
use threadwise_document::numbers::significant;
use threadwise_statistics::{MeanEstimate, correlation, mean};
use threadwise_study::Study;

/// Estimates (the headline's first), A/A intervals of all quantities, gaps.
pub fn ratios(
    setting: &Setting<'_>,
    table: &Table<'_>,
    quantities: &[Quantity],
    flagged: &[u32],
) -> (Vec<Estimate>, Vec<NoiseFloor>, Vec<Gap>) {
    let (study, alpha) = (setting.study, setting.alpha);
    let groups = study.groups();
    let (mut floors, mut gaps) = (Vec::new(), Vec::new());
    // The headline is the study's question; the rest is one family.
    let mut families: [Vec<Member<'_>>; 2] = Default::default();
    for (rank, quantity) in quantities.iter().enumerate() {
        let metric = quantity.metric.as_str();
        let of_twins = |group: &&str| series(study, table, metric, &Sides::twins(study, group)?).ok();
        let a_a: Vec<Option<Series>> = groups.iter().map(of_twins).collect();
        let shown = |group: usize| MeanEstimate::of(&a_a[group].as_ref()?.d);
        floors.extend(groups.iter().enumerate().filter_map(|(group, name)| {
            let rule = (study.design.margin, alpha);
            Some((group, NoiseFloor::new(name, metric, &shown(group)?, rule)))
        }));
        let mut members = Vec::new();
        for comparison in &study.comparisons {
            let Some(sides) = Sides::of(study, comparison) else { continue };
            let group = groups.iter().position(|group| *group == study.treatments[sides.top].group);
            match series(study, table, metric, &sides) {
                Ok(series) => members.push(Member {
                    comparison,
                    metric,
                    direction: direction(quantity.better),
                    source: Source::WholeRuns,
                    floor: floor_of(group.and_then(shown), alpha),
                    series,
                    correlation: 0.0,
                }),
                Err(None) => {}
                Err(Some(reason)) => gaps.push(Gap {
                    comparison: comparison.name.clone(),
                    treatment: comparison.treatment.clone(),
                    metric: metric.to_owned(),
                    reason,
                }),
            }
        }
        let every = members.iter().map(|member| &member.series).chain(a_a.iter().flatten());
        let correlation = correlation::common(&every.map(|series| series.d.as_slice()).collect::<Vec<_>>());
        members.iter_mut().for_each(|member| member.correlation = correlation);
        families[rank.min(1)].extend(members);
    }
    floors.sort_by_key(|(group, _)| *group);
    let family = Family { study, flagged, alpha };
    let estimates = families.iter().flat_map(|members| family.estimates(members)).collect();
    (estimates, floors.into_iter().map(|(_, floor)| floor).collect(), gaps)
}

/// d by block of one treatment over another of the same group in a quantity, above 0 if the first is better. Empty if
/// neither side is better.
pub fn over<'a>(
    study: &'a Study,
    table: &'a Table<'_>,
    quantity: &'a Quantity,
) -> impl Fn(usize, usize) -> Vec<f64> + 'a {
    let sign = match direction(quantity.better) {
        Direction::HigherIsBetter => Some(1.0),
        Direction::LowerIsBetter => Some(-1.0),
        Direction::Neither => None,
    };
    choices::over(study, move |top, below| {
        let sides = Sides { top, below: below.to_vec() };
        let Some(sign) = sign else { return Vec::new() };
        let series = series(study, table, &quantity.metric, &sides).unwrap_or_default();
        series.d.into_iter().map(|d| sign * d).collect()
    })
}

/// d of every block in which all sides have the number. A number of 0 or less has no logarithm; then there is no ratio,
/// since leaving its block out would drop just the blocks in which one side had the least.
///
/// # Errors
/// Why there is none; without a reason if no block has usable runs of both sides, which is reported with the treatment.
fn series(study: &Study, table: &Table<'_>, metric: &str, sides: &Sides) -> Result<Series, Option<String>> {
    let (mut series, mut reason) = (Series::default(), None);
    let all: Vec<usize> = std::iter::once(sides.top).chain(sides.below.iter().copied()).collect();
    for (block, row) in &table.blocks {
        let runs: Option<Vec<&Figures>> = all.iter().map(|at| row[*at].as_ref()).collect();
        let Some(runs) = runs else { continue };
        reason = Some(NOT_REPORTED.to_owned());
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.get(metric).copied()).collect();
        let Some(values) = values else { continue };
        if let Some(at) = values.iter().position(|value| *value <= 0.0) {
            let name = &study.treatments[all[at]].name;
            return Err(Some(format!("{} in block {block} of {name}", significant(values[at], 3))));
        }
        series.push(*block, values[0].ln() - mean(values[1..].iter().map(|value| value.ln())).unwrap_or(0.0));
    }
    if series.d.is_empty() { Err(reason) } else { Ok(series) }
}
