//! Whether states occur often enough to be compared, and how long a study would have to be.

use super::rows::{Round, Row};
use super::states::LookState;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Gamma};
use std::collections::BTreeMap;
use threadwise_statistics::MeanEstimate;

/// Fewest blocks that have both states.
pub const MIN_BLOCKS: usize = 8;

/// Fewest stretches of looks of each state.
pub const MIN_EPISODES: usize = 20;

/// Fewest rounds of each state for a block to be compared.
pub const MIN_ROUNDS: u32 = 2;

/// How often the states were seen.
#[derive(Debug, Clone, PartialEq)]
pub struct StateCounts {
    /// Blocks with complete rounds.
    pub blocks: usize,
    /// Blocks with at least [`MIN_ROUNDS`] rounds of each state.
    pub blocks_with_both: usize,
    /// Stretches of consecutive looks with two of them on one core.
    pub same_episodes: usize,
    /// Stretches of consecutive looks in which each is clear.
    pub clear_episodes: usize,
    /// Share of the looks before slices that saw the treatment's logical CPUs on one core: mean over blocks.
    pub prevalence: Option<MeanEstimate>,
}

/// How many blocks a study needs until the gate opens, at the same rate.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Needed {
    /// At the observed counts; `None` if one of them is 0.
    pub blocks: Option<u32>,
    /// At the upper ends of their intervals.
    pub low: u32,
    /// At the lower ends; `None` if one of them is 0.
    pub high: Option<u32>,
}

impl StateCounts {
    /// From all rows of a comparison, in order of time, and their complete rounds.
    pub fn new(rows: &[Row], rounds: &[Round]) -> Self {
        let mut counts: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
        for round in rounds {
            let count = counts.entry(round.treatment.block).or_default();
            match round.treatment.before {
                Some(LookState::Clear) => count[0] += 1,
                Some(LookState::SameCore) => count[1] += 1,
                _ => {}
            }
        }
        let both = counts.values().filter(|count| count.iter().all(|count| *count >= MIN_ROUNDS));
        Self {
            blocks: counts.len(),
            blocks_with_both: both.count(),
            same_episodes: episodes(rows, LookState::SameCore),
            clear_episodes: episodes(rows, LookState::Clear),
            prevalence: MeanEstimate::of(&shares(rows)),
        }
    }

    /// Stretches of the state that has fewer.
    pub fn episodes(&self) -> usize {
        self.same_episodes.min(self.clear_episodes)
    }

    /// Whether the states may be compared.
    pub fn is_open(&self) -> bool {
        self.blocks_with_both >= MIN_BLOCKS && self.episodes() >= MIN_EPISODES
    }

    /// Blocks until the gate opens. The ends are those of the exact interval of a Poisson count at level 1 − `alpha`
    /// (Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936).
    pub fn needed(&self, alpha: f64) -> Needed {
        let blocks = self.blocks.max(1) as f64;
        let wanted = [(MIN_BLOCKS, self.blocks_with_both), (MIN_EPISODES, self.episodes())];
        let most = |count: &dyn Fn(usize) -> f64| {
            let needs = wanted.map(|(wanted, seen)| (blocks * wanted as f64 / count(seen)).ceil());
            needs[0].max(needs[1])
        };
        let known = |need: f64| (need.is_finite() && need < f64::from(u32::MAX)).then_some(need as u32);
        Needed {
            blocks: known(most(&|seen| seen as f64)),
            low: most(&|seen| poisson_limit(seen + 1, 1.0 - alpha / 2.0)) as u32,
            high: known(most(&|seen| poisson_limit(seen, alpha / 2.0))),
        }
    }
}

/// The quantile of a gamma distribution of this shape, which is a limit of a Poisson count; 0 for shape 0.
fn poisson_limit(shape: usize, p: f64) -> f64 {
    if shape == 0 {
        return 0.0;
    }
    Gamma::new(shape as f64, 1.0).map_or(0.0, |gamma| gamma.inverse_cdf(p))
}

/// Maximal stretches of consecutive looks of one state, in order of time.
fn episodes(rows: &[Row], state: LookState) -> usize {
    let looks = rows.iter().flat_map(|row| [row.before, row.after]).flatten();
    let (count, _) = looks.fold((0, false), |(count, was), seen| {
        let is = seen == state;
        (count + usize::from(is && !was), is)
    });
    count
}

/// Share of the looks before slices with both on one core, block by block.
fn shares(rows: &[Row]) -> Vec<f64> {
    let mut counts: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (block, state) in rows.iter().filter_map(|row| Some((row.block, row.before?))) {
        let (same, all) = counts.entry(block).or_default();
        *same += f64::from(u8::from(state == LookState::SameCore));
        *all += 1.0;
    }
    counts.into_values().map(|(same, all)| same / all).collect()
}
