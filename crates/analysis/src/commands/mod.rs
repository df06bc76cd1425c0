//! What whole commands took and what their output said: elapsed time, CPU, memory, metrics. Pure.
//!
//! A run of a command is a slice of its own, so a block has one number of each quantity and treatment, and d of a block
//! is the logarithm of the treatment's number less the mean logarithm of the baseline's two, as everywhere. The
//! headline is the study's question and a family of its own for Holm's procedure; all other quantities with all their
//! comparisons are one more family, since a reader looks through all of them for what stands out. docs/METHODOLOGY.md.

mod figures;
mod ratios;
mod types;

#[cfg(test)]
mod tests;

pub use figures::{elapsed_ns, instead};
pub use types::{
    BUSY_CPUS, Baseline, CPU, CPU_PER_UNIT, CPU_TOTAL, Commands, ELAPSED, FixedTime, Gap, IDLE_SHARE, MEMORY,
    Quantity, SAID, direction,
};

use crate::Analysis;
use crate::choices;
use crate::estimate::Observed;
use crate::setting::Setting;
use threadwise_study::command::{self, Better, Each};
use threadwise_study::{OptionValue, Role, Run, Study, worklist};

/// Adds the results of commands to an analysis, in place of the estimates of other workloads.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    if !study.runs_whole() {
        return;
    }
    let rate = figures::rate(study);
    let table = figures::Table::new(study, observed, runs, rate.as_ref());
    let (command, differs) = words(study);
    let is_per_session = is_per_session(study);
    let cpu = figures::quantity(study, &table, rate.as_ref());
    let quantities = quantities(study, is_per_session, cpu);
    let (mut estimates, floors, mut gaps) =
        ratios::ratios(setting, &table, &quantities, &analysis.covariates.flagged_blocks);
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
    let judged = quantities.first().filter(|_| fixed_time.is_none());
    let fastest = judged.map(|first| ratios::fastest(study, &table, first, setting.alpha));
    if let Some(first) = judged {
        let all = choices::of_commands(study).into_iter();
        let over = |one: usize, other: usize| ratios::over(study, &table, first, one, other);
        analysis.choices.extend(all.filter_map(|candidates| choices::made(setting, candidates, over)));
    }
    let headline = quantities.first().map(|first| first.metric.as_str());
    analysis.noise_floors =
        floors.iter().filter(|floor| headline == Some(floor.metric.as_str())).cloned().collect();
    for (at, summary) in analysis.treatments.iter_mut().enumerate() {
        // That of the command alone, if the server's is unknown.
        summary.metrics.remove(CPU);
        summary.metrics.extend(table.summary(&[at], setting.alpha));
    }
    let groups = observed.groups.iter().enumerate();
    analysis.commands = Some(Commands {
        command,
        differs,
        is_per_session,
        has_server: study.treatments.iter().any(figures::has_server),
        baselines: groups
            .map(|(group, name)| Baseline {
                group: name.clone(),
                metrics: table.summary(&table.baselines(group), setting.alpha),
            })
            .collect(),
        fixed_time,
        cpus: (0..study.treatments.len()).map(|at| table.cpus(at)).collect(),
        quantities,
        fastest: fastest.unwrap_or_default(),
        floors,
        gaps,
    });
}

/// The first command, and whether there are others.
fn words(study: &Study) -> (String, bool) {
    let mut all: Vec<String> = study
        .treatments
        .iter()
        .filter_map(|treatment| treatment.options.get("command"))
        .map(OptionValue::to_string)
        .collect();
    all.dedup();
    let differs = all.len() > 1;
    (all.into_iter().next().unwrap_or_default(), differs)
}

fn is_per_session(study: &Study) -> bool {
    study.treatments.iter().any(|treatment| command::each(&treatment.options) == Each::Session)
}

/// All quantities: the headline, elapsed time, runs per second if several processes run side by side (otherwise it is
/// the inverse of elapsed), metrics, CPU ([`cpu`]), memory.
fn quantities(study: &Study, is_per_session: bool, cpu: Quantity) -> Vec<Quantity> {
    let quantity = |metric: &str, name: &str, unit: &str, better: Better| Quantity {
        metric: metric.to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        is_said: false,
    };
    let mut all = vec![quantity(ELAPSED, "elapsed", "ns", Better::Lower)];
    all.extend(
        is_per_session
            .then(|| quantity(crate::estimate::THROUGHPUT, "runs per second", "1/s", Better::Higher)),
    );
    for spec in figures::specs(study) {
        let known = all.iter().any(|quantity| quantity.is_said && quantity.name == spec.name);
        if !known {
            all.push(Quantity {
                metric: format!("{SAID}{}", spec.name),
                name: spec.name,
                unit: spec.unit,
                better: spec.better,
                is_said: true,
            });
        }
    }
    all.push(cpu);
    all.push(quantity(MEMORY, "peak memory", "bytes", Better::Lower));
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    let asked = asked.strip_prefix(SAID).unwrap_or(&asked);
    if is_never_idle(study) {
        all.retain(|quantity| quantity.metric != IDLE_SHARE || quantity.name == asked);
    }
    if let Some(at) = all.iter().position(|quantity| quantity.is_said && quantity.name == asked) {
        let headline = all.remove(at);
        all.insert(0, headline);
    }
    all
}

/// Whether the baseline is one job of a work list: it is never idle before the list is done, so its idle share is 0,
/// and a ratio cannot be over that.
fn is_never_idle(study: &Study) -> bool {
    let is_one =
        |treatment: &threadwise_study::Treatment| treatment.role == Role::Baseline && treatment.sessions == 1;
    study.workload == worklist::WORKLOAD && study.treatments.iter().any(is_one)
}
