//! How far to trust an answer, in one of four words, by the study's findings and covariates.
//!
//! NONE: nothing can be compared. LOW: something may be wrong with the ratios themselves, so no setting should be based
//! on them. FAIR: ratios hold, but rates or some of the ratios may not. GOOD: none of these (docs/METHODOLOGY.md,
//! "Trust").

use crate::diagnostics::neighbours::claimed_costs;
use crate::estimate::{Alarm, BUSY_FLAG_SHARE, NEIGHBOUR_FLAG_SHARE, STEAL_FLAG_SHARE};
use crate::findings::trust;
use crate::words::{plus_minus, share};
use crate::{Answer, Facts, Finding, FindingKind, validity};
use threadwise_document::numbers::{capital, counted};
use threadwise_document::screen::{Trust, TrustLevel};
use threadwise_document::{Prose, prose};
use threadwise_study::study::MIN_BLOCKS;

/// Mean share of their time waiting for a logical CPU of their own from which sessions are reported.
const WAITED_SHARE: f64 = 0.05;

/// Why simulated figures have little trust.
pub const SIMULATED: &str = "SIMULATED: the figures are from a model, not from a machine.";

/// The word, and why.
pub fn trust(facts: &Facts<'_>, verdict: &[Finding]) -> Trust {
    if facts.throughput().next().is_none() || facts.analysis.blocks == 0 {
        return Trust { level: TrustLevel::None, reasons: vec!["Nothing can be compared.".into()] };
    }
    let (low, mut fair) = (low(facts, verdict), fair(facts, verdict));
    let is_wide = facts.analysis.noise_floors.iter().any(|floor| floor.alarm == Some(Alarm::Wide));
    if low.is_empty() && fair.is_empty() && is_wide {
        fair.push(
            "That is more than the margin: repeat it with more blocks, or on a quieter machine.".into(),
        );
    }
    let level = match (low.is_empty(), fair.is_empty()) {
        (false, _) => TrustLevel::Low,
        (true, false) => TrustLevel::Fair,
        (true, true) => TrustLevel::Good,
    };
    let agrees = agrees(facts).filter(|_| level <= TrustLevel::Fair);
    Trust { level, reasons: agrees.into_iter().chain(low).chain(fair).collect() }
}

/// How well the same treatment, run twice, agrees with itself: the noise floor.
fn agrees(facts: &Facts<'_>) -> Option<Prose> {
    let floor = facts.widest_floor()?.floor.exp_m1();
    floor.is_finite().then(|| prose!("The same treatment, run twice, agrees within {}.", plus_minus(floor)))
}

/// What may be wrong with the ratios themselves.
fn low(facts: &Facts<'_>, verdict: &[Finding]) -> Vec<Prose> {
    let mut reasons: Vec<Prose> = Vec::new();
    if facts.topology.identity.is_emulated() {
        reasons.push(
            "EMULATED: QEMU computes what the processor does, so no figure describes a real machine.".into(),
        );
    }
    reasons.extend(validity::problem(facts.analysis).map(|problem| prose!("{}.", capital(&problem))));
    if facts.is_simulated() {
        reasons.push(SIMULATED.into());
    }
    let covariates = &facts.analysis.covariates;
    if covariates.others_busy_share >= BUSY_FLAG_SHARE {
        let busy = share(covariates.others_busy_share);
        reasons.push(prose!(
            "Logical CPUs that the study left free were busy {} of the time: repeat on a quiet machine.",
            busy
        ));
    }
    // If nothing is known of other programs, waits show them.
    let waits = covariates.blocks.iter().filter_map(|block| block.run_queue_wait_share);
    if let Some(waited) = threadwise_statistics::mean(waits)
        .filter(|waited| *waited >= WAITED_SHARE && covariates.others_busy_share < BUSY_FLAG_SHARE)
    {
        reasons.push(prose!(
            "Sessions waited for their own logical CPU {} of the time: repeat on a quiet machine.",
            share(waited)
        ));
    }
    if facts.analysis.blocks < MIN_BLOCKS {
        let blocks = counted(facts.analysis.blocks as usize, "block");
        reasons.push(prose!("Only {} of the {} that a study needs.", blocks, MIN_BLOCKS));
    }
    if facts.analysis.noise_floors.iter().any(|floor| floor.alarm == Some(Alarm::Different)) {
        reasons.push("The same treatment, run twice, differed: something changed between runs.".into());
    }
    let placed = trust::not_placed(facts);
    let warnings = placed.into_iter().chain(facts.hardware.and_then(trust::declared_wrongly));
    reasons.extend(warnings.filter_map(|finding| unlabelled(&finding.line)));
    let diagnosed = verdict.iter().filter(|finding| {
        matches!(finding.kind, FindingKind::WarmUp | FindingKind::CarryOver | FindingKind::Settling)
    });
    reasons.extend(diagnosed.filter_map(|finding| unlabelled(&finding.line)));
    reasons
}

/// What may be wrong with rates, or with some ratios.
fn fair(facts: &Facts<'_>, verdict: &[Finding]) -> Vec<Prose> {
    let covariates = &facts.analysis.covariates;
    let mut reasons: Vec<Prose> = Vec::new();
    if facts.is_stopped {
        reasons.push("It was stopped before the end of its plan.".into());
    }
    let open = facts.throughput().filter(|estimate| estimate.ratio.answer == Answer::Undecided).count();
    // For queries totals are judged, and only they are counted here.
    if open > 0 && facts.analysis.queries.is_none() {
        let all = facts.throughput().count();
        reasons.push(prose!(
            "{} of {} not decided.",
            open,
            format!("{} {}", counted(all, "ratio"), if open == 1 { "is" } else { "are" })
        ));
    }
    if facts.analysis.choices.iter().any(|choice| !choice.lost.is_empty()) {
        reasons
            .push("Settings lost unequal shares of their time to others, which moves their ratios.".into());
    }
    if let Some(neighbour) = covariates.neighbour_share.filter(|share| *share >= NEIGHBOUR_FLAG_SHARE) {
        // The answer has the share of the time if it has the cost.
        reasons.push(match claimed_costs(facts).is_empty() {
            true => prose!(
                "Rates hold only for this study: others used the other threads of your cores {} of the time.",
                share(neighbour)
            ),
            false => "Rates hold only for this study: the work on the other threads comes and goes.".into(),
        });
    } else if covariates.steal_share >= STEAL_FLAG_SHARE {
        let stolen = share(covariates.steal_share);
        reasons
            .push(prose!("Rates hold only for this study: the hypervisor took {} of the CPU time.", stolen));
    }
    if verdict.iter().any(|finding| finding.kind == FindingKind::Drift) {
        reasons.push("The rate of the baseline changed while it was measured, so rates are means.".into());
    }
    if verdict.iter().any(|finding| finding.kind == FindingKind::LongWindows) {
        reasons.push("Windows of seconds give different ratios from these slices.".into());
    }
    reasons
}

/// The first sentence of a finding without the word before its colon.
fn unlabelled(line: &Prose) -> Option<Prose> {
    let first = line.sentences().into_iter().next()?;
    Some(first.without_start("Trust: ").capital())
}
