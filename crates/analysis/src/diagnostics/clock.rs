//! Whether the clock of the busy logical CPUs differs between treatments, paired by block.
//!
//! Only the processor's own counters are used: cpufreq's figure may be the requested clock. Method: `estimate::judge`;
//! docs/METHODOLOGY.md, "Clock and power of each treatment".

use super::answer::QuestionAnswer;
use crate::estimate::sides::Sides;
use crate::estimate::{Digest, paired};
use crate::question::{Case, Question};
use crate::words::{finding, limited};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use threadwise_document::numbers::percent;
use threadwise_document::prose;

pub(crate) const CLOCK: Question = Question {
    ask,
    findings: |facts| facts.of_question("clock", said).into_iter().collect(),
    ..Question::new("clock")
};

/// Most comparisons in the sentence.
const MAX_SHOWN: usize = 3;

/// One estimate for each comparison whose sides both have a clock, judged together.
fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let log = |run: &Digest| run.telemetry.counted_mhz.map(f64::ln);
    let series = |sides: &Sides| case.observed.differences(sides.top, &sides.below, &log).d;
    let all = case.study().comparisons.iter();
    let compared = all.filter_map(|one| Some((one, series(&Sides::of(case.study(), one)?))));
    let compared: Vec<_> = compared.filter(|(_, d)| !d.is_empty()).collect();
    let twins: Vec<Vec<f64>> = Sides::all_twins(case.study()).iter().map(series).collect();
    let by_block: Vec<Vec<f64>> = compared.iter().map(|(_, d)| d.clone()).collect();
    let judged = paired(&by_block, &twins, case.rule());
    let estimates = compared.iter().zip(judged).filter_map(|((one, _), judged)| {
        Some(Estimate::of(CLOCK.name, &one.name, &one.treatment, &one.baseline.join(" and "), judged?.exp()))
    });
    let estimates: Vec<Estimate> = estimates.collect();
    (!estimates.is_empty()).then(|| QuestionAnswer { estimates, ..QuestionAnswer::default() })
}

/// Largest possible difference of the clock in any of the comparisons, in logarithms: the furthest end of their
/// adjusted intervals, which hold together. `None` without a comparison.
pub fn furthest<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Option<f64> {
    ratios.map(|one| one.adjusted_low.ln().abs().max(one.adjusted_high.ln().abs())).reduce(f64::max)
}

/// Whether the clock is shown to differ, possibly by more than a margin, in logarithms.
pub fn differs(ratio: &Ratio, margin: f64) -> bool {
    ratio.is_different() && furthest(std::iter::once(ratio)).is_some_and(|reach| reach > margin)
}

/// The clock, if it explains something or rules it out.
fn said(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Finding> {
    let margin = facts.study.design.margin.ln_1p();
    let named = |all: &[&Estimate]| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let clock: Vec<&Estimate> = found.estimates.iter().collect();
    let names = named(&clock);
    let is_of_all = facts.study.comparisons.iter().all(|comparison| names.contains(&comparison.name));
    let bound = furthest(clock.iter().map(|one| &one.ratio))?;
    let (text, names) = if is_of_all && bound <= margin {
        let text = prose!(
            "Clock: that of the busy logical CPUs was the same in all treatments within {}, so it explains no more \
             than that of any ratio.",
            percent(bound.exp_m1())
        );
        (text, names)
    } else {
        let different: Vec<&Estimate> = clock.into_iter().filter(|one| differs(&one.ratio, margin)).collect();
        let clauses = different.iter().map(|one| {
            let below = one.baseline.split(" and ").next().unwrap_or(&one.baseline);
            prose!("{} {} of that of {}", &one.treatment, &one.ratio.decisive().interval(), below)
        });
        (prose!("Clock of the busy logical CPUs: {}.", limited(clauses, MAX_SHOWN)?), named(&different))
    };
    Some(finding(FindingKind::Clock, text, &names.iter().map(String::as_str).collect::<Vec<_>>()))
}
