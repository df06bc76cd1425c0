//! Whether the first block differs from the others: what a machine or a server does only once, at the start of a study.
//!
//! For each comparison d of the first block less the mean of d over the others. One block against n has the variance
//! s²(1 + 1/n), with s² that of the others (Student's prediction interval). All comparisons are one family
//! (`estimate::judge`); blocks left out do not count, so the first is the first that does.

use super::QuestionAnswer;
use crate::estimate::sides::Sides;
use crate::estimate::{ObservedBlock, Work, block_difference, judge_means};
use crate::question::{Case, Question};
use crate::words::changed;
use crate::{Estimate, Facts};
use threadwise_document::{Prose, prose};
use threadwise_statistics::MeanEstimate;

pub(crate) const FIRST_BLOCK: Question = Question {
    ask,
    method: |facts| facts.of_question("first-block", paragraph),
    ..Question::new("first-block")
};

fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    // At a rate throughput is what arrives.
    let compared = case.study().comparisons.iter().filter(|_| !case.study().is_at_a_rate());
    let compared: Vec<_> = compared.filter_map(|one| Some((one, Sides::of(case.study(), one)?))).collect();
    let series = |sides: &Sides| -> Vec<f64> {
        let of_block = |block: &ObservedBlock| {
            let rounds = |at: &usize| Some(case.observed.usable(block, *at)?.rounds.as_slice());
            let below: Option<Vec<&[Work]>> = sides.below.iter().map(rounds).collect();
            block_difference(rounds(&sides.top)?, &below?, Work::rows_per_s)
        };
        case.observed.blocks.iter().filter_map(of_block).collect()
    };
    let means: Vec<_> = compared.iter().map(|(_, sides)| apart(&series(sides))).collect();
    let judged = judge_means(&means, case.rule());
    let estimates = compared.iter().zip(judged).filter_map(|((one, _), ratio)| {
        Some(Estimate::of(FIRST_BLOCK.name, &one.name, &one.treatment, &one.baseline.join(" and "), ratio?))
    });
    let estimates: Vec<Estimate> = estimates.collect();
    (!estimates.is_empty()).then(|| QuestionAnswer { estimates, ..QuestionAnswer::default() })
}

/// The first of some numbers less the mean of the others; `None` of fewer than three.
pub fn apart(d: &[f64]) -> Option<MeanEstimate> {
    let (first, others) = d.split_first().filter(|(_, others)| others.len() >= 2)?;
    let mean = MeanEstimate::of(others)?;
    let standard_error = mean.standard_error * (1.0 + others.len() as f64).sqrt();
    Some(MeanEstimate { n: d.len(), mean: first - mean.mean, standard_error, ..mean })
}

fn paragraph(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let largest = found.shown().max_by(|one, other| one.ratio.size().total_cmp(&other.ratio.size()))?;
    Some(prose!(
        "The first block differs from the others: {} is {} there.",
        facts.compared(largest).join(" "),
        changed(&largest.ratio)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_is_compared_with_the_spread_of_the_others() {
        let mean = apart(&[1.0, 0.0, 0.2, -0.2, 0.0]).unwrap();
        assert!((mean.mean - 1.0).abs() < 1e-12 && mean.degrees == 3.0 && mean.n == 5);
        // s² = 0.08 / 3 of four numbers; 1 + 1/4.
        assert!((mean.standard_error - (0.08_f64 / 3.0 * 1.25).sqrt()).abs() < 1e-12, "{mean:?}");
        assert_eq!(apart(&[1.0, 0.0]), None);
    }
}
