//! Did it change? Studies before and after, with the study as the unit.
//!
//! Studies of one machine differ from hour to hour by more than the interval of either says, since its blocks have the
//! hour in common (Kalibera, Jones, ISMM 2013: intervals are made where repetition is highest). So a study is one number
//! a treatment, the mean of its logarithm over blocks, and a change is the difference of the means over studies, by
//! Welch's t (Biometrika 34, 1947); of pairs that were run in turns by Student's t of their differences. All treatments
//! are one family, all comparisons another (Holm 1979, each at half of alpha). How often it errs is simulated
//! (docs/METHODOLOGY.md, "Did it change?").

mod document;
mod obstacles;
mod reach;
mod sides;

#[cfg(test)]
mod tests;

pub use document::{answer, document, reach_words};
pub use obstacles::{Unfit, check};
pub use reach::Reach;
pub use sides::{MIN_STUDIES, Sides};

use super::aspects::{Aspect, alike, apart, aspects};
use super::quantity::{Quantity, alpha};
use crate::estimate::{Rule, judge};
use crate::external_arms::differences;
use crate::{Direction, Facts, Interval, Ratio};
use serde::Serialize;
use threadwise_statistics::{MeanEstimate, geometric, welch_of};
use threadwise_study::{Role, Study};

/// What studies of two sides show.
#[derive(Debug, Clone, PartialEq)]
pub struct Change<'a> {
    /// What is compared.
    pub quantity: Quantity,
    /// Studies before, and after.
    pub studies: [u32; 2],
    /// Whether they are pairs.
    pub is_paired: bool,
    /// What is too small to matter, as a fraction: the largest of the studies.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Treatment by treatment, in the order of the first study.
    pub treatments: Vec<Changed<'a>>,
    /// Ratios of the study's comparisons, after over before, likewise.
    pub comparisons: Vec<Changed<'a>>,
    /// Treatments that are not compared, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// What keeps a claim from being made, one line each; empty where there is nothing.
    pub obstacles: Vec<String>,
    /// What a reader must know, one line each.
    pub cautions: Vec<String>,
    /// What is the same and what differs.
    pub aspects: Vec<Aspect>,
}

/// What is said of one treatment, or of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
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
#[derive(Debug, Clone, PartialEq)]
pub struct Changed<'a> {
    /// Treatment or comparison.
    pub name: &'a str,
    /// Geometric mean over the studies before, with its interval over studies.
    pub before: Interval,
    /// The same after.
    pub after: Interval,
    /// After over before; its `blocks` are studies, or pairs. Of one study a side the interval is that of its blocks.
    pub ratio: Ratio,
    /// What the studies could have shown of it; `None` of one study a side.
    pub reach: Option<Reach>,
}

impl Changed<'_> {
    /// What is said of it, where a claim may be made.
    pub fn said(&self) -> Said {
        said(&self.ratio)
    }

    /// Whether it is a regression ([`is_regression`]).
    pub fn is_regression(&self) -> bool {
        is_regression(&self.ratio)
    }

    /// Whether it may be a regression ([`may_be_regression`]).
    pub fn may_be_regression(&self) -> bool {
        may_be_regression(&self.ratio)
    }
}

/// What a ratio of after to before says.
pub fn said(ratio: &Ratio) -> Said {
    let is_up = ratio.is_higher();
    match (is_up || ratio.is_lower(), ratio.is_same(), ratio.direction) {
        (false, true, _) => Said::Same,
        (false, false, _) => Said::Undecided,
        (true, _, Direction::Neither) if is_up => Said::Higher,
        (true, _, Direction::Neither) => Said::Lower,
        (true, _, Direction::HigherIsBetter) if is_up => Said::Better,
        (true, _, Direction::LowerIsBetter) if !is_up => Said::Better,
        (true, ..) => Said::Worse,
    }
}

