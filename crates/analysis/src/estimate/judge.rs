//! Judges a family of comparisons together: one answer for each, by a margin that was set in advance.
//!
//! Sources: Student 1908 for the intervals; Holm 1979 for a family in which every answer must hold; Benjamini, Hochberg
//! 1995 and Benjamini, Yekutieli 2005 for many comparisons of which some are selected; Dunn, "Multiple comparisons
//! among means", J. American Statistical Association 56 (1961) for intervals that hold together (Bonferroni);
//! Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", J. Pharmacokinetics and
//! Biopharmaceutics 15 (1987) for equivalence; docs/METHODOLOGY.md, "One margin" and "Changes of what is not a rate".

use crate::{Direction, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::Answer;
use threadwise_statistics::{MeanEstimate, correlation, discoveries, holm, t_two_sided_p};

/// Share of `alpha` of a family of differences. The rest pays for correlation of blocks that few blocks do not show: at
/// a correlation of 0.3, intervals at 95% cover 93%.
pub(crate) const FAMILY_SHARE: f64 = 0.5;

/// The level of the first test in a family of this size.
pub(crate) fn family_alpha(alpha: f64, family: usize) -> f64 {
    FAMILY_SHARE * alpha / family.max(1) as f64
}

/// Common parameters of a family of ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Margin, as a fraction.
    pub margin: f64,
    /// 1 less the level of the intervals.
    pub alpha: f64,
    /// Which side of 1 is better.
    pub direction: Direction,
}

/// Judges a family of comparisons together: each with its mean of d over blocks (in logarithms) and the A/A result of
/// the same quantity, which decides nothing.
///
/// A ratio is called different from 1 in at most `alpha` of the families in which none differs (Holm). Each ratio is
/// called within the margin by two tests at `alpha`, so that of those at or beyond the margin at most `alpha` are
/// called so.
pub fn judge(family: &[(MeanEstimate, Option<f64>)], rule: Rule) -> Vec<Ratio> {
    let p_values: Vec<f64> = family.iter().map(|(mean, _)| mean.p()).collect();
    let steps = holm(&p_values, FAMILY_SHARE * rule.alpha);
    let judged = family.iter().zip(steps).map(|((mean, floor), step)| {
        let adjusted_p = (step.adjusted_p / FAMILY_SHARE).min(1.0);
        let levels =
            Levels { plain: rule.alpha, adjusted: step.interval_alpha, adjusted_p, family: family.len() };
        Ratio {
            floor: floor.filter(|floor| floor.is_finite()).map(f64::exp),
            ..estimate(mean, levels, rule).exp()
        }
    });
    judged.collect()
}

/// Judges many comparisons of which those that differ are selected, such as a table of queries.
///
/// Of those called different from 1 at most `alpha` are not, on average over studies (Benjamini, Hochberg), which is
/// less than [`judge`] promises and more than it finds. Their intervals, of which at most `alpha` miss on average, are
/// adjusted for selection (Benjamini, Yekutieli) and are shown; [`Ratio::level`] is their level. Those of the others
/// are at 1 − `alpha`. "Within the margin" is judged as in [`judge`].
pub fn judge_many(family: &[(MeanEstimate, Option<f64>)], rule: Rule) -> Vec<Ratio> {
    let p_values: Vec<f64> = family.iter().map(|(mean, _)| mean.p()).collect();
    let found = discoveries(&p_values, rule.alpha);
    let judged = family.iter().zip(found.adjusted_p).map(|((mean, floor), adjusted_p)| {
        let plain = if mean.p() <= found.interval_alpha { found.interval_alpha } else { rule.alpha };
        let levels = Levels { plain, adjusted: found.interval_alpha, adjusted_p, family: family.len() };
        Ratio {
            floor: floor.filter(|floor| floor.is_finite()).map(f64::exp),
            ..estimate(mean, levels, rule).exp()
        }
    });
    judged.collect()
}

/// One comparison of a family: its mean of d over blocks, in logarithms, and the A/A result of the same quantity.
pub type Judgeable = (MeanEstimate, Option<f64>);

/// Judges a family of which some members may be unknown, in their order.
pub fn judge_known(family: &[Option<Judgeable>], rule: Rule) -> Vec<Option<Ratio>> {
    let known: Vec<Judgeable> = family.iter().flatten().copied().collect();
    let mut ratios = judge(&known, rule).into_iter();
    family.iter().map(|member| member.and_then(|_| ratios.next())).collect()
}

/// The same of means without an A/A result.
pub fn judge_means(means: &[Option<MeanEstimate>], rule: Rule) -> Vec<Option<Ratio>> {
    judge_known(&means.iter().map(|mean| Some(((*mean)?, None))).collect::<Vec<_>>(), rule)
}

