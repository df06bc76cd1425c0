//! Ratios of arms: each treatment with itself, and the fastest of one with the fastest of the other.

use super::types::{ArmRatio, BootRates};
use crate::Ratio;
use crate::estimate::{Rule, judge};
use threadwise_statistics::{mean, welch};
use threadwise_study::{External, Role, Study};

/// Ratios of pairs of arms, judged together: of each pair the mean of ln(rate) of every boot of the arm on top, and of
/// every boot of the arm below. A pair of which an arm has no boot is left out.
pub fn differences(pairs: &[(Vec<f64>, Vec<f64>)], rule: Rule) -> Vec<Option<Ratio>> {
    let means: Vec<_> = pairs.iter().map(|(top, below)| welch(top, below)).collect();
    let family: Vec<_> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge(&family, rule).into_iter();
    means.iter().map(|mean| mean.and_then(|_| judged.next())).collect()
}

/// The treatment, by index, with the largest mean over boots of ln(rate). Those that were not measured on the most boots
/// take no part.
pub fn fastest(by_treatment: &[Vec<f64>]) -> Option<usize> {
    let most = by_treatment.iter().map(Vec::len).max().filter(|most| *most > 0)?;
    let means = by_treatment.iter().enumerate().filter(|(_, boots)| boots.len() == most);
    let rated = means.filter_map(|(at, boots)| Some((at, mean(boots.iter().copied())?)));
    rated.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// Two treatments, by index in the study, of an arm and of the first one.
struct Pair<'a> {
    arm: &'a str,
    top: usize,
    below: usize,
    fastest: bool,
}

/// All ratios of a study.
pub(super) fn ratios(study: &Study, external: &External, boots: &[BootRates], rule: Rule) -> Vec<ArmRatio> {
    let Some((first, others)) = external.arms.split_first() else { return Vec::new() };
    let of_arm = |arm: &str, at: usize| -> Vec<f64> {
        let name = &study.treatments[at].name;
        boots
            .iter()
            .filter(|boot| boot.is_of(arm))
            .filter_map(|boot| Some(boot.rate(name)?.ln_rate))
            .collect()
    };
    // The twin of a baseline is the same treatment.
    let once: Vec<usize> =
        (0..study.treatments.len()).filter(|at| study.treatments[*at].role != Role::BaselineTwin).collect();
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for arm in others {
        let both =
            once.iter().copied().filter(|at| !of_arm(arm, *at).is_empty() && !of_arm(first, *at).is_empty());
        pairs.extend(both.map(|at| Pair { arm, top: at, below: at, fastest: false }));
        for group in study.groups() {
            let members: Vec<usize> =
                once.iter().copied().filter(|at| study.treatments[*at].group == group).collect();
            let best = |arm: &str| {
                let all: Vec<Vec<f64>> = members.iter().map(|at| of_arm(arm, *at)).collect();
                fastest(&all).map(|at| members[at])
            };
            let found = best(arm).zip(best(first)).filter(|(top, below)| top != below);
            pairs.extend(found.map(|(top, below)| Pair { arm, top, below, fastest: true }));
        }
    }
    let series: Vec<(Vec<f64>, Vec<f64>)> =
        pairs.iter().map(|pair| (of_arm(pair.arm, pair.top), of_arm(first, pair.below))).collect();
    let judged = differences(&series, rule);
    let all = pairs.iter().zip(&series).zip(judged);
    all.filter_map(|((pair, (top, below)), ratio)| {
        Some(ArmRatio {
            arm: pair.arm.to_owned(),
            treatment: study.treatments[pair.top].name.clone(),
            boots: top.len() as u32,
            baseline_arm: first.clone(),
            baseline_treatment: study.treatments[pair.below].name.clone(),
            baseline_boots: below.len() as u32,
            fastest: pair.fastest,
            ratio: ratio?,
        })
    })
    .collect()
}
