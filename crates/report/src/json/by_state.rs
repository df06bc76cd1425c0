//! Ratios by state: the claim about a comparison together with how often its states were seen.

use super::form::merged;
use serde_json::{Value, json};
use threadwise_analysis::looks::claim::{ByState, Checked, Effect, Effects, Outcome};

/// All comparisons of a study by state.
pub(super) fn effects(effects: &Effects) -> Value {
    json!({
        "level": effects.level,
        // 1 − 2(1 − 0.95) is 0.9 except for the last bits.
        "checks_level": (effects.checks_level * 1e9).round() / 1e9,
        "comparisons": effects.effects.iter().map(|one| effect(one, effects.level)).collect::<Value>(),
    })
}

fn effect(effect: &Effect, level: f64) -> Value {
    let (needed, looked_at) = match &effect.outcome {
        Outcome::Closed(needed) => (Some(needed), None),
        Outcome::NotWhole(coverage) => (None, Some(coverage.looked_at as usize)),
        Outcome::Open(_) => (None, None),
    };
    let counted = |count: usize| looked_at.is_none().then_some(count);
    let seen = &effect.seen;
    json!({
        "comparison": effect.comparison, "treatment": effect.treatment, "cpus": effect.cpus,
        "looked_at": looked_at.unwrap_or(effect.cpus),
        "prevalence": effect.prevalence(level),
        "blocks": counted(seen.blocks), "blocks_with_both": counted(seen.blocks_with_both),
        "one_core_stretches": counted(seen.same_episodes), "alone_stretches": counted(seen.clear_episodes),
        "needed": needed,
        "by_look_before": effect.by_state().map(by_state),
        "spread": effect.spread,
    })
}

fn by_state(found: &ByState) -> Value {
    merged(json!(found), json!({"checks": found.checks.iter().map(check).collect::<Value>()}))
}

fn check(checked: &Checked) -> Value {
    json!({
        "check": checked.check, "ratio": checked.contrast,
        "limit_low": checked.limit.map(|limit| (-limit).exp()),
        "limit_high": checked.limit.unwrap_or(0.0).exp(),
        "passed": checked.passed(),
    })
}
