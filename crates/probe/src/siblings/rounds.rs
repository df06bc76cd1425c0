//! Rounds: windows of a pair alone and together, in a new random order for each round.
//!
//! The sign test of `judge` depends on the random order: neighbours cannot know whether the next window is one
//! alone or one together.

use super::Meter;
use crate::bench::{ProbeError, Timing};
use crate::kernels::Kernel;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// One window. Short compared with a scheduler's slice of 3 ms and more, so that most windows are whole; long
/// compared with the few microseconds of a chunk.
pub(super) const WINDOW_NS: u64 = 1_000_000;

/// The kernel of loads and stores accompanies the others and decides nothing: one round in four.
const LOAD_STORE_EVERY: usize = 4;

/// Mean number of windows in a round.
pub(super) const WINDOWS_PER_ROUND: f64 = 6.0 + 3.0 / LOAD_STORE_EVERY as f64;

/// One kernel in one round: the two CPUs of a pair alone and together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Windows {
    pub alone: [Timing; 2],
    pub together: [Timing; 2],
}

/// All kernels in one round.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Round {
    pub wide: Windows,
    pub chain: Windows,
    pub load_store: Option<Windows>,
}

/// Which CPUs run in a window of several pairs: of each pair one, the other, or both.
#[derive(Clone, Copy)]
enum Who {
    One,
    Other,
    Both,
}

/// Measures one round of pairs that cannot disturb each other; gives one [`Round`] per pair, with
/// the sides in the order of the pair.
pub(super) fn round(
    meter: &mut Meter<'_>,
    random: &mut ChaCha8Rng,
    pairs: &[[u32; 2]],
    number: usize,
) -> Result<Vec<Round>, ProbeError> {
    let mut kernels = vec![Kernel::Wide, Kernel::Chain];
    if number.is_multiple_of(LOAD_STORE_EVERY) {
        kernels.push(Kernel::LoadStore);
    }
    // Which of a pair counts as the one is random too: all ones of a batch run at the same time.
    let swapped: Vec<bool> = pairs.iter().map(|_| random.random_range(0..2) == 1).collect();
    let mut windows: Vec<(usize, Who)> = (0..kernels.len())
        .flat_map(|kernel| [Who::One, Who::Other, Who::Both].map(|who| (kernel, who)))
        .collect();
    windows.shuffle(random);
    let empty = Windows { alone: [NOT_RUN; 2], together: [NOT_RUN; 2] };
    let mut seen = vec![vec![empty; pairs.len()]; kernels.len()];
    for (kernel, who) in windows {
        let sides = |pair: usize| match who {
            Who::One => vec![usize::from(swapped[pair])],
            Who::Other => vec![usize::from(!swapped[pair])],
            Who::Both => vec![0, 1],
        };
        let members: Vec<(usize, usize)> =
            (0..pairs.len()).flat_map(|pair| sides(pair).into_iter().map(move |side| (pair, side))).collect();
        let cpus: Vec<u32> = members.iter().map(|&(pair, side)| pairs[pair][side]).collect();
        let timings = meter.run(kernels[kernel], &cpus, WINDOW_NS)?;
        for ((pair, side), timing) in members.into_iter().zip(timings) {
            let windows = &mut seen[kernel][pair];
            match who {
                Who::Both => windows.together[side] = timing,
                _ => windows.alone[side] = timing,
            }
        }
    }
    let of_pair = |pair: usize| Round {
        wide: seen[0][pair],
        chain: seen[1][pair],
        load_store: seen.get(2).map(|windows| windows[pair]),
    };
    Ok((0..pairs.len()).map(of_pair).collect())
}

/// Placeholder until a window has run; its share is 0.
const NOT_RUN: Timing =
    Timing { cpu: 0, step_ns: f64::NAN, steps_per_ns: 0.0, on_cpu_share: 0.0, involuntary_switches: 0 };
