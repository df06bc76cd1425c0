//! Ratios by state, and by distance: the claim about a comparison together with how often its states were seen.

use schemars::JsonSchema;
use serde::Serialize;
use threadwise_analysis::looks::checks::Check;
use threadwise_analysis::looks::claim::{self, Checked, Effect, Effects, Outcome};
use threadwise_analysis::looks::contrast::Contrast;
use threadwise_analysis::looks::gate::Needed;
use threadwise_analysis::looks::rows::By;
use threadwise_analysis::looks::spread::Spread;
use threadwise_document::Interval;

/// All comparisons of a study by state: slices on one core over slices on different cores, or slices on near cores over
/// slices on cores further apart; observational.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ByState<'a> {
    /// Level of ratios.
    level: f64,
    /// Level of checks.
    checks_level: f64,
    /// In the order of the study.
    comparisons: Vec<Compared<'a>>,
}

/// One comparison by state. Its counts are unknown unless all logical CPUs were looked at.
#[derive(Serialize, JsonSchema)]
struct Compared<'a> {
    /// Name of the comparison.
    comparison: &'a str,
    /// Its treatment.
    treatment: &'a str,
    /// Number of its logical CPUs.
    cpus: usize,
    /// How many of them were looked at.
    looked_at: usize,
    /// Looks that saw it on one core, or on near ones.
    prevalence: Option<Interval>,
    /// Blocks with complete rounds.
    blocks: Option<usize>,
    /// Blocks with rounds of each state.
    blocks_with_both: Option<usize>,
    /// Stretches of looks on one core.
    one_core_stretches: Option<usize>,
    /// Stretches of looks on different cores.
    alone_stretches: Option<usize>,
    /// Stretches of looks on near cores.
    near_stretches: Option<usize>,
    /// Stretches of looks on cores further apart.
    far_stretches: Option<usize>,
    /// Blocks until states may be compared.
    needed: Option<&'a Needed>,
    /// The ratio, where states may be compared.
    by_look_before: Option<Claimed<'a>>,
    /// Variance that states explain.
    spread: &'a Spread,
}

#[derive(Serialize, JsonSchema)]
struct Claimed<'a> {
    #[serde(flatten)]
    found: &'a claim::ByState,
    /// Checks, any of which refuses the claim.
    checks: Vec<CheckResult>,
}

/// A check: its ratio has to lie within the limits.
#[derive(Serialize, JsonSchema)]
struct CheckResult {
    /// What is checked.
    check: Check,
    /// The result.
    ratio: Option<Contrast>,
    /// Lower limit.
    limit_low: Option<f64>,
    /// Upper limit.
    limit_high: f64,
    /// Whether it passed.
    passed: bool,
}

impl<'a> ByState<'a> {
    pub fn of(effects: &'a Effects) -> Self {
        Self {
            level: effects.level,
            // 1 − 2(1 − 0.95) is 0.9 except for the last bits.
            checks_level: (effects.checks_level * 1e9).round() / 1e9,
            comparisons: effects.effects.iter().map(|one| compared(one, effects)).collect(),
        }
    }
}

fn compared<'a>(effect: &'a Effect, effects: &Effects) -> Compared<'a> {
    let (needed, looked_at) = match &effect.outcome {
        Outcome::Closed(needed) => (Some(needed), None),
        Outcome::NotWhole(coverage) => (None, Some(coverage.looked_at as usize)),
        Outcome::Open(_) => (None, None),
    };
    let counted = |count: usize| looked_at.is_none().then_some(count);
    let seen = &effect.seen;
    let (same, clear) = (counted(seen.same_episodes), counted(seen.clear_episodes));
    let is_by_core = effects.by == By::Core;
    Compared {
        comparison: &effect.comparison,
        treatment: &effect.treatment,
        cpus: effect.cpus,
        looked_at: looked_at.unwrap_or(effect.cpus),
        prevalence: effect.prevalence(effects.level),
        blocks: counted(seen.blocks),
        blocks_with_both: counted(seen.blocks_with_both),
        one_core_stretches: same.filter(|_| is_by_core),
        alone_stretches: clear.filter(|_| is_by_core),
        near_stretches: same.filter(|_| !is_by_core),
        far_stretches: clear.filter(|_| !is_by_core),
        needed,
        by_look_before: effect
            .by_state()
            .map(|found| Claimed { found, checks: found.checks.iter().map(check).collect() }),
        spread: &effect.spread,
    }
}

fn check(checked: &Checked) -> CheckResult {
    CheckResult {
        check: checked.check,
        ratio: checked.contrast,
        limit_low: checked.limit.map(|limit| (-limit).exp()),
        limit_high: checked.limit.unwrap_or(0.0).exp(),
        passed: checked.passed(),
    }
}
