//! Did it change? Studies before and after, with the study as the unit.
//!
//! Studies of one machine differ from hour to hour by more than the interval of either says, since its blocks share the
//! hour (Kalibera, Jones, ISMM 2013: intervals are made at the highest level of repetition). So a study is one number
//! per treatment, the mean of its logarithm over blocks, and a change is the difference of the means over studies, by
//! Welch's t (Biometrika 34, 1947); of pairs that were run in turns, by Student's t of their differences. All
//! treatments are one family, all comparisons another (Holm 1979, each at half of alpha). Its error rate is simulated
//! (docs/METHODOLOGY.md, "Did it change?").

mod document;
mod obstacles;

#[cfg(test)]
mod tests;

pub use document::{answer, document, reach_words};
pub use obstacles::{MIN_STUDIES, Sides, check};

use super::aspects::{Aspect, apart, aspects, once};
use super::rates::{Quantity, rule};
use super::{StudyLine, note};
use crate::estimate::{Rule, judge, judge_means};
use crate::external_arms::differences;
use crate::groups::distinct;
use crate::{Answer, Direction, Facts, Interval, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::Mark;
use threadwise_statistics::{MeanEstimate, geometric, summary, t_two_sided_p, welch, welch_of};

/// Studies per side beyond which the number that would show the margin is not given.
const MOST_STUDIES: u32 = 1000;

/// Result of comparing studies of two sides.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Change<'a> {
    /// What is compared.
    pub quantity: Quantity,
    /// Studies before.
    pub studies_before: u32,
    /// Studies after.
    pub studies_after: u32,
    /// Whether they are pairs.
    #[serde(rename = "paired")]
    pub is_paired: bool,
    /// Margin, as a fraction: the largest of the studies.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Treatment by treatment, in the order of the first study.
    pub treatments: Vec<Changed<'a>>,
    /// Ratios of the study's comparisons, after over before, likewise.
    pub comparisons: Vec<Changed<'a>>,
    /// Treatments that are not compared.
    pub left_out: Vec<LeftOut>,
    /// Obstacles to a claim, one per line; empty without any.
    pub obstacles: Vec<String>,
    /// Cautions for the reader, one per line.
    #[serde(skip)]
    pub cautions: Vec<String>,
    /// What is the same and what differs.
    #[serde(skip)]
    pub aspects: Vec<Aspect>,
    /// The studies, those of before first.
    #[serde(skip)]
    pub studies: Vec<StudyLine<'a>>,
    /// What may be compared, and what may not.
    #[serde(skip)]
    pub note: &'static str,
}

/// A treatment that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Whether every study before has figures of it: what it did after may be worse.
    #[serde(rename = "measured_before")]
    pub was_measured_before: bool,
}

/// The answer for one treatment or comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerdict {
    /// Shown to be better than before.
    Better,
    /// Shown to be worse.
    Worse,
    /// Shown to be higher, where neither side is better.
    Higher,
    /// Shown to be lower, likewise.
    Lower,
    /// As good as before: within the margin.
    Same,
    /// None of these.
    Undecided,
}

/// A figure before and after.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Changed<'a> {
    /// Treatment or comparison.
    pub name: &'a str,
    /// Geometric mean over the studies before, with its interval over studies.
    pub before: Interval,
    /// The same after.
    pub after: Interval,
    /// After over before; its `blocks` are studies, or pairs. With one study per side the interval is that of its
    /// blocks.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// The answer.
    #[serde(rename = "said")]
    pub verdict: ChangeVerdict,
    /// Whether it is a regression ([`is_regression`]).
    #[serde(rename = "regression")]
    pub is_regression: bool,
    /// What the studies could have shown of it; `None` with one study per side.
    #[serde(flatten)]
    pub reach: Option<Reach>,
}

/// The answer that a ratio of after to before gives.
pub fn verdict(ratio: &Ratio) -> ChangeVerdict {
    match (ratio.mark(), ratio.direction) {
        (Mark::Same, _) => ChangeVerdict::Same,
        (Mark::Undecided, _) => ChangeVerdict::Undecided,
        (Mark::Higher, Direction::Neither) => ChangeVerdict::Higher,
        (Mark::Lower, Direction::Neither) => ChangeVerdict::Lower,
        (Mark::Higher, Direction::HigherIsBetter) | (Mark::Lower, Direction::LowerIsBetter) => {
            ChangeVerdict::Better
        }
        _ => ChangeVerdict::Worse,
    }
}