/// The means of series with one d per block, of which all have one coefficient for the correlation of neighbouring
/// blocks; `noise` is only for that.
pub fn means(series: &[Vec<f64>], noise: &[Vec<f64>]) -> Vec<Option<MeanEstimate>> {
    let all: Vec<&[f64]> = series.iter().chain(noise).map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    series.iter().map(|d| MeanEstimate::correlated(d, correlation::of_one(d, common))).collect()
}

/// Judges a family of changes of which the one that stands out is named: each with its mean over blocks, `None` if
/// unknown, which does not count in the family. Values stay on the scale of the means; see [`Ratio::exp`].
///
/// A change is shown in at most `share` of `alpha` of the families in which nothing changes (Holm). The adjusted intervals
/// are no narrower than Bonferroni's at level 1 − `alpha` / m, so that they hold for all m changes together.
pub fn together(means: &[Option<MeanEstimate>], share: f64, rule: Rule) -> Vec<Option<Ratio>> {
    let p_values: Vec<f64> = means.iter().flatten().map(MeanEstimate::p).collect();
    let family = p_values.len();
    let mut steps = holm(&p_values, share * rule.alpha).into_iter();
    let mut judged = |mean: &MeanEstimate| {
        let step = steps.next()?;
        let adjusted = step.interval_alpha.min(rule.alpha / family as f64);
        let adjusted_p = (step.adjusted_p / share).max(mean.p() * family as f64).min(1.0);
        Some(estimate(mean, Levels { plain: rule.alpha, adjusted, adjusted_p, family }, rule))
    };
    means.iter().map(|mean| mean.as_ref().and_then(&mut judged)).collect()
}

/// Judges series with one d per block, in block order. `twins` are those of A′ against A: they are not judged, but give
/// the correlation of neighbouring blocks, of which the family has one coefficient.
///
/// Degenerate cases: a series that is empty or has a number that is not finite gives `None`; one block has infinite intervals.
pub fn paired(series: &[Vec<f64>], twins: &[Vec<f64>], rule: Rule) -> Vec<Option<Ratio>> {
    together(&means(series, twins), FAMILY_SHARE, rule)
}

/// Judgement of one member of a family.
struct Levels {
    /// Its own interval is at level 1 − this.
    plain: f64,
    /// The deciding interval is at level 1 − this.
    adjusted: f64,
    adjusted_p: f64,
    family: usize,
}

/// An estimate on the scale of its mean, answered by its adjusted interval; two one-sided tests show more than that
/// does.
fn estimate(mean: &MeanEstimate, levels: Levels, rule: Rule) -> Ratio {
    let (low, high) = mean.interval(levels.plain);
    let (adjusted_low, adjusted_high) = mean.interval(levels.adjusted);
    let answer = match Answer::by_interval(adjusted_low.exp(), adjusted_high.exp(), rule.margin) {
        Answer::Undecided if equivalence_p(mean, rule.margin.ln_1p()) <= rule.alpha => Answer::Equivalent,
        answer => answer,
    };
    Ratio {
        value: mean.mean,
        low,
        high,
        unit: "1",
        adjusted_low,
        adjusted_high,
        blocks: mean.n as u32,
        level: 1.0 - levels.plain,
        p: mean.p(),
        adjusted_p: levels.adjusted_p,
        family: levels.family as u32,
        correlation: mean.correlation,
        floor: None,
        margin: rule.margin,
        answer,
        direction: rule.direction,
    }
}

/// The largest estimate, among those that are `shown` if there are any.
pub(crate) fn largest<T>(
    all: &[T],
    estimate: impl Fn(&T) -> &Ratio,
    shown: impl Fn(&Ratio) -> bool,
) -> Option<&T> {
    let by_size = |one: &&T, other: &&T| estimate(one).size().total_cmp(&estimate(other).size());
    let found = all.iter().filter(|one| shown(estimate(one))).max_by(by_size);
    found.or_else(|| all.iter().max_by(by_size))
}

/// d of one block: a treatment's value less the mean of its baselines'; `None` without a baseline.
pub fn paired_difference(treatment: f64, baselines: &[f64]) -> Option<f64> {
    Some(treatment - threadwise_statistics::mean(baselines.iter().copied())?)
}

/// p of the two one-sided tests that a mean is `margin` or more away from 0: the larger of both.
///
/// Degenerate cases: one block gives 1; no variance gives 0 within the margin and 1 outside.
pub fn equivalence_p(mean: &MeanEstimate, margin: f64) -> f64 {
    let distance = margin - mean.mean.abs();
    if mean.n < 2 || distance <= 0.0 {
        return 1.0;
    }
    // One side of the two-sided p, since the mean is within.
    t_two_sided_p(distance / mean.standard_error, mean.degrees).map_or(1.0, |p| p / 2.0)
}

/// A ratio with known bounds.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Bounded {
    /// Geometric mean over blocks of its lower bound.
    pub value_low: f64,
    /// Geometric mean over blocks of its upper bound.
    pub value_high: f64,
    /// Lower end of the adjusted interval of the lower bound; 0 with one block.
    pub adjusted_low: f64,
    /// Upper end of the adjusted interval of the upper bound; infinite with one block.
    pub adjusted_high: f64,
    /// Blocks.
    pub blocks: u32,
    /// p adjusted for the family by Holm's procedure, to be compared with the family's half of alpha.
    pub adjusted_p: f64,
    /// Margin, as a fraction.
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

