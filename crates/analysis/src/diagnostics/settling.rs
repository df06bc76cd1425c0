//! After-effects of a switch of the machine: the first rounds after it against the later ones of the same phase.
//!
//! Clocks and caches settle after logical CPUs came or went. The runner lets the treatments of an arm run for a while
//! before the first slice ([`threadwise_study::arm::SETTLE_NS`]); a remaining effect would be a part of the ratios of
//! arms. In each block d of an arm is the mean, over its phases that begin with a switch and its treatments, of the
//! logarithm of the rate in the phase's first round less that of the rate in its other rounds. Student's t over blocks,
//! one family for all arms (`estimate::judge`; docs/METHODOLOGY.md, "Arms").

use super::answer::QuestionAnswer;
use crate::estimate::{Work, paired};
use crate::question::{Case, Question};
use crate::words::finding;
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use std::collections::BTreeMap;
use threadwise_document::{Prose, prose};
use threadwise_statistics::mean;
use threadwise_study::{Arm, Run, Study};

pub(crate) const SETTLING: Question = Question {
    ask,
    findings: |facts| facts.of_question("settling", left_behind).into_iter().collect(),
    ..Question::new("settling")
};

/// A phase that began with a switch: for each treatment the first round's work and that of the others.
pub type Phase = BTreeMap<usize, (Work, Work)>;

/// A slice of a block: number in the study, round, treatment and work.
type Taken = (u64, u32, usize, Work);

/// Rate in first rounds over that in the others, for each arm that was switched to for some rounds. Below 1, first
/// rounds are slower.
fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let study = case.study();
    if !study.switches() || study.design.rounds < 2 {
        return None;
    }
    let blocks = blocks(study, case.runs);
    let arms = study.arms();
    let of_arm = |arm: usize| -> Vec<f64> {
        let of_block = |slices: &Vec<Taken>| {
            let phases = phases(study, slices);
            difference(phases.iter().filter(|(at, _)| *at == arm).map(|(_, phase)| phase))
        };
        blocks.values().filter_map(of_block).collect()
    };
    let series: Vec<Vec<f64>> = (0..arms.len()).map(of_arm).collect();
    let estimate = |(arm, judged): (&&Arm, Option<Ratio>)| {
        Some(Estimate::of(SETTLING.name, &arm.to_string(), "", "", judged?.exp()))
    };
    let estimates = arms.iter().zip(paired(&series, &[], case.rule())).filter_map(estimate).collect();
    Some(QuestionAnswer { estimates, ..QuestionAnswer::default() })
}

fn left_behind(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Finding> {
    let most = found.shown().max_by(|one, other| one.ratio.size().total_cmp(&other.ratio.size()))?;
    let text = prose!(
        "A switch has an after-effect: rates in first rounds after a switch to {} are {} times those of later rounds. \
         Ratios of arms contain a part of it; with more rounds per block it is smaller ({}).",
        &most.name,
        &most.ratio.decisive().interval(),
        Prose::command(format!("--rounds {}", 2 * facts.study.design.rounds))
    );
    Some(finding(FindingKind::Settling, text, &[]))
}

/// d of a block; `None` if no phase has a treatment with rows in its first round and later ones.
pub fn difference<'a>(phases: impl Iterator<Item = &'a Phase>) -> Option<f64> {
    let of_treatment = |(first, rest): &(Work, Work)| {
        let d = (first.rows_per_s()? / rest.rows_per_s()?).ln();
        d.is_finite().then_some(d)
    };
    mean(phases.flat_map(|phase| phase.values().filter_map(of_treatment).collect::<Vec<_>>()))
}

/// Slices of valid runs by block, in time order.
fn blocks(study: &Study, runs: &[Run]) -> BTreeMap<u32, Vec<Taken>> {
    let mut blocks: BTreeMap<u32, Vec<Taken>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.status.is_valid()) {
        let Some((treatment, _)) = study.treatment(&run.treatment) else { continue };
        let slices = run.slices.iter().map(|slice| {
            let rows = slice.sessions.iter().map(|session| session.rows as f64).sum();
            let done = Work { slices: 1, rows, window_ns: slice.window_ns as f64, ..Work::default() };
            (slice.sequence, slice.round, treatment, done)
        });
        blocks.entry(run.block).or_default().extend(slices);
    }
    blocks.values_mut().for_each(|slices| slices.sort_by_key(|(sequence, ..)| *sequence));
    blocks
}

