//! Judging a family of comparisons together: one answer for each, by a margin that was set before.
//!
//! Sources: Holm 1979 for a family each of whose answers must hold; Benjamini, Hochberg 1995 and Benjamini, Yekutieli 2005
//! for one of many of which some are named; Schuirmann, "A comparison of the two one-sided tests procedure and the power
//! approach", J. Pharmacokinetics and Biopharmaceutics 15 (1987) for equivalence; docs/METHODOLOGY.md, "One margin".

use crate::{Direction, Ratio};
use threadwise_document::Answer;
use threadwise_statistics::{MeanEstimate, discoveries, holm, t_two_sided_p};

/// Share of `alpha` that a family of differences gets. The rest pays for the correlation of blocks that so few of
/// them do not show: where it is 0.3, intervals at 95% cover 93%.
pub(crate) const FAMILY_SHARE: f64 = 0.5;

/// The level at which a family of so many is begun to be tested.
pub(crate) fn family_alpha(alpha: f64, family: usize) -> f64 {
    FAMILY_SHARE * alpha / family.max(1) as f64
}

/// What the ratios of a family have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// What is too small to matter, as a fraction.
    pub margin: f64,
    /// 1 less the level of the intervals.
    pub alpha: f64,
    /// Which side of 1 is better.
    pub direction: Direction,
}

/// Judges a family of comparisons together: each with its mean of d over blocks (in logarithms) and what A/A showed
/// of the same quantity, which decides nothing.
///
/// That a ratio differs from 1 is said in at most `alpha` of the families in which none does (Holm). That one is
/// within the margin is said of each by two tests at `alpha`, so that of those at or beyond the margin at most
/// `alpha` are called so.
pub fn judge(family: &[(MeanEstimate, Option<f64>)], rule: Rule) -> Vec<Ratio> {
    let p_values: Vec<f64> = family.iter().map(|(estimate, _)| estimate.p()).collect();
    let steps = holm(&p_values, FAMILY_SHARE * rule.alpha);
    let judged = family.iter().zip(steps);
    judged.map(|((mean, floor), step)| ratio(mean, *floor, (rule.alpha, step.interval_alpha), rule)).collect()
}

/// Judges many comparisons of which those that differ will be named, such as a table of queries.
///
/// Of those that are said to differ from 1 at most `alpha` do not, on average over studies (Benjamini, Hochberg), which is
/// less than [`judge`] promises and more than it finds. Their intervals, of which at most `alpha` miss on average, are
/// adjusted for having been selected (Benjamini, Yekutieli) and are what is shown; [`Ratio::level`] says theirs. Those of
/// the others are at 1 − `alpha`. That one is within the margin is said as in [`judge`].
pub fn judge_many(family: &[(MeanEstimate, Option<f64>)], rule: Rule) -> Vec<Ratio> {
    let p_values: Vec<f64> = family.iter().map(|(estimate, _)| estimate.p()).collect();
    let adjusted = discoveries(&p_values, rule.alpha).interval_alpha;
    let judged = family.iter().map(|(mean, floor)| {
        let is_selected = mean.p() <= adjusted;
        ratio(mean, *floor, (if is_selected { adjusted } else { rule.alpha }, adjusted), rule)
    });
    judged.collect()
}

/// A ratio with its interval and the one that decides, at 1 less these.
fn ratio(mean: &MeanEstimate, floor: Option<f64>, (shown, adjusted): (f64, f64), rule: Rule) -> Ratio {
    let (low, high) = mean.interval(shown);
    let (holm_low, holm_high) = mean.interval(adjusted);
    Ratio {
        value: mean.mean.exp(),
        low: low.exp(),
        high: high.exp(),
        holm_low: holm_low.exp(),
        holm_high: holm_high.exp(),
        blocks: mean.n as u32,
        level: 1.0 - shown,
        floor: floor.filter(|floor| floor.is_finite()).map(f64::exp),
        margin: rule.margin,
        answer: answer(mean, (holm_low, holm_high), rule),
        direction: rule.direction,
    }
}

/// The answer to one comparison, by its adjusted interval; two one-sided tests show more than that does.
fn answer(mean: &MeanEstimate, (low, high): (f64, f64), rule: Rule) -> Answer {
    match Answer::by_interval(low.exp(), high.exp(), rule.margin) {
        Answer::Undecided if equivalence_p(mean, rule.margin.ln_1p()) <= rule.alpha => Answer::Equivalent,
        answer => answer,
    }
}

