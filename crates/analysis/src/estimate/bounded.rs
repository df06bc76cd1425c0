//! Ratios that are known within bounds, judged together by the five answers.
//!
//! The bounds of a block are bounds of its ratio, so the mean of the lower ones is at or below the truth and that of the
//! upper ones at or above it. A difference is shown where the lower bound is shown to be above 1, or the upper one below:
//! where the true ratio is 1 each has at most half of the error, as in a two-sided test (Imbens, Manski, Econometrica 72,
//! 2004, who allow narrower intervals). Family, margin and answers as in [`super::judge`].

use super::judge::{FAMILY_SHARE, Rule};
use serde::Serialize;
use threadwise_document::Answer;
use threadwise_statistics::{MeanEstimate, holm, t_two_sided_p};

/// A ratio that is known within bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounded {
    /// Geometric mean over blocks of its lower bound.
    pub value_low: f64,
    /// The same of its upper bound.
    pub value_high: f64,
    /// Lower end of the adjusted interval of the lower bound; 0 with one block.
    pub adjusted_low: f64,
    /// Upper end of the adjusted interval of the upper bound; infinite with one block.
    pub adjusted_high: f64,
    /// Blocks.
    pub blocks: u32,
    /// p adjusted for the family by Holm's procedure, to be compared with the family's half of alpha.
    pub adjusted_p: f64,
    /// What is too small to matter, as a fraction.
    pub margin: f64,
    /// The answer.
    pub answer: Answer,
}

/// Judges a family of ratios, each with the means over blocks of the logarithms of its lower and upper bound.
///
/// Degenerate cases: one block is undecided; without variance the intervals are the bounds themselves.
pub fn judge_bounded(family: &[(MeanEstimate, MeanEstimate)], rule: Rule) -> Vec<Bounded> {
    let p_values: Vec<f64> = family.iter().map(|(low, high)| p(low, high)).collect();
    let steps = holm(&p_values, FAMILY_SHARE * rule.alpha);
    let judged = family.iter().zip(steps).map(|((low, high), step)| {
        let (adjusted_low, _) = low.interval(step.interval_alpha);
        let (_, adjusted_high) = high.interval(step.interval_alpha);
        let by_interval = Answer::by_interval(adjusted_low.exp(), adjusted_high.exp(), rule.margin);
        let answer = match by_interval {
            Answer::Undecided if is_equivalent(low, high, rule) => Answer::Equivalent,
            answer => answer,
        };
        Bounded {
            value_low: low.mean.exp(),
            value_high: high.mean.exp(),
            adjusted_low: adjusted_low.exp(),
            adjusted_high: adjusted_high.exp(),
            blocks: low.n as u32,
            adjusted_p: step.adjusted_p,
            margin: rule.margin,
            answer,
        }
    });
    judged.collect()
}

/// p of the bound that is nearer to 1, where 1 is beyond it.
fn p(low: &MeanEstimate, high: &MeanEstimate) -> f64 {
    match (low.mean > 0.0, high.mean < 0.0) {
        (true, _) => low.p(),
        (_, true) => high.p(),
        _ => 1.0,
    }
}

/// Two one-sided tests at alpha: the lower bound above the margin's lower end, the upper bound below its upper end.
fn is_equivalent(low: &MeanEstimate, high: &MeanEstimate, rule: Rule) -> bool {
    let margin = rule.margin.ln_1p();
    let is_within = |room: f64, mean: &MeanEstimate| {
        let p = t_two_sided_p(room / mean.standard_error, mean.degrees);
        mean.n >= 2 && room > 0.0 && p.is_none_or(|p| p / 2.0 <= rule.alpha)
    };
    is_within(low.mean + margin, low) && is_within(margin - high.mean, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::estimate::judge;

    const RULE: Rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::LowerIsBetter };

    fn of(mean: f64, standard_error: f64) -> MeanEstimate {
        MeanEstimate { n: 8, mean, standard_error, correlation: 0.0, degrees: 7.0 }
    }

    #[test]
    fn bounds_that_are_equal_are_a_ratio() {
        let means = [of(0.06, 0.01), of(-0.02, 0.003), of(0.04, 0.01), of(0.0, 0.014), of(0.05, 0.03)];
        let ratios = judge(&means.map(|mean| (mean, None)), RULE);
        for (bounded, ratio) in judge_bounded(&means.map(|mean| (mean, mean)), RULE).iter().zip(ratios) {
            assert_eq!(bounded.answer, ratio.answer);
            assert_eq!((bounded.adjusted_low, bounded.adjusted_high), (ratio.holm_low, ratio.holm_high));
        }
    }

    #[test]
    fn what_lies_between_bounds_is_not_decided() {
        let answer = |low: f64, high: f64| judge_bounded(&[(of(low, 0.01), of(high, 0.01))], RULE)[0].answer;
        // t(0.9875, 7) = 2.841; ln 1.03 = 0.0296; t(0.95, 7) = 1.895.
        assert_eq!(answer(0.06, 0.5), Answer::Larger);
        assert_eq!(answer(-0.5, -0.06), Answer::Smaller);
        assert_eq!(answer(0.035, 0.5), Answer::SizeOpen);
        assert_eq!(answer(-0.2, 0.2), Answer::Undecided);
        assert_eq!((answer(-0.01, 0.01), answer(-0.01, 0.011)), (Answer::Equivalent, Answer::Undecided));
        let one = MeanEstimate { n: 1, degrees: 0.0, standard_error: f64::INFINITY, ..of(1.0, 1.0) };
        assert_eq!(judge_bounded(&[(one, one)], RULE)[0].answer, Answer::Undecided);
    }
}
