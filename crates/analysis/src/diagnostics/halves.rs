//! Halves of slices: whether the warm-up before each slice is long enough.
//!
//! A slice that begins before caches are full again is faster in its second half than in its first. In each block the
//! ratio of a treatment to its baseline over second halves is divided by that over first halves, so that slowdowns of
//! both cancel; Student's t over blocks, one family for the treatments of a group, as for every paired change
//! (`estimate::judge`; docs/METHODOLOGY.md, "Warm-up and halves of slices").

use super::answer::QuestionAnswer;
use crate::estimate::sides::Sides;
use crate::estimate::{Halves, Observed, ObservedBlock, Work, block_difference, largest, paired};
use crate::question::{Case, Question};
use crate::warmups::TreatmentWarmup;
use crate::words::{changed, faster_or_slower, finding};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use threadwise_document::{Prose, numbers, prose};
use threadwise_study::Study;

pub(crate) const HALVES: Question = Question {
    ask,
    findings: |facts| facts.of_question("halves", too_short).into_iter().collect(),
    method: |facts| facts.of_question("halves", paragraph),
    ..Question::new("halves")
};

/// Least advised warm-up, milliseconds.
const LEAST_ADVISED_MS: u64 = 30;

/// Factor from a warm-up that was too short to the advised one.
const LONGER: u64 = 4;

/// Why nothing is compared although halves were recorded.
const NO_BLOCK: &str = "no block has both";

/// Above 1 second halves are faster, relative to the baseline.
fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let (study, observed) = (case.study(), case.observed);
    if !study.workload.is_sliced() || study.is_at_a_rate() {
        return None;
    }
    let groups = if study.quota.is_some() { Vec::new() } else { study.groups() };
    let of_group = |group: &str| {
        let all = Sides::of_group(study, group);
        let by_block: Vec<Vec<f64>> = all.iter().map(|sides| series(observed, sides)).collect();
        let twins =
            Sides::twins(study, group).map(|twins| series(observed, &twins)).filter(|d| !d.is_empty());
        let judged = paired(&by_block, twins.as_slice(), case.rule());
        let estimate = |(sides, judged): (&Sides, Option<Ratio>)| {
            let name = &study.treatments[sides.top].name;
            Some(Estimate::of(HALVES.name, name, name, "", judged?.exp()))
        };
        all.iter().zip(judged).filter_map(estimate).collect::<Vec<_>>()
    };
    let estimates: Vec<Estimate> = groups.into_iter().flat_map(of_group).collect();
    let gap = estimates.is_empty().then(|| gap(study, observed).to_owned());
    Some(QuestionAnswer { estimates, gap, ..QuestionAnswer::default() })
}

fn gap(study: &Study, observed: &Observed) -> &'static str {
    let mut runs = observed.blocks.iter().flat_map(|block| block.runs.iter().flatten());
    match study.is_simulated() {
        true => "a model has no warm-up",
        false if study.quota.is_some() => "slices are periods of a CPU quota",
        false if runs.clone().any(|run| run.totals.fixed.windows > 0.0) => {
            "a fixed amount of work has no halves"
        }
        false if runs.all(|run| run.halves.is_some()) => NO_BLOCK,
        false => "they were not recorded",
    }
}

/// Differences of halves, one for each block in which all sides are usable and know their halves.
fn series(observed: &Observed, sides: &Sides) -> Vec<f64> {
    let of_block = |block: &ObservedBlock| {
        let halves = |at: &usize| observed.usable(block, *at)?.halves.as_ref();
        let below: Option<Vec<&Halves>> = sides.below.iter().map(halves).collect();
        half_difference(halves(&sides.top)?, &below?)
    };
    observed.blocks.iter().filter_map(of_block).collect()
}

/// d of a block: ln of the treatment's ratio to its baselines over second halves, less that over first halves; sums
/// over the rounds that all sides have.
///
/// Degenerate cases: no baseline, no round in common, or no row in one of the halves gives `None`.
pub fn half_difference(treatment: &Halves, baselines: &[&Halves]) -> Option<f64> {
    let first: Vec<&[Work]> = baselines.iter().map(|side| side.first.as_slice()).collect();
    let second: Vec<&[Work]> = baselines.iter().map(|side| side.second.as_slice()).collect();
    let of_first = block_difference(&treatment.first, &first, Work::rows_per_s)?;
    Some(block_difference(&treatment.second, &second, Work::rows_per_s)? - of_first)
}

/// The treatment whose halves differ most, among those whose warm-up is too short if any is, and how many those are.
fn furthest(found: &QuestionAnswer) -> Option<(&Estimate, usize)> {
    let largest = largest(&found.estimates, |one| &one.ratio, Ratio::is_beyond)?;
    Some((largest, found.estimates.iter().filter(|one| one.ratio.is_beyond()).count()))
}

fn paragraph(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let Some((largest, too_short)) = furthest(found) else {
        let gap = found.gap.as_deref().unwrap_or(NO_BLOCK);
        return Some(prose!("Halves of slices are not compared: {}.", gap));
    };
    let is_shown = match too_short {
        0 => "no warm-up is shown to be too short".to_owned(),
        1 => "the warm-up is too short for it alone".to_owned(),
        more => format!("the warm-up is too short for {more}"),
    };
    let of_how_many = match found.estimates.len() {
        1 => String::new(),
        many => format!(", the largest of {many} treatments"),
    };
    Some(prose!(
        "Halves of slices: the rate of second halves over that of first halves of {}, relative to the baseline, is \
         {}{}; by more than the margin, {}.",
        facts.name(&largest.treatment),
        changed(&largest.ratio),
        of_how_many,
        is_shown
    ))
}

fn too_short(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Finding> {
    let (largest, count) = furthest(found).filter(|(_, count)| *count > 0)?;
    let mut text = prose!(
        "Warm-up is too short for {}: second halves of its slices are {} than first halves, relative to the baseline; \
         its ratio is too {} by about half of that",
        facts.name(&largest.treatment),
        faster_or_slower(&largest.ratio),
        if largest.ratio.value > 1.0 { "low" } else { "high" }
    );
    if let more @ 1.. = count - 1 {
        text.push(prose!(" (and for {} more)", numbers::counted(more, "treatment")));
    }
    let measured_ns = facts
        .analysis
        .get::<Vec<TreatmentWarmup>>()
        .into_iter()
        .flatten()
        .map(|warmup| warmup.warmup_ns)
        .max();
    let warmup_ns = facts.study.design.rewarm_ns.or(measured_ns).unwrap_or(0);
    let advised_ms = (LONGER * warmup_ns.div_ceil(1_000_000)).max(LEAST_ADVISED_MS);
    text.push(prose!(". Use {}.", Prose::command(format!("--rewarm {advised_ms}ms"))));
    Some(finding(FindingKind::WarmUp, text, &[&largest.treatment]))
}

#[cfg(test)]
mod tests;