/// p of the two one-sided tests that a mean is `margin` or more away from 0: the larger of both.
///
/// Degenerate cases: one block gives 1; no variance gives 0 within the margin and 1 outside.
pub fn equivalence_p(mean: &MeanEstimate, margin: f64) -> f64 {
    let room = margin - mean.mean.abs();
    if mean.n < 2 || room <= 0.0 {
        return 1.0;
    }
    // One side of the two-sided p, since there is room left.
    t_two_sided_p(room / mean.standard_error, mean.degrees).map_or(1.0, |p| p / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, standard_error: f64) -> MeanEstimate {
        MeanEstimate { n: 8, mean, standard_error, correlation: 0.0, degrees: 7.0 }
    }

    fn answers(family: &[MeanEstimate]) -> Vec<Answer> {
        let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::HigherIsBetter };
        let family: Vec<_> = family.iter().map(|mean| (*mean, None)).collect();
        judge(&family, rule).iter().map(|ratio| ratio.answer).collect()
    }

    #[test]
    fn each_comparison_has_one_of_five_answers() {
        // A family of one has t(0.9875, 7) = 2.841; t(0.95, 7) = 1.895; ln 1.03 = 0.0296.
        for (mean, standard_error, answer) in [
            (0.06, 0.01, Answer::Larger),
            (-0.06, 0.01, Answer::Smaller),
            (0.02, 0.003, Answer::WithinMargin),
            (-0.02, 0.003, Answer::WithinMargin),
            (0.04, 0.01, Answer::SizeOpen),
            (0.0, 0.0150, Answer::Equivalent),
            (0.0, 0.0160, Answer::Undecided),
            (0.029, 0.013, Answer::Undecided),
            (-0.029, 0.013, Answer::Undecided),
            (0.05, 0.03, Answer::Undecided),
        ] {
            assert_eq!(answers(&[of(mean, standard_error)]), [answer], "{mean} {standard_error}");
        }
        let one_block =
            MeanEstimate { n: 1, mean: 0.0, standard_error: f64::INFINITY, correlation: 0.0, degrees: 0.0 };
        assert_eq!(answers(&[one_block]), [Answer::Undecided]);
        assert_eq!(answers(&[of(0.0, 0.0), of(0.01, 0.0)]), [Answer::Equivalent, Answer::WithinMargin]);
    }

    #[test]
    fn of_many_the_selected_have_intervals_for_the_selected() {
        let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::HigherIsBetter };
        // p of t = 6, 5, 3 on 7 degrees: 0.0005, 0.0016, 0.02. Three of five are selected: 0.02 <= 3 · 0.05 / 5, and
        // Holm's procedure at half of alpha would stop at 0.025 / 4 before the third.
        let family = [0.06, 0.05, 0.03, 0.0, 0.023].map(|mean| (of(mean, 0.01), None));
        let many = judge_many(&family, rule);
        let different: Vec<bool> = many.iter().map(Ratio::is_different).collect();
        assert_eq!(different, [true, true, true, false, false]);
        assert!(!judge(&family, rule)[2].is_different());
        for (ratio, (mean, _)) in many[..3].iter().zip(family) {
            assert!(
                (ratio.level - 0.97).abs() < 1e-12
                    && (ratio.low, ratio.high) == (ratio.holm_low, ratio.holm_high)
            );
            assert!((ratio.low.ln() - mean.interval(0.03).0).abs() < 1e-12 && ratio.low > 1.0);
        }
        // 0.023 has p = 0.055 and its interval at 95%; what decides is at that of the selected.
        assert!((many[4].level - 0.95).abs() < 1e-12 && many[4].holm_low < many[4].low && many[4].low < 1.0);
        assert_eq!((many[3].answer, many[4].answer), (Answer::Equivalent, Answer::Undecided));
        // None is selected: the smallest p must be within alpha / m.
        assert!(judge_many(&family[2..], rule).iter().all(|ratio| !ratio.is_different()));
        assert!(judge_many(&[], rule).is_empty());
    }

    #[test]
    fn differences_are_adjusted_for_the_family_and_equivalence_is_not() {
        // p of t = 2.9 on 7 degrees is 0.023: alone a difference, of five not.
        let alone = of(0.029, 0.01);
        assert_eq!(answers(&[alone]), [Answer::SizeOpen]);
        let family = [alone, of(0.0, 0.01), of(0.0, 0.01), of(0.0, 0.01), of(0.0, 0.014)];
        assert_eq!(answers(&family)[0], Answer::Undecided);
        assert!(answers(&family)[1..].iter().all(|answer| *answer == Answer::Equivalent));
    }
}
