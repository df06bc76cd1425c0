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
use crate::estimate::sides::baselines;
use crate::estimate::{Observed, THROUGHPUT};
use crate::setting::Setting;
use threadwise_study::command::{self, Better, Each};
use threadwise_study::{OptionValue, Role, Run, Study, Treatment, worklist};

/// Adds the results of commands to an analysis, in place of the estimates of other workloads.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    if !study.runs_whole() {
        return;
    }
    let rate = figures::rate(study);
    let table = figures::Table::new(study, observed, runs, rate.as_ref());
    let texts = study.treatments.iter().filter_map(|treatment| treatment.options.get("command"));
    let mut commands: Vec<String> = texts.map(OptionValue::to_string).collect();
    commands.dedup();
    let is_per_session =
        study.treatments.iter().any(|treatment| command::each(&treatment.options) == Each::Session);
    let quantities = quantities(study, is_per_session, figures::quantity(study, &table, rate.as_ref()));
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
    let mut fastest = Vec::new();
    if let Some(first) = quantities.first().filter(|_| fixed_time.is_none()) {
        let over = ratios::over(study, &table, first);
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
        has_server: study.treatments.iter().any(figures::has_server),
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
    if study.workload == worklist::WORKLOAD && study.treatments.iter().any(is_one) {
        all.retain(|quantity| quantity.metric != IDLE_SHARE || quantity.name == asked);
    }
    if let Some(at) = all.iter().position(|quantity| quantity.is_said && quantity.name == asked) {
        all[..=at].rotate_right(1);
    }
    all
}
