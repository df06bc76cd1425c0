//! Claims about a comparison by state: whether states occur often enough, the ratio, what refuses it.

use super::checks::Check;
use super::contrast::{Contrast, pooled};
use super::counted::moment;
use super::coverage::{Coverage, of_runs};
use super::effect::{between_blocks, by_both_looks, by_look_before, disagreement, shift_p};
use super::gate::{Needed, StateCounts};
use super::rows::{By, Row, rounds, rows};
use super::spread::Spread;
use super::states::LookedAt;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::Interval;
use threadwise_statistics::holm;
use threadwise_study::{ComparisonKind, Moment, Study};

/// Largest share of slices with disagreeing looks for a claim of size; above it only a direction is claimed.
pub const MAX_DISAGREEMENT: f64 = 0.05;

/// A check's interval must lie within this part of the ratio's logarithm.
pub const CHECK_LIMIT: f64 = 0.2;

/// Circular shifts that are drawn.
pub const SHIFTS: u32 = 999;

/// Parameters of the test of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Intervals of ratios are at level 1 − `alpha`; those of checks at 1 − 2`alpha`, so that each passes at its limit
    /// with probability `alpha`.
    pub alpha: f64,
    /// Circular shifts that are drawn.
    pub shifts: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// What slices are sorted by.
    pub by: By,
}

/// A check with its interval, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// What is checked.
    pub check: Check,
    /// The result; `None` if there is too little to compare. For [`Check::Prevalence`] the difference of shares times
    /// the absolute value of the ratio's logarithm.
    pub contrast: Option<Contrast>,
    /// Its interval must lie within ± this; if `None`, below 0.
    pub limit: Option<f64>,
}

impl Checked {
    /// Whether the check passes.
    pub fn passed(&self) -> bool {
        let Some(contrast) = self.contrast else { return false };
        match self.limit {
            Some(limit) => contrast.low >= -limit && contrast.high <= limit,
            None => contrast.high < 0.0,
        }
    }
}

/// A claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The ratio with its interval.
    Size,
    /// Which side of 1 it is on: visits shorter than a slice make it look smaller.
    Direction,
    /// No difference is shown.
    NotShown,
    /// At least one check did not pass.
    Refused,
}

/// The ratio by state, with its checks; logarithms.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ByState {
    /// d on one core less d on different cores, by the look before the slice.
    pub ratio: Contrast,
    /// Two-sided t test p.
    pub p_t: f64,
    /// p of circular shifts of the looks.
    pub p_shift: f64,
    /// The ratio where both looks around the slice agree: for comparison only.
    #[serde(rename = "both_looks")]
    pub agreed: Option<Contrast>,
    /// Slope over blocks, for comparison with the ratio within them.
    #[serde(rename = "between_blocks")]
    pub between: Option<Contrast>,
    /// Share of slices whose looks before and after disagree.
    #[serde(rename = "disagree")]
    pub disagreement: Option<f64>,
    /// In the order of [`Check::ALL`].
    #[serde(skip)]
    pub checks: Vec<Checked>,
    /// The claim.
    pub claim: Claim,
}

/// Whether states occurred often enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// No; how many blocks it would take.
    Closed(Needed),
    /// Not all of the treatment's logical CPUs were looked at: the treatment is not known to be clear if those that
    /// were are, so nothing is compared or counted.
    NotWhole(Coverage),
    /// Yes.
    Open(Box<ByState>),
}

/// One comparison of a treatment with its baseline, by states of the treatment's logical CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Name of the comparison.
    pub comparison: String,
    /// Name of the treatment.
    pub treatment: String,
    /// Number of its logical CPUs.
    pub cpus: usize,
    /// How often the states were seen; never, if not all of them were looked at.
    pub seen: StateCounts,
    /// The ratio by state, or how long a study it would take.
    pub outcome: Outcome,
    /// How much of the spread states explain.
    pub spread: Spread,
}

impl Effect {
    /// The ratio by state, if the gate is open.
    pub fn by_state(&self) -> Option<&ByState> {
        match &self.outcome {
            Outcome::Open(by_state) => Some(by_state),
            Outcome::Closed(_) | Outcome::NotWhole(_) => None,
        }
    }

    /// Share of the looks before slices that saw the treatment on one core, with its interval at a level.
    pub fn prevalence(&self, level: f64) -> Option<Interval> {
        let estimate = self.seen.prevalence?;
        let (low, high) = estimate.interval(1.0 - level);
        let (low, high) = if estimate.n < 2 { (low, high) } else { (low.max(0.0), high.min(1.0)) };
        Some(Interval { mean: estimate.mean, low, high, unit: "share".to_owned() })
    }
}

/// All comparisons of a study by state.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// What slices are sorted by.
    pub by: By,
    /// In the order of the study's comparisons.
    pub effects: Vec<Effect>,
    /// Level of the intervals of ratios.
    pub level: f64,
    /// Level of the intervals of checks.
    pub checks_level: f64,
}