/// Whether a ratio of after to before is a regression: shown to be worse, and by the margin or more in what was measured.
/// What is shown to be worse by less is none, since a margin says what is too small to matter.
pub fn is_regression(ratio: &Ratio) -> bool {
    let least = 1.0 + ratio.margin;
    said(ratio) == Said::Worse && (ratio.value <= 1.0 / least || ratio.value >= least)
}

/// Whether a ratio that is no regression may be one all the same: it is not shown to be within the margin, and its interval
/// reaches to the margin on the worse side. So a gate knows what was not shown from what was shown not to be.
pub fn may_be_regression(ratio: &Ratio) -> bool {
    let least = 1.0 + ratio.margin;
    let reaches = match ratio.direction {
        Direction::HigherIsBetter => ratio.holm_low <= 1.0 / least,
        Direction::LowerIsBetter => ratio.holm_high >= least,
        Direction::Neither => false,
    };
    reaches && !is_regression(ratio) && !ratio.is_same()
}

impl Change<'_> {
    /// Whether it may be said whether something changed.
    pub fn can_tell(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Treatments that got worse; none where nothing may be said.
    pub fn regressions(&self) -> Vec<&Changed<'_>> {
        let all = self.treatments.iter().filter(|changed| changed.is_regression());
        if self.can_tell() { all.collect() } else { Vec::new() }
    }

    /// Treatments that may have got worse by the margin or more, which these studies do not show; none where nothing may be
    /// said.
    pub fn undecided(&self) -> Vec<&Changed<'_>> {
        let all = self.treatments.iter().filter(|changed| changed.may_be_regression());
        if self.can_tell() { all.collect() } else { Vec::new() }
    }
}

