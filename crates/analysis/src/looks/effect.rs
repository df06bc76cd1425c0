//! The ratio by state: a treatment's speed in rounds in which its logical CPUs were on one core, over that in rounds in
//! which each had its own core.
//!
//! Method: docs/METHODOLOGY.md, "Where slices ran: ratios by state". Between and within: Mundlak, "On the pooling of
//! time series and cross section data", Econometrica 46 (1978). Circular shifts: Lancaster et al., "Surrogate data for
//! hypothesis testing of physical systems", Physics Reports 748 (2018); the +1: Phipson, Smyth 2010.

use super::contrast::{BlockContrast, Cell, Unit, by_block, difference};
use super::gate::MIN_ROUNDS;
use super::rows::{Round, Row};
use super::states::LookState;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;
use threadwise_statistics::{MeanEstimate, summary};

/// Whether a state is the one on one core (true) or its reference (false); `None` for other states.
pub fn compared(state: Option<LookState>) -> Option<bool> {
    match state? {
        LookState::SameCore => Some(true),
        LookState::Clear => Some(false),
        LookState::Neighbour | LookState::Away | LookState::Unknown => None,
    }
}

/// A round as a unit: the treatment over both baselines, sorted by the look before the treatment's slice.
pub fn unit(round: &Round) -> Option<Unit> {
    let is_same = compared(round.treatment.before)?;
    Some(unit_of(round, is_same, 0))
}

/// A round as a unit that is sorted by something else.
pub(super) fn unit_of(round: &Round, is_same: bool, stratum: u8) -> Unit {
    Unit {
        block: round.treatment.block,
        stratum,
        is_same,
        top: round.treatment.amount,
        below: round.baselines.map(|row| Some(row.amount)),
    }
}

/// d(one core) − d(each its own) of every block that has both, by the look before the slice.
pub fn by_look_before(rounds: &[Round]) -> Vec<BlockContrast> {
    by_block(rounds.iter().filter_map(unit), MIN_ROUNDS)
}

/// The same over rounds in which the look after the slice agrees. That selects by what happened after the treatment:
/// for comparison only.
pub fn by_both_looks(rounds: &[Round]) -> Vec<BlockContrast> {
    let agree = |round: &&Round| round.treatment.before == round.treatment.after;
    by_block(rounds.iter().filter(agree).filter_map(unit), MIN_ROUNDS)
}

/// Share of the treatment's slices whose looks before and after disagree about one core: the mean of the shares of the
/// two states compared, so that a rare state counts as much as the other. Visits that begin or end inside slices reduce
/// the logarithm by about this share. `None` if a state has no slice with both looks.
pub fn disagreement(rounds: &[Round]) -> Option<f64> {
    let mut counts = [[0.0f64; 2]; 2];
    for Row { before, after, .. } in rounds.iter().map(|round| round.treatment) {
        let Some(is_same) = compared(before) else { continue };
        let differs = match after {
            Some(LookState::SameCore) => !is_same,
            Some(LookState::Clear | LookState::Neighbour) => is_same,
            Some(LookState::Away | LookState::Unknown) | None => continue,
        };
        counts[usize::from(is_same)][usize::from(differs)] += 1.0;
    }
    let shares = counts.map(|[agree, differ]| differ / (agree + differ));
    shares.iter().all(|share| share.is_finite()).then(|| (shares[0] + shares[1]) / 2.0)
}

/// Slope over blocks of the logarithm of the ratio on the share of rounds on one core. It is near the ratio within
/// blocks if nothing else differs between such blocks. Ordinary least squares; `None` with fewer than 3 blocks, or if
/// all have the same share.
pub fn between_blocks(rounds: &[Round]) -> Option<MeanEstimate> {
    let mut blocks: BTreeMap<u32, (Cell, f64, f64)> = BTreeMap::new();
    for unit in rounds.iter().filter_map(unit) {
        let (cell, same, all) = blocks.entry(unit.block).or_default();
        cell.add(&unit);
        *same += f64::from(u8::from(unit.is_same));
        *all += 1.0;
    }
    let points: Vec<(f64, f64)> =
        blocks.values().map(|(cell, same, all)| (same / all, cell.log_ratio())).collect();
    let x = summary(&points.iter().map(|point| point.0).collect::<Vec<_>>())?;
    let y = summary(&points.iter().map(|point| point.1).collect::<Vec<_>>())?;
    if x.n < 3 || x.sd == 0.0 {
        return None;
    }
    let squares = x.sd.powi(2) * (x.n - 1) as f64;
    let slope = points.iter().map(|(share, d)| (share - x.mean) * (d - y.mean)).sum::<f64>() / squares;
    let rest = points.iter().map(|(share, d)| (d - y.mean - slope * (share - x.mean)).powi(2));
    let variance = rest.sum::<f64>() / (x.n - 2) as f64;
    // One degree of freedom less than for a mean of as many blocks.
    Some(MeanEstimate {
        n: x.n - 1,
        mean: slope,
        standard_error: (variance / squares).sqrt(),
        correlation: 0.0,
        degrees: (x.n - 2) as f64,
    })
}

/// Two-sided p of the ratio by state: how often circular shifts of the looks, by a random number of rounds in each
/// block, give a mean at least as far from 0. Looks keep their order and lengths of visits, and rates keep theirs; only
/// their pairing is removed. 1 if nothing can be compared.
pub fn shift_p(rounds: &[Round], seen: f64, shifts: u32, seed: u64) -> f64 {
    let mut blocks: BTreeMap<u32, Vec<&Round>> = BTreeMap::new();
    for round in rounds {
        blocks.entry(round.treatment.block).or_default().push(round);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut hits = 0u32;
    for _ in 0..shifts {
        let blocks = blocks.values().filter_map(|rounds| {
            let by = random.next_u32() as usize % rounds.len();
            shifted(rounds, by)
        });
        let (sum, weights) =
            blocks.fold((0.0, 0.0), |(sum, weights), (d, weight)| (sum + d * weight, weights + weight));
        let is_as_far = (sum / weights).abs() >= seen.abs() * (1.0 - 1e-12);
        hits += u32::from(weights == 0.0 || is_as_far);
    }
    f64::from(1 + hits) / f64::from(1 + shifts)
}

/// d of a block whose looks are shifted by some rounds, and its weight.
fn shifted(rounds: &[&Round], by: usize) -> Option<(f64, f64)> {
    let mut cells = [Cell::default(); 2];
    for (at, round) in rounds.iter().enumerate() {
        let look = rounds[(at + by) % rounds.len()].treatment.before;
        if let Some(is_same) = compared(look) {
            cells[usize::from(is_same)].add(&unit_of(round, is_same, 0));
        }
    }
    difference(&cells[1], &cells[0], MIN_ROUNDS)
}