/// Ratios by state of a study, with intervals at level 1 − `alpha`; `None` if it has no looks, if its slices are long
/// (what is seen during a slice came after its treatment began, and may be its effect), or if no treatment of two or
/// more logical CPUs is compared with a baseline of two. Claims of several treatments are adjusted together by Holm's
/// procedure.
pub fn effects(study: &Study, slices: &[LookedAt<'_>], by: By, alpha: f64) -> Option<Effects> {
    if slices.iter().all(|slice| slice.looks.is_empty()) || moment(slices) != Moment::Before {
        return None;
    }
    let level = Level { alpha, shifts: SHIFTS, seed: study.seed, by };
    let compared = study.comparisons.iter().filter(|comparison| comparison.kind == ComparisonKind::Baseline);
    let mut effects: Vec<Effect> = compared
        .filter_map(|comparison| {
            let rows = rows(comparison, slices, by);
            let was_seen = rows.iter().any(|row| row.before.is_some());
            let treated = || slices.iter().filter(|slice| slice.run.treatment == comparison.treatment);
            let cpus = treated().map(|slice| slice.run.cpus.len()).max().unwrap_or(0);
            let of_rows = |rows| effect(&comparison.name, (&comparison.treatment, cpus), rows, level);
            let not_whole = of_runs(treated()).filter(|coverage| !coverage.is_whole());
            was_seen.then(|| match not_whole {
                Some(coverage) => Effect { outcome: Outcome::NotWhole(coverage), ..of_rows(&[]) },
                None => of_rows(&rows),
            })
        })
        .collect();
    let mut open: Vec<&mut ByState> = effects.iter_mut().filter_map(open).collect();
    let p_values: Vec<f64> = open.iter().map(|by_state| by_state.p_t).collect();
    for (by_state, step) in open.iter_mut().zip(holm(&p_values, alpha)) {
        if step.adjusted_p > alpha {
            by_state.claim = Claim::NotShown;
        }
    }
    (!effects.is_empty()).then_some(Effects {
        by,
        effects,
        level: 1.0 - alpha,
        checks_level: 1.0 - 2.0 * alpha,
    })
}

fn open(effect: &mut Effect) -> Option<&mut ByState> {
    match &mut effect.outcome {
        Outcome::Open(by_state) => Some(by_state),
        Outcome::Closed(_) | Outcome::NotWhole(_) => None,
    }
}

/// One comparison from its rows, in order of time, with the treatment's name and number of logical CPUs.
pub fn effect(comparison: &str, (treatment, cpus): (&str, usize), rows: &[Row], level: Level) -> Effect {
    let rounds = rounds(rows);
    let seen = StateCounts::new(rows, &rounds);
    let by_state = seen.is_open().then(|| by_state(rows, level)).flatten();
    Effect {
        comparison: comparison.to_owned(),
        treatment: treatment.to_owned(),
        cpus,
        outcome: by_state
            .map_or(Outcome::Closed(seen.needed(level.alpha)), |one| Outcome::Open(Box::new(one))),
        spread: Spread::new(&rounds, level.alpha),
        seen,
    }
}

/// The ratio by state and its checks; `None` if no block has both states.
pub fn by_state(rows: &[Row], level: Level) -> Option<ByState> {
    let rounds = rounds(rows);
    let estimate = pooled(&by_look_before(&rounds))?;
    let ratio = Contrast::new(&estimate, level.alpha);
    let size = ratio.mean.abs();
    let checked = |check: Check| {
        let found = pooled(&check.by_block(rows, &rounds));
        let scale = if check == Check::Prevalence { size } else { 1.0 };
        let contrast = found.map(|found| Contrast::new(&found, 2.0 * level.alpha).scaled(scale));
        // Only those on one core lose its width.
        let loses_width = check == Check::Wide && level.by == By::Core;
        Checked { check, contrast, limit: (!loses_width).then_some(CHECK_LIMIT * size) }
    };
    let mut found = ByState {
        ratio,
        p_t: estimate.p(),
        p_shift: shift_p(&rounds, ratio.mean, level.shifts, level.seed),
        agreed: pooled(&by_both_looks(&rounds)).map(|agreed| Contrast::new(&agreed, level.alpha)),
        between: between_blocks(&rounds).map(|slope| Contrast::new(&slope, level.alpha)),
        disagreement: disagreement(&rounds),
        checks: Check::ALL.map(checked).to_vec(),
        claim: Claim::NotShown,
    };
    found.claim = claim(&found, level.alpha);
    Some(found)
}

fn claim(found: &ByState, alpha: f64) -> Claim {
    let is_shown = found.ratio.leaves_out_0() && found.p_shift <= alpha;
    match () {
        () if !is_shown => Claim::NotShown,
        () if !found.checks.iter().all(Checked::passed) => Claim::Refused,
        () if found.disagreement.is_some_and(|share| share < MAX_DISAGREEMENT) => Claim::Size,
        () => Claim::Direction,
    }
}
