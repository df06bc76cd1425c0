//! Tests on small studies whose answer is worked out by hand.

mod claim;
mod numbers;
mod runs;

use super::rows::{Amount, Row, Side};
use super::states::LookState;

/// A slice: block, round, side, state before, rate. The state after is the one before; probes show a clock of 1
/// and the width of two cores, of one on one core.
fn row(block: u32, round: u32, side: Side, before: LookState, rate: f64) -> Row {
    let place = match side {
        Side::Baseline => 0,
        Side::Twin => 1,
        Side::Treatment => 2,
        Side::Other => 3,
    };
    Row {
        block,
        round,
        side,
        start_ns: 1_000_000_000 * (u64::from(block) * 400 + u64::from(round) * 4 + place),
        before: Some(before),
        after: Some(before),
        amount: Amount { done: rate, time_ns: 1.0 },
        chain_per_ns: Some(1.0),
        adds_per_ns: Some(if before == LookState::SameCore { 5.0 } else { 9.0 }),
    }
}

/// A round of A, A′ and the treatment in one state: rates of the baselines and the treatment.
fn round(block: u32, round: u32, state: LookState, baseline: f64, treatment: f64) -> [Row; 3] {
    let sides = [(Side::Baseline, baseline), (Side::Twin, baseline), (Side::Treatment, treatment)];
    sides.map(|(side, rate)| row(block, round, side, state, rate))
}

/// A study in which the treatment does `same` of its usual rate on one core: rounds alternate by pairs, two on
/// one core, two clear; rates wander a little, by a pattern that has nothing to do with states.
fn study(blocks: u32, same: f64) -> Vec<Row> {
    let wander = |block: u32, at: u32| 1.0 + 0.01 * f64::from((block * 7 + at * 5) % 11) / 11.0;
    let one = |block: u32, at: u32| {
        let is_same = at % 4 < 2;
        let state = if is_same { LookState::SameCore } else { LookState::Clear };
        let rate = if is_same { same } else { 1.0 };
        round(block, at, state, 1.0, 2.0 * rate * wander(block, at))
    };
    (0..blocks).flat_map(|block| (0..20).flat_map(move |at| one(block, at))).collect()
}
