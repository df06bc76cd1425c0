//! Analysis of the observations: all estimates of a study.

use crate::answers::Answers;
use crate::estimate::{Observed, comparisons, covariates, lost_cpu, treatments};
use crate::kinds::scans;
use crate::looks::Looks;
use crate::looks::claim::effects;
use crate::looks::rows::By;
use crate::looks::states::looked_at;
use crate::question::Case;
use crate::setting::Setting;
use crate::{
    Analysis, changed_with, choices, commands, cpus, drift, load, looks, queries, questions, round_trips,
    scaling_law, warmups, worklist,
};
use threadwise_machine::Topology;
use threadwise_study::probe::Probe;
use threadwise_study::{Run, Study};

/// Analyses without knowing which logical CPUs are siblings: busy left-over siblings then count among the other CPUs.
/// See [`analyse_on`].
pub fn analyse(study: &Study, runs: &[Run], alpha_share: f64) -> Analysis {
    analyse_on(study, None, runs, alpha_share)
}

/// Analyses; left-over siblings and other CPUs are separate if the machine is given.
///
/// `alpha_share` is 1 for a single analysis at the design's level, [`crate::UNTIL_LEVEL_SHARE`] for interim ones; the
/// level of every interval is 1 − (1 − design level) · share.
/// Degenerate cases: without usable blocks there are no estimates and no floors; with one block a
/// value has the interval (0, ∞).
pub fn analyse_on(study: &Study, topology: Option<&Topology>, runs: &[Run], alpha_share: f64) -> Analysis {
    analyse_probed(study, topology, None, runs, alpha_share)
}

/// Analyses with what was measured of the hardware: its clocks are used to count cycles.
pub fn analyse_probed(
    study: &Study,
    topology: Option<&Topology>,
    probe: Option<&Probe>,
    runs: &[Run],
    alpha_share: f64,
) -> Analysis {
    let alpha = (1.0 - study.design.level) * alpha_share;
    let whole = runs;
    let runs = &*queries::streams_alone(study, whole);
    let observed = Observed::new(study, topology, runs);
    let covariates = covariates::covariates(&observed);
    let (mut estimates, noise_floors) =
        comparisons::estimates(study, &observed, &covariates.flagged_blocks, alpha);
    lost_cpu::adjust(study, &observed, alpha, &mut estimates);
    let setting = Setting { study, topology, probe, alpha };
    let slices = looked_at(runs);
    let treatments = treatments::summaries(&setting, &observed);
    let mut answers = Answers::default();
    answers.put("changed_with", changed_with::changed_with(&setting, &observed, &treatments, &estimates));
    answers.put("load", load::load(&setting, &observed, runs));
    answers.put("drift", Some(drift::drifts(&setting, &observed, runs)));
    answers.put("warmups", Some(warmups::warmups(study, runs)));
    answers.put("round_trips", round_trips::client_steps(&setting, &observed));
    answers.put("parallel_workers", scans::parallel(&setting, &observed, runs));
    // At a rate throughput is what arrives, and vCPUs are not chosen: nothing is advised by it.
    let is_closed = !study.is_at_a_rate() && study.vcpus().is_none();
    let mut analysis = Analysis {
        answers,
        queries: queries::queries(&setting, &observed, runs, whole),
        treatments,
        estimates,
        noise_floors,
        blocks: observed.usable_blocks(),
        excluded_blocks: observed.left_out.clone(),
        covariates,
        choices: if is_closed { choices::of_rates(&setting, &observed) } else { Vec::new() },
        cpus: cpus::cpus(&setting, &observed, runs),
        simulated: study.is_simulated(),
        commands: None,
        worklist: None,
        scaling_laws: if is_closed { scaling_law::of_sweeps(&setting, &observed, runs) } else { Vec::new() },
        diagnostics: questions::ask(&Case { setting, observed: &observed, runs, slices: &slices }),
        looks: looks::prevalence::looks(&setting, &slices),
        effects: Vec::new(),
    };
    let cut_ns = analysis.looks.as_ref().and_then(Looks::cut_ns);
    let sorted = [Some(By::Core), cut_ns.map(|cut_ns| By::Distance { cut_ns })];
    analysis.effects =
        sorted.into_iter().flatten().filter_map(|by| effects(study, &slices, by, alpha)).collect();
    if let Some(queries) = &analysis.queries {
        analysis.choices = queries::choices(&queries.heat);
        analysis.choices.extend(queries::threads(&setting, &observed, runs));
    }
    commands::add(&mut analysis, &setting, &observed, runs);
    worklist::add(&mut analysis, &setting, &observed, runs);
    choices::lost::mark(&setting, &observed, runs, &mut analysis.choices);
    analysis
}

/// Whether the interval of every throughput comparison (for a command, of its headline) is within the half-width (a
/// fraction, 0.02 = 2%): the question of `--until`. False if there is nothing to compare.
pub fn reached(analysis: &Analysis, half_width: f64) -> bool {
    let headline = analysis.headline();
    let mut throughput = analysis.estimates.iter().filter(|estimate| estimate.metric == headline).peekable();
    throughput.peek().is_some() && throughput.all(|estimate| estimate.ratio.half_width() <= half_width)
}