/// Whether a ratio of after to before is a regression: shown to be worse, and measured worse by the margin or more;
/// anything smaller does not matter.
pub fn is_regression(ratio: &Ratio) -> bool {
    let least = 1.0 + ratio.margin;
    verdict(ratio) == ChangeVerdict::Worse && (ratio.value <= 1.0 / least || ratio.value >= least)
}

/// Whether a ratio that is not a regression may still be one: it is not shown to be within the margin, and its interval
/// reaches the margin on the worse side. So a gate can tell "not shown" from "shown not to be".
pub fn may_be_regression(ratio: &Ratio) -> bool {
    let least = 1.0 + ratio.margin;
    let reaches = match ratio.direction {
        Direction::HigherIsBetter => ratio.adjusted_low <= 1.0 / least,
        Direction::LowerIsBetter => ratio.adjusted_high >= least,
        Direction::Neither => false,
    };
    reaches && !is_regression(ratio) && !ratio.is_same()
}

impl<'a> Change<'a> {
    /// Whether these studies can show a change; if not, all answers are undecided.
    pub fn can_tell(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Treatments that got worse.
    pub fn regressions(&self) -> Vec<&Changed<'a>> {
        self.treatments.iter().filter(|changed| changed.is_regression).collect()
    }

    /// Treatments that may have got worse by the margin or more, which these studies do not show; none if they cannot
    /// show a change at all.
    pub fn undecided(&self) -> Vec<&Changed<'a>> {
        let is_open = |changed: &&Changed<'a>| self.can_tell() && may_be_regression(&changed.ratio);
        self.treatments.iter().filter(is_open).collect()
    }

    /// Treatments that were measured before and cannot be compared: that they failed after, say, is no proof that they
    /// are as good.
    pub fn lost(&self) -> Vec<&LeftOut> {
        let is_lost = |one: &&LeftOut| self.can_tell() && one.was_measured_before;
        self.left_out.iter().filter(is_lost).collect()
    }
}

