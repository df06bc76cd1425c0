//! What whole commands took and what their output said: elapsed time, CPU, memory, metrics. Pure.
//!
//! A run of a command is a slice of its own, so a block has one number of each quantity and treatment, and d of a block
//! is the logarithm of the treatment's number less the mean logarithm of the baseline's two, as everywhere. The
//! headline is the study's question and a family of its own for Holm's procedure; all other quantities with all their
//! comparisons are one more family, since a reader looks through all of them for what stands out. docs/METHODOLOGY.md.

mod figures;
mod types;

#[cfg(test)]
mod tests;

pub(crate) use figures::{cpu_ns, has_server};
pub use figures::{elapsed_ns, instead};
pub use types::{
    BUSY_CPUS, Baseline, CPU, CPU_PER_UNIT, CPU_TOTAL, Commands, ELAPSED, FixedTime, Gap, IDLE_SHARE, MEMORY,
    Quantity, SAID, direction,
};

use crate::Analysis;
use crate::choices;
use crate::estimate::member::{Family, Member, Series, Source, floor_of};
use crate::estimate::sides::{Sides, baselines};
use crate::estimate::{Observed, THROUGHPUT};
use crate::setting::Setting;
use crate::{Direction, Estimate, NoiseFloor};
use figures::{Figures, Table};
use threadwise_document::numbers::significant;
use threadwise_statistics::{MeanEstimate, correlation, mean};
use threadwise_study::command::{self, Better, COMMAND, Each};
use threadwise_study::{OptionValue, Role, Run, Study, Treatment, Workload};
use types::NOT_REPORTED;

/// Adds the results of commands to an analysis, in place of the estimates of other workloads.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    if !study.runs_whole() {
        return;
    }
    let rate = figures::rate(study);
    let table = Table::new(study, observed, runs, rate.as_ref());
    let texts = study.treatments.iter().filter_map(|treatment| treatment.options.get(COMMAND));
    let mut commands: Vec<String> = texts.map(OptionValue::to_string).collect();
    commands.dedup();
    let is_per_session =
        study.treatments.iter().any(|treatment| command::each(&treatment.options) == Each::Session);
    let quantities = quantities(study, is_per_session, figures::quantity(study, &table, rate.as_ref()));
    let (mut estimates, floors, mut gaps) =
        ratios(setting, &table, &quantities, &analysis.covariates.flagged_blocks);
    let fixed_time = figures::fixed_time(study, &table, quantities.first());
    if fixed_time.is_some() {
        // A ratio of them would say that there is no difference, which was not measured.
        let (durations, rest): (Vec<_>, Vec<_>) =
            estimates.into_iter().partition(|estimate| estimate.metric == ELAPSED);
        estimates = rest;
        gaps.extend(durations.into_iter().map(|estimate| Gap {
            comparison: estimate.name,
            treatment: estimate.treatment,
            metric: estimate.metric,
            reason: figures::WHY.to_owned(),
        }));
    }
    analysis.estimates = estimates;
    let mut fastest = Vec::new();
    if let Some(first) = quantities.first().filter(|_| fixed_time.is_none()) {
        let over = over(study, &table, first);
        let all = choices::of_commands(study).into_iter();
        analysis.choices.extend(all.filter_map(|candidates| choices::made(setting, candidates, &over)));
        fastest = choices::fastest(study, &over, setting.alpha);
    }
    let headline = quantities.first().map(|first| first.metric.as_str());
    analysis.noise_floors =
        floors.iter().filter(|floor| headline == Some(floor.metric.as_str())).cloned().collect();
    for (at, summary) in analysis.treatments.iter_mut().enumerate() {
        // That of the command alone, if the server's is unknown.
        summary.metrics.remove(CPU);
        summary.metrics.extend(table.summary(&[at], setting.alpha));
    }
    let baseline = |group: &String| Baseline {
        group: group.clone(),
        metrics: table.summary(&baselines(study, group), setting.alpha),
    };
    let cpus = |at: usize| {
        let mut usable = observed.blocks.iter().filter(|block| observed.usable(block, at).is_some());
        usable.find_map(|block| Some(runs.get(block.sources[at]?)?.cpus.len() as u32))
    };
    analysis.commands = Some(Commands {
        differs: commands.len() > 1,
        command: commands.into_iter().next().unwrap_or_default(),
        is_per_session,
        has_server: study.treatments.iter().any(has_server),
        baselines: observed.groups.iter().map(baseline).collect(),
        cpus: (0..study.treatments.len()).map(cpus).collect(),
        fastest,
        fixed_time,
        floors,
        gaps,
        quantities,
    });
}

/// All quantities: the headline, elapsed time, runs per second if several processes run side by side (otherwise it is
/// the inverse of elapsed), metrics, CPU ([`cpu`]), memory.
fn quantities(study: &Study, is_per_session: bool, cpu: Quantity) -> Vec<Quantity> {
    let mut all = vec![Quantity::own(ELAPSED, "elapsed", "ns", Better::Lower)];
    let rate = || Quantity::own(THROUGHPUT, "runs per second", "1/s", Better::Higher);
    all.extend(is_per_session.then(rate));
    for spec in figures::specs(study) {
        if !all.iter().any(|quantity| quantity.is_said && quantity.name == spec.name) {
            let metric = format!("{SAID}{}", spec.name);
            all.push(Quantity {
                is_said: true,
                ..Quantity::own(&metric, spec.name, &spec.unit, spec.better)
            });
        }
    }
    all.push(cpu);
    all.push(Quantity::own(MEMORY, "peak memory", "bytes", Better::Lower));
    let asked = figures::headline(study);
    // One job of a work list is never idle before the list is done, so its idle share is 0, and a ratio cannot be over
    // that if it is the baseline.
    let is_one = |treatment: &Treatment| treatment.role == Role::Baseline && treatment.sessions == 1;
    if study.workload == Workload::WorkList && study.treatments.iter().any(is_one) {
        all.retain(|quantity| quantity.metric != IDLE_SHARE || quantity.name == asked);
    }
    if let Some(at) = all.iter().position(|quantity| quantity.is_said && quantity.name == asked) {
        all[..=at].rotate_right(1);
    }
    all
}

/// Estimates (the headline's first), A/A intervals of all quantities, gaps.
fn ratios(
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
fn over<'a>(
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
/// A ratio that is missing; it has no reason where no block has usable runs of both sides, which is reported with the
/// treatment.
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