/// What studies of two sides show of a metric; without one of the headline.
///
/// # Errors
/// They cannot be compared at all: another engine, workload or metric, a study twice, unlike numbers of pairs, or no
/// treatment in common.
pub fn change<'a>(sides: Sides<'a, '_>, metric: Option<&str>) -> Result<Change<'a>, Unfit> {
    let all = sides.all();
    let quantity = check(sides, metric)?;
    let aspects = aspects(&all);
    let margin = all.iter().map(|facts| facts.study.design.margin).fold(0.0, f64::max);
    let alpha = all.iter().map(|facts| alpha(facts.study)).fold(1.0, f64::min);
    let rule = Rule { margin, alpha, direction: quantity.direction };
    let Some(first) = all.first() else { return Err(Unfit("no study".to_owned())) };
    let mut left_out = Vec::new();
    let mut kept: Vec<(&'a str, Series)> = Vec::new();
    for treatment in first.study.treatments.iter().filter(|one| one.role != Role::BaselineTwin) {
        match of_treatment(sides, &treatment.name, &quantity) {
            Ok(series) => kept.push((&treatment.name, series)),
            Err(reason) => left_out.push((treatment.name.clone(), reason)),
        }
    }
    left_out.extend(elsewhere(&all).map(|name| (name, "not in all studies".to_owned())));
    if kept.is_empty() {
        let reasons: Vec<String> = left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        return Err(Unfit(format!("the studies have no treatment in common ({})", reasons.join("; "))));
    }
    let names = first.study.comparisons.iter().map(|comparison| comparison.name.as_str());
    let comparisons =
        names.filter_map(|name| Some((name, of_comparison(sides, name, &quantity, &left_out)?)));
    let unit = all.iter().find_map(|facts| Some(quantity.interval(facts, kept[0].0)?.unit.clone()));
    Ok(Change {
        studies: [sides.before.len() as u32, sides.after.len() as u32],
        is_paired: sides.is_paired,
        margin,
        level: 1.0 - alpha,
        treatments: judged(kept, sides.is_paired, &unit.unwrap_or_default(), rule),
        comparisons: judged(comparisons.collect(), sides.is_paired, "ratio", rule),
        left_out,
        obstacles: obstacles::obstacles(sides, &aspects),
        cautions: obstacles::cautions(sides, &aspects, quantity.direction),
        quantity,
        aspects,
    })
}

/// Logarithms by study, before and after; of one study a side also what its blocks say.
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
    if let Some(two) = known.windows(2).find(|two| !alike(two[0], two[1])) {
        return Err(format!("it differs in {}", apart(two[0], two[1]).join(", ")));
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

/// Names of treatments that some study has and the first has not.
fn elsewhere(all: &[Facts<'_>]) -> impl Iterator<Item = String> {
    let Some((first, rest)) = all.split_first() else { return Vec::new().into_iter() };
    let known = |study: &Study, name: &str| study.treatment(name).is_some();
    let others = rest.iter().flat_map(|facts| &facts.study.treatments);
    let missing = others.filter(|one| one.role != Role::BaselineTwin && !known(first.study, &one.name));
    crate::groups::distinct(missing.map(|one| one.name.clone())).into_iter()
}

/// A comparison of all studies; `None` where a study lacks it, or a side of it is left out.
fn of_comparison(
    sides: Sides<'_, '_>,
    name: &str,
    quantity: &Quantity,
    left_out: &[(String, String)],
) -> Option<Series> {
    let ratio = |facts: &Facts<'_>| {
        let mut all = facts.analysis.estimates.iter();
        let found = all.find(|one| one.name == name && one.metric == quantity.metric)?;
        let sides = std::iter::once(found.treatment.as_str()).chain(found.baseline.split(" and "));
        let mut sides = sides.map(|side| left_out.iter().all(|(name, _)| name != side));
        let d = found.ratio.value.ln();
        (sides.all(|is_kept| is_kept) && d.is_finite()).then_some(d)
    };
    let of_side = |side: &[Facts<'_>]| side.iter().map(ratio).collect::<Option<Vec<f64>>>();
    Some(Series { before: of_side(sides.before)?, after: of_side(sides.after)?, by_blocks: None })
}

/// A family of changes, judged together.
fn judged<'a>(family: Vec<(&'a str, Series)>, is_paired: bool, unit: &str, rule: Rule) -> Vec<Changed<'a>> {
    let pairs: Vec<(Vec<f64>, Vec<f64>)> =
        family.iter().map(|(_, series)| (series.after.clone(), series.before.clone())).collect();
    let ratios = if is_paired { paired_differences(&pairs, rule) } else { differences(&pairs, rule) };
    let of_side = |logs: &[f64]| geometric(logs, 1.0, unit, rule.alpha);
    let all = family.into_iter().zip(ratios).filter_map(|((name, series), ratio)| {
        let ratio = match series.by_blocks {
            Some(mean) => judge(&[(mean, None)], rule).pop()?,
            None => ratio?,
        };
        let reach = Reach::of(&series.before, &series.after, is_paired, &ratio);
        let (before, after) = (of_side(&series.before)?, of_side(&series.after)?);
        Some(Changed { name, before, after, ratio, reach })
    });
    all.collect()
}

/// Ratios of pairs of studies, judged together: of each series the mean over pairs of the first's logarithm less the
/// second's, with Student's t. What both studies of a pair have in common, such as the hour, is in neither.
///
/// Degenerate cases: one pair has no interval; series of unlike length, or without a pair, have no ratio.
pub fn paired_differences(series: &[(Vec<f64>, Vec<f64>)], rule: Rule) -> Vec<Option<Ratio>> {
    let mean = |(top, below): &(Vec<f64>, Vec<f64>)| {
        let d: Vec<f64> = top.iter().zip(below).map(|(top, below)| top - below).collect();
        MeanEstimate::correlated(&d, 0.0).filter(|_| top.len() == below.len())
    };
    let means: Vec<Option<MeanEstimate>> = series.iter().map(mean).collect();
    let family: Vec<_> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge(&family, rule).into_iter();
    means.iter().map(|mean| mean.and_then(|_| judged.next())).collect()
}