/// Compares studies of two sides in a metric; without one, in the headline.
///
/// # Errors
/// Why they cannot be compared at all, in one line: different engines, workloads or metrics, a study given twice,
/// unequal numbers of pairs, or no treatment in common.
pub fn change<'a>(sides: Sides<'a, '_>, metric: Option<&str>) -> Result<Change<'a>, String> {
    let all = sides.all();
    let quantity = check(sides, metric)?;
    let aspects = aspects(&all);
    let obstacles = obstacles::obstacles(sides, &aspects);
    let rule = rule(&all, quantity.direction);
    let Some((first, rest)) = all.split_first() else { return Err("no study".to_owned()) };
    let mut left_out = Vec::new();
    let mut kept: Vec<(&'a str, Series)> = Vec::new();
    let elsewhere = rest.iter().flat_map(|facts| once(facts.study)).map(|one| &one.name);
    let elsewhere = elsewhere.filter(|name| first.study.treatment(name).is_none());
    let names = once(first.study).map(|one| &one.name).chain(distinct(elsewhere));
    for name in names {
        match of_treatment(sides, name, &quantity) {
            Ok(series) => kept.push((name, series)),
            Err(reason) => {
                let was_measured_before =
                    sides.before.iter().all(|facts| quantity.mean(facts, name).is_some());
                left_out.push(LeftOut { name: name.clone(), reason, was_measured_before });
            }
        }
    }
    if kept.is_empty() {
        let reasons: Vec<String> =
            left_out.iter().map(|one| format!("{}: {}", one.name, one.reason)).collect();
        return Err(format!("the studies have no treatment in common ({})", reasons.join("; ")));
    }
    let names = first.study.comparisons.iter().map(|comparison| comparison.name.as_str());
    let comparisons =
        names.filter_map(|name| Some((name, of_comparison(sides, name, &quantity, &left_out)?)));
    let unit = all.iter().find_map(|facts| Some(quantity.interval(facts, kept[0].0)?.unit.clone()));
    let judged = |family, unit: &str| judged(family, sides.is_paired, obstacles.is_empty(), unit, rule);
    let line = |side| move |facts: &Facts<'a>| StudyLine { side: Some(side), ..StudyLine::of(facts) };
    let lines = sides.before.iter().map(line("before")).chain(sides.after.iter().map(line("after")));
    Ok(Change {
        studies_before: sides.before.len() as u32,
        studies_after: sides.after.len() as u32,
        is_paired: sides.is_paired,
        margin: rule.margin,
        level: 1.0 - rule.alpha,
        comparisons: judged(comparisons.collect(), "ratio"),
        treatments: judged(kept, &unit.unwrap_or_default()),
        left_out,
        cautions: obstacles::cautions(sides, &aspects, quantity.direction),
        studies: lines.collect(),
        note: note(&all),
        obstacles,
        quantity,
        aspects,
    })
}

/// Logarithms by study, before and after; with one study per side also those of its blocks.
#[derive(Debug, Clone, Default)]
struct Series {
    before: Vec<f64>,
    after: Vec<f64>,
    by_blocks: Option<MeanEstimate>,
}

/// A treatment of all studies.
fn of_treatment(sides: Sides<'_, '_>, name: &str, quantity: &Quantity) -> Result<Series, String> {
    let all = sides.all();
    let known: Option<Vec<_>> = all.iter().map(|facts| Some(facts.study.treatment(name)?.1)).collect();
    let known = known.ok_or("not in all studies")?;
    if let Some(apart) = known.windows(2).map(|two| apart(two[0], two[1])).find(|apart| !apart.is_empty()) {
        return Err(format!("it differs in {}", apart.join(", ")));
    }
    let means = |side: &[Facts<'_>]| -> Option<Vec<MeanEstimate>> {
        side.iter().map(|facts| quantity.mean(facts, name)).collect()
    };
    let both = means(sides.before).zip(means(sides.after));
    let (before, after) = both.ok_or("a study has no usable run of it")?;
    let by_blocks = match (before.as_slice(), after.as_slice()) {
        ([before], [after]) => Some(welch_of(after, before)),
        _ => None,
    };
    let values = |means: Vec<MeanEstimate>| means.iter().map(|mean| mean.mean).collect();
    Ok(Series { before: values(before), after: values(after), by_blocks })
}

/// A comparison of all studies; `None` if a study lacks it, or a side of it is left out.
fn of_comparison(
    sides: Sides<'_, '_>,
    name: &str,
    quantity: &Quantity,
    left_out: &[LeftOut],
) -> Option<Series> {
    let ratio = |facts: &Facts<'_>| {
        let mut all = facts.analysis.estimates.iter();
        let found = all.find(|one| one.name == name && one.metric == quantity.metric)?;
        let mut sides = std::iter::once(found.treatment.as_str()).chain(found.baseline.split(" and "));
        let is_kept = sides.all(|side| left_out.iter().all(|one| one.name != side));
        let d = found.ratio.value.ln();
        (is_kept && d.is_finite()).then_some(d)
    };
    let of_side = |side: &[Facts<'_>]| side.iter().map(ratio).collect::<Option<Vec<f64>>>();
    Some(Series { before: of_side(sides.before)?, after: of_side(sides.after)?, by_blocks: None })
}

fn judged<'a>(
    family: Vec<(&'a str, Series)>,
    is_paired: bool,
    can_tell: bool,
    unit: &str,
    rule: Rule,
) -> Vec<Changed<'a>> {
    let pairs: Vec<(Vec<f64>, Vec<f64>)> =
        family.iter().map(|(_, series)| (series.after.clone(), series.before.clone())).collect();
    let ratios = if is_paired { paired_differences(&pairs, rule) } else { differences(&pairs, rule) };
    let of_side = |logs: &[f64]| geometric(logs, 1.0, unit, rule.alpha);
    let all = family.into_iter().zip(ratios).filter_map(|((name, series), ratio)| {
        let mut ratio = match series.by_blocks {
            Some(mean) => judge(&[(mean, None)], rule).pop()?,
            None => ratio?,
        };
        if !can_tell {
            ratio.answer = Answer::Undecided;
        }
        Some(Changed {
            name,
            before: of_side(&series.before)?,
            after: of_side(&series.after)?,
            verdict: verdict(&ratio),
            is_regression: is_regression(&ratio),
            reach: Reach::of(&series.before, &series.after, is_paired, &ratio),
            ratio,
        })
    });
    all.collect()
}