/// p of the bound that is nearer to 1, if 1 is beyond it.
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
    let is_within = |distance: f64, mean: &MeanEstimate| {
        let p = t_two_sided_p(distance / mean.standard_error, mean.degrees);
        mean.n >= 2 && distance > 0.0 && p.is_none_or(|p| p / 2.0 <= rule.alpha)
    };
    is_within(low.mean + margin, low) && is_within(margin - high.mean, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::estimate::judge;

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
                    && (ratio.low, ratio.high) == (ratio.adjusted_low, ratio.adjusted_high)
            );
            assert!((ratio.low.ln() - mean.interval(0.03).0).abs() < 1e-12 && ratio.low > 1.0);
        }
        // 0.023 has p = 0.055 and its interval at 95%; what decides is at that of the selected.
        assert!(
            (many[4].level - 0.95).abs() < 1e-12 && many[4].adjusted_low < many[4].low && many[4].low < 1.0
        );
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

    /// Of changes of which none is too small to matter.
    const CHANGES: Rule = Rule { margin: 0.0, alpha: 0.05, direction: Direction::Neither };

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-3 * expected.abs(), "{got}, expected {expected}");
    }

    #[test]
    fn a_family_worked_by_hand() {
        // Mean 3, standard error √0.5 = 0.70711, t = 4.243 on 4 degrees, p = 0.01324; of the others p = 1.
        let series = [vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![-1.0, 0.0, 0.0, 0.0, 1.0]];
        let alone = paired(&series[..1], &[], CHANGES).remove(0).unwrap();
        // A family of one at half of alpha: t(0.9875, 4) = 3.4954.
        close(alone.low, 3.0 - 2.7764 * 0.5f64.sqrt());
        close(alone.adjusted_high, 3.0 + 3.4954 * 0.5f64.sqrt());
        close(alone.adjusted_p, 2.0 * 0.01324);
        assert!(alone.is_different());
        let two = paired(&series, &[], CHANGES);
        let first = two[0].clone().unwrap();
        // t(0.99375, 4) = 4.3147 exceeds 4.243: among two it is not shown.
        close(first.adjusted_high, 3.0 + 4.3147 * 0.5f64.sqrt());
        close(first.adjusted_p, 4.0 * 0.01324);
        assert!(!first.is_different() && first.family == 2);
        assert_eq!(
            two[1].as_ref().map(|second| (second.adjusted_p, second.is_different())),
            Some((1.0, false))
        );
    }

    #[test]
    fn intervals_hold_together_and_agree_with_p() {
        // The last of many rejections has Holm's level 1 − alpha / 2, which holds for it alone.
        let clear = |at: usize| (0..8).map(|block| 1.0 + 0.05 * ((block * (at + 3)) % 7) as f64).collect();
        let series: Vec<Vec<f64>> = (0..10).map(clear).collect();
        for (d, one) in series.iter().zip(paired(&series, &[], CHANGES).into_iter().flatten()) {
            let (low, high) = MeanEstimate::correlated(d, one.correlation).unwrap().interval(0.05 / 10.0);
            assert!(one.adjusted_low <= low && one.adjusted_high >= high);
            assert_eq!(one.is_different(), one.adjusted_p <= 0.05);
        }
    }

    #[test]
    fn too_little_to_say() {
        let series = [vec![], vec![f64::NAN, 1.0], vec![0.5], vec![0.0; 8]];
        let got = paired(&series, &[], CHANGES);
        assert_eq!((&got[0], &got[1]), (&None, &None));
        let (one, flat) = (got[2].clone().unwrap(), got[3].clone().unwrap());
        assert!(one.adjusted_low.is_infinite() && !one.is_different() && one.family == 2);
        assert!(!flat.is_different() && flat.adjusted_p == 1.0);
        assert_eq!((paired_difference(1.0, &[]), paired_difference(0.5, &[0.1, 0.3])), (None, Some(0.3)));
    }

    const RULE: Rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::LowerIsBetter };

    #[test]
    fn bounds_that_are_equal_are_a_ratio() {
        let means = [of(0.06, 0.01), of(-0.02, 0.003), of(0.04, 0.01), of(0.0, 0.014), of(0.05, 0.03)];
        let ratios = judge(&means.map(|mean| (mean, None)), RULE);
        for (bounded, ratio) in judge_bounded(&means.map(|mean| (mean, mean)), RULE).iter().zip(ratios) {
            assert_eq!(bounded.answer, ratio.answer);
            assert_eq!(
                (bounded.adjusted_low, bounded.adjusted_high),
                (ratio.adjusted_low, ratio.adjusted_high)
            );
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
