//! Checks that refuse a ratio by state.
//!
//! Five of them are tests of equivalence: their interval must lie within a fifth of the ratio's logarithm, since a test
//! that finds nothing proves nothing (Schuirmann, "A comparison of the two one-sided tests procedure", J. Pharmacokin.
//! Biopharm. 15, 1987). They are negative controls: things that a state of the treatment's logical CPUs cannot change
//! (Lipsitch, Tchetgen Tchetgen, Cohen, "Negative controls", Epidemiology 21, 2010). The sixth is a positive control: a
//! pair of WIDE must lose its core's width.

use super::contrast::{BlockContrast, Unit, by_block};
use super::effect::{compared, unit_of};
use super::gate::MIN_ROUNDS;
use super::rows::{Amount, Round, Row, Side};
use super::states::LookState;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Share of looks on one core before the treatment's slices less that before the baselines'.
    Prevalence,
    /// A′ over A by the state before A′.
    Twin,
    /// A, and A′, by the state before each.
    Baseline,
    /// Clock of the treatment's logical CPUs: CHAIN after its slices, by the state before.
    Chain,
    /// The ratio by the next round's state, in rounds of one state.
    Next,
    /// WIDE after the treatment's slices, all together, by the state before.
    Wide,
}

impl Check {
    /// All checks, in display order.
    pub const ALL: [Self; 6] =
        [Self::Prevalence, Self::Twin, Self::Baseline, Self::Chain, Self::Next, Self::Wide];

    /// One number for each block that has one: a logarithm, or for [`Check::Prevalence`] a difference of shares.
    pub fn by_block(self, rows: &[Row], rounds: &[Round]) -> Vec<BlockContrast> {
        match self {
            Self::Prevalence => prevalence(rows),
            Self::Twin => by_block(rounds.iter().filter_map(twin), MIN_ROUNDS),
            Self::Baseline => by_block(rows.iter().filter_map(baseline), MIN_ROUNDS),
            Self::Chain => {
                by_block(rounds.iter().filter_map(|round| probed(round, |row| row.chain_per_ns)), MIN_ROUNDS)
            }
            Self::Next => by_block(rounds.windows(2).filter_map(next), 1),
            Self::Wide => {
                by_block(rounds.iter().filter_map(|round| probed(round, |row| row.adds_per_ns)), MIN_ROUNDS)
            }
        }
    }
}

fn twin(round: &Round) -> Option<Unit> {
    let [a, twin] = round.baselines;
    let is_same = compared(twin.before)?;
    Some(Unit { block: a.block, stratum: 0, is_same, top: twin.amount, below: [Some(a.amount), None] })
}

/// A slice of A or A′ on its own; each is compared with its own slices.
fn baseline(row: &Row) -> Option<Unit> {
    let stratum = match row.side {
        Side::Baseline => 0,
        Side::Twin => 1,
        Side::Treatment | Side::Other => return None,
    };
    let is_same = compared(row.before)?;
    let is_usable = row.amount.log_rate().is_finite();
    is_usable.then_some(Unit { block: row.block, stratum, is_same, top: row.amount, below: [None; 2] })
}

fn probed(round: &Round, rate: impl Fn(&Row) -> Option<f64>) -> Option<Unit> {
    let row = &round.treatment;
    let is_same = compared(row.before)?;
    Some(Unit { block: row.block, stratum: 0, is_same, top: Amount::rate(rate(row)?), below: [None; 2] })
}

/// A round by the state of the next one, if both looks around the treatment's slice agree: otherwise the next state
/// would reflect what the slice itself had been through.
fn next(pair: &[Round]) -> Option<Unit> {
    let [this, next] = pair else { return None };
    let (now, then) = (this.treatment, next.treatment);
    let follows = now.block == then.block && now.round + 1 == then.round;
    let is_same = compared(now.before).filter(|_| follows && now.before == now.after)?;
    Some(unit_of(this, compared(then.before)?, u8::from(is_same)))
}

fn prevalence(rows: &[Row]) -> Vec<BlockContrast> {
    let mut counts: BTreeMap<u32, [(f64, f64); 2]> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.side != Side::Other) {
        let Some(state) = row.before else { continue };
        let (same, all) = &mut counts.entry(row.block).or_default()[usize::from(row.side == Side::Treatment)];
        *same += f64::from(u8::from(state == LookState::SameCore));
        *all += 1.0;
    }
    let with_both = counts.into_iter().filter(|(_, sides)| sides.iter().all(|(_, all)| *all > 0.0));
    let difference = |[(below, of_below), (top, of_top)]: [(f64, f64); 2]| top / of_top - below / of_below;
    with_both.map(|(block, sides)| BlockContrast { block, d: difference(sides), weight: 1.0 }).collect()
}