/// Ratios of pairs of studies, judged together: of each series the mean over pairs of the first's logarithm less the
/// second's, with Student's t. What both studies of a pair share, such as the hour, cancels.
///
/// Degenerate cases: one pair has no interval; series of unequal length, or without a pair, have no ratio.
pub fn paired_differences(series: &[(Vec<f64>, Vec<f64>)], rule: Rule) -> Vec<Option<Ratio>> {
    let mean = |(top, below): &(Vec<f64>, Vec<f64>)| {
        MeanEstimate::correlated(&less(top, below), 0.0).filter(|_| top.len() == below.len())
    };
    judge_means(&series.iter().map(mean).collect::<Vec<_>>(), rule)
}

fn less(top: &[f64], below: &[f64]) -> Vec<f64> {
    top.iter().zip(below).map(|(top, below)| top - below).collect()
}

/// What studies of two sides could have shown of one treatment, and how many would show a change of the margin.
///
/// A change is shown if the deciding interval excludes 1, so the smallest change that could have been shown is the
/// half-width of that interval. More studies narrow it by the root of their number and by the degrees of freedom of
/// Student's t, given the spread of these studies (Welch, Biometrika 34, 1947, of samples of equal size).
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Reach {
    /// The smallest measured change that is shown, as a ratio above 1: 1.8 means 1.8x or 1 / 1.8.
    #[serde(rename = "smallest_shown")]
    pub smallest: f64,
    /// Studies per side, or pairs, that would show a measured change of the margin; `None` beyond 1,000.
    #[serde(rename = "studies_for_margin")]
    pub studies: Option<u32>,
}

impl Reach {
    /// From logarithms by study and the ratio that was judged from them.
    ///
    /// Degenerate cases: `None` if a side has one study. Without any spread everything is shown.
    pub fn of(before: &[f64], after: &[f64], is_paired: bool, ratio: &Ratio) -> Option<Self> {
        let fewest = before.len().min(after.len()) as u32;
        if fewest < 2 || !ratio.has_ends() {
            return None;
        }
        // The variance of the difference of one study before and one after, and degrees of freedom per study and side
        // beyond the first.
        let variance = |values: &[f64]| Some(summary(values)?.sd.powi(2));
        let (variance, degrees) = match is_paired {
            true => (variance(&less(after, before))?, 1.0),
            false => {
                let (one, other) = (variance(before)?, variance(after)?);
                let squares = one.powi(2) + other.powi(2);
                (one + other, if squares > 0.0 { (one + other).powi(2) / squares } else { 2.0 })
            }
        };
        let of_studies = |studies: u32| {
            let (n, count) = (studies as usize, f64::from(studies));
            let (standard_error, degrees) = ((variance / count).sqrt(), degrees * (count - 1.0));
            MeanEstimate { n, mean: 0.0, standard_error, correlation: 0.0, degrees }
        };
        let mean = if is_paired { of_studies(fewest) } else { welch(after, before)? };
        if mean.standard_error <= 0.0 {
            return Some(Self { smallest: 1.0, studies: Some(fewest) });
        }
        // The level at which it was judged; Holm's steps give each treatment another.
        let half = (ratio.adjusted_high / ratio.adjusted_low).ln() / 2.0;
        let alpha = t_two_sided_p(half / mean.standard_error, mean.degrees)?;
        let margin = ratio.margin.ln_1p();
        let is_short = |studies: &u32| of_studies(*studies).half_width(alpha) > margin;
        Some(Self { smallest: half.exp(), studies: fewest_of(MOST_STUDIES, is_short) })
    }
}

/// The smallest number from 2 on that is large enough, as is every larger one; `None` beyond the most.
pub(crate) fn fewest_of(most: u32, is_short: impl Fn(&u32) -> bool) -> Option<u32> {
    let all: Vec<u32> = (2..=most).collect();
    all.get(all.partition_point(is_short)).copied()
}
