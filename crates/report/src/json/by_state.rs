//! Ratios by state. The analysis has logarithms; JSON has ratios, as everywhere, and what is not known is `null`.

use serde_json::{Value, json};
use threadwise_analysis::looks::claim::{ByState, Checked, Effect, Effects, Outcome};
use threadwise_analysis::looks::contrast::Contrast;

/// All comparisons of a study by state.
pub(super) fn effects(effects: &Effects) -> Value {
    json!({
        "level": effects.level,
        // 1 − 2(1 − 0.95) is 0.9 but for the last bits.
        "checks_level": (effects.checks_level * 1e9).round() / 1e9,
        "comparisons": effects.effects.iter().map(|one| effect(one, effects.level)).collect::<Value>(),
    })
}

fn effect(effect: &Effect, level: f64) -> Value {
    let needed = match &effect.outcome {
        Outcome::Open(_) | Outcome::NotWhole(_) => None,
        Outcome::Closed(needed) => {
            Some(json!({"blocks": needed.blocks, "low": needed.low, "high": needed.high}))
        }
    };
    let not_whole = match &effect.outcome {
        Outcome::NotWhole(coverage) => Some(coverage.looked_at as usize),
        Outcome::Open(_) | Outcome::Closed(_) => None,
    };
    let counted = |count: usize| not_whole.is_none().then_some(count);
    let (seen, spread) = (&effect.seen, &effect.spread);
    json!({
        "comparison": effect.comparison, "treatment": effect.treatment, "cpus": effect.cpus,
        "looked_at": not_whole.unwrap_or(effect.cpus),
        "prevalence": effect.prevalence(level),
        "blocks": counted(seen.blocks), "blocks_with_both": counted(seen.blocks_with_both),
        "one_core_stretches": counted(seen.same_episodes), "alone_stretches": counted(seen.clear_episodes),
        "needed": needed,
        "by_look_before": effect.by_state().map(by_state),
        "spread": {
            "twin": spread.twin, "ratio": spread.ratio, "all": ratio(spread.raw), "clear": ratio(spread.clear),
        },
    })
}

fn by_state(found: &ByState) -> Value {
    json!({
        "ratio": ratio(Some(found.ratio)), "p_t": found.p_t, "p_shift": found.p_shift,
        "both_looks": ratio(found.agreed), "between_blocks": ratio(found.between),
        "disagree": found.disagreement,
        "checks": found.checks.iter().map(check).collect::<Value>(),
        "claim": found.claim.word(),
    })
}

fn check(checked: &Checked) -> Value {
    json!({
        "check": checked.check.word(), "ratio": ratio(checked.contrast),
        "limit_low": checked.limit.map(|limit| (-limit).exp()),
        "limit_high": checked.limit.unwrap_or(0.0).exp(),
        "passed": checked.passed(),
    })
}

/// `null` without a contrast; so is an end that one block does not have.
fn ratio(contrast: Option<Contrast>) -> Value {
    let known = |log: f64| log.is_finite().then(|| log.exp());
    contrast.map_or(Value::Null, |Contrast { mean, low, high, blocks }| {
        json!({"value": known(mean), "low": known(low), "high": known(high), "blocks": blocks})
    })
}
