//! Ratios by long windows beside those by slices.
//!
//! Sources: Student 1908; Scheffé, "Practical solutions of the Behrens-Fisher problem", J. American Statistical Association
//! 65 (1970), for the difference of two means with unequal variances; Holm 1979 for the family.

use super::types::RatioBy;
use super::windows::Windows;
use crate::estimate::{Rule, THROUGHPUT, family_alpha, judge, standard_error};
use crate::{Analysis, Estimate};
use threadwise_statistics::{MeanEstimate, t_quantile};
use threadwise_study::{Role, Study};

/// How often a difference is found that is called detectable.
const POWER: f64 = 0.8;

/// The mean of long windows less that of slices, in logarithms. Both are of other blocks, and taken for independent:
/// what they have in common makes the true variance smaller.
///
/// It has the degrees of freedom of the smaller sample, with which a test errs no more often than it says. Welch's, which
/// are more, are estimated themselves: with three long windows they let through 5.7% of studies of nothing.
///
/// Degenerate cases: fewer than two blocks of either have an infinite standard error.
pub fn difference(long: &MeanEstimate, slices: &MeanEstimate) -> MeanEstimate {
    let is_known = long.n >= 2 && slices.n >= 2;
    let standard_error = long.standard_error.hypot(slices.standard_error);
    MeanEstimate {
        n: if is_known { long.n.min(slices.n) } else { 1 },
        mean: long.mean - slices.mean,
        standard_error: if is_known { standard_error } else { f64::INFINITY },
        correlation: 0.0,
        degrees: long.degrees.min(slices.degrees),
    }
}

/// Judges the differences of all treatments together: that one is not 0 is said in at most `alpha` of the studies in
/// which none is.
pub fn differences(means: &[(MeanEstimate, MeanEstimate)], rule: Rule) -> Vec<crate::Ratio> {
    let family: Vec<_> = means.iter().map(|(long, slices)| (difference(long, slices), None)).collect();
    judge(&family, rule)
}

/// Of each treatment, in study order; `None` of baselines and where one of both is not known.
pub fn compared(
    study: &Study,
    analysis: &Analysis,
    windows: &Windows<'_>,
    rule: Rule,
) -> Vec<Option<RatioBy>> {
    let mut found: Vec<Option<RatioBy>> = vec![None; study.treatments.len()];
    let mut known: Vec<(usize, (MeanEstimate, MeanEstimate))> = Vec::new();
    for (at, treatment) in study.treatments.iter().enumerate() {
        if treatment.role != Role::Compared {
            continue;
        }
        let twins = with_role(study, &treatment.group, Role::BaselineTwin);
        let below = [with_role(study, &treatment.group, Role::Baseline), twins].concat();
        let long = MeanEstimate::of(&windows.ratios(at, &below));
        known.extend(long.zip(by_slices(analysis, &treatment.name)).map(|both| (at, both)));
    }
    let means: Vec<(MeanEstimate, MeanEstimate)> = known.iter().map(|(_, both)| *both).collect();
    let alone = |mean: &MeanEstimate| judge(&[(*mean, None)], rule).pop();
    for ((at, (long, slices)), judged) in known.iter().zip(differences(&means, rule)) {
        let both = alone(long).zip(alone(slices));
        found[*at] = both.map(|(by_long_windows, by_slices)| RatioBy {
            by_long_windows,
            by_slices,
            difference: judged,
            detectable: detectable(&difference(long, slices), family_alpha(rule.alpha, known.len())),
        });
    }
    found
}

/// The change that a test at `alpha` finds in four of five studies with this standard error, as a fraction.
fn detectable(difference: &MeanEstimate, alpha: f64) -> Option<f64> {
    if difference.n < 2 {
        return None;
    }
    let quantiles =
        t_quantile(1.0 - alpha / 2.0, difference.degrees)? + t_quantile(POWER, difference.degrees)?;
    Some((quantiles * difference.standard_error).exp_m1()).filter(|change| change.is_finite())
}

/// The ratio of each treatment to its baseline by slices, as a mean of logarithms.
fn by_slices(analysis: &Analysis, treatment: &str) -> Option<MeanEstimate> {
    let is_it = |estimate: &&Estimate| {
        estimate.kind == "baseline" && estimate.treatment == treatment && estimate.metric == THROUGHPUT
    };
    let ratio = &analysis.estimates.iter().find(is_it)?.ratio;
    Some(MeanEstimate {
        n: ratio.blocks as usize,
        mean: ratio.value.ln(),
        standard_error: standard_error(ratio)?,
        correlation: 0.0,
        degrees: f64::from(ratio.blocks) - 1.0,
    })
}

/// Treatments of a group with a role.
fn with_role(study: &Study, group: &str, role: Role) -> Vec<usize> {
    let all = study.treatments.iter().enumerate();
    all.filter(|(_, one)| one.group == group && one.role == role).map(|(at, _)| at).collect()
}