/// The phases of a block that begin with a switch, each with its arm.
fn phases(study: &Study, slices: &[Taken]) -> Vec<(usize, Phase)> {
    let arms = study.arms();
    let arm_of = |treatment: usize| arms.iter().position(|arm| **arm == study.treatments[treatment].arm);
    let mut phases = Vec::new();
    let mut before = arms.iter().position(|arm| arm.is_as_found());
    for phase in slices.chunk_by(|one, next| arm_of(one.2) == arm_of(next.2)) {
        let arm = arm_of(phase[0].2);
        if let Some(at) = arm.filter(|_| arm != before) {
            phases.push((at, summed(phase)));
        }
        before = arm;
    }
    phases
}

fn summed(slices: &[Taken]) -> Phase {
    let first = slices.iter().map(|(_, round, ..)| *round).min();
    let mut phase = Phase::new();
    for (_, round, treatment, done) in slices {
        let sides = phase.entry(*treatment).or_default();
        let side = if Some(*round) == first { &mut sides.0 } else { &mut sides.1 };
        side.slices += done.slices;
        side.rows += done.rows;
        side.window_ns += done.window_ns;
    }
    phase
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use threadwise_study::SmtWay;

    /// A, A′ and a treatment, which alone is in an arm that is switched to.
    fn study() -> Study {
        let mut study = fixtures::study(&[""], &["off one-cpu 1"]);
        study.treatments[2].arm = Arm { smt: SmtWay::System, ..Arm::default() };
        study.design.rounds = 10;
        study
    }

    /// On, off, off, on: five rounds in each phase; the rate in the first round after a switch is `left` of the others'.
    fn runs(study: &Study, left: f64, blocks: u32) -> Vec<Run> {
        let of_block = |block: u32| {
            let scatter = 1.0 + 0.002 * f64::from(block % 3);
            study.treatments.iter().enumerate().map(move |(at, treatment)| {
                let is_off = at == 2;
                let is_first = |round: usize| if is_off { round == 0 } else { round == 5 };
                let rows = |round| if is_first(round) { 1e6 * left * scatter } else { 1e6 };
                let rows: Vec<u64> = (0..10).map(|round| rows(round) as u64).collect();
                let mut run = fixtures::run(block, &treatment.name, &rows);
                for slice in &mut run.slices {
                    let place = match (is_off, slice.round) {
                        (false, 0..5) => slice.round,
                        (false, _) => slice.round + 10,
                        (true, _) => slice.round + 5,
                    };
                    slice.sequence = u64::from(60 * block + 3 * place) + at as u64;
                }
                run
            })
        };
        (0..blocks).flat_map(of_block).collect()
    }

    fn settling(study: &Study, runs: &[Run]) -> Option<QuestionAnswer> {
        crate::analyse(study, runs, 1.0).found("settling").cloned()
    }

    #[test]
    fn first_rounds_after_a_switch_are_held_against_later_ones() {
        let study = study();
        let found = settling(&study, &runs(&study, 0.9, 8)).unwrap().estimates;
        assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["as found", "smt=system"]);
        for ratio in found.iter().map(|one| &one.ratio) {
            assert!(
                (ratio.value - 0.9).abs() < 0.003 && ratio.is_different() && ratio.blocks == 8,
                "{ratio:?}"
            );
            assert!(ratio.adjusted_low < ratio.low && ratio.adjusted_high > ratio.high, "{ratio:?}");
        }
        let none = settling(&study, &runs(&study, 1.0, 8)).unwrap().estimates;
        assert!(none.iter().all(|one| (one.ratio.value - 1.0).abs() < 0.01), "{none:?}");
    }

    #[test]
    fn the_first_phase_in_the_state_that_was_found_begins_without_a_switch() {
        let study = study();
        let runs = runs(&study, 0.9, 1);
        let blocks = blocks(&study, &runs);
        let arms: Vec<usize> = phases(&study, &blocks[&0]).into_iter().map(|(arm, _)| arm).collect();
        assert_eq!(arms, [1, 0]);
    }

    #[test]
    fn a_study_that_switches_nothing_has_none() {
        let mut study = study();
        let runs = runs(&study, 0.9, 8);
        study.treatments[2].arm = Arm::default();
        assert_eq!(settling(&study, &runs), None);
        study.treatments[2].arm = Arm { smt: SmtWay::System, ..Arm::default() };
        study.design.rounds = 1;
        assert_eq!(settling(&study, &runs), None);
    }
}
