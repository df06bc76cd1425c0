//! The order of cells: every repeat is a round over all machines, and within a round kinds are spread evenly and
//! machines shuffled, so that drifts over days (neighbours, temperature, other users) affect all kinds alike. A
//! restricted randomisation: Cox, "Planning of Experiments", 1958, chapter 5.

use super::types::PlannedMachine;
use crate::cell::CellId;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// All cells of these machines.
pub(super) fn cells(machines: &[PlannedMachine], repeats: u32) -> impl Iterator<Item = CellId> + '_ {
    (1..=repeats).flat_map(|repeat| {
        machines.iter().map(move |machine| CellId { machine: machine.name.clone(), repeat })
    })
}

/// All cells in a drawn order.
pub(super) fn drawn(machines: &[PlannedMachine], repeats: u32, seed: u64) -> Vec<CellId> {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let mut kinds: Vec<&str> = Vec::new();
    for machine in machines {
        if !kinds.contains(&machine.kind.as_str()) {
            kinds.push(&machine.kind);
        }
    }
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        let mut round: Vec<(f64, &PlannedMachine)> = Vec::new();
        for kind in &kinds {
            let mut same: Vec<&PlannedMachine> =
                machines.iter().filter(|machine| machine.kind == *kind).collect();
            same.shuffle(&mut draw);
            let count = same.len() as f64;
            // One machine in each of `count` equal parts of the round.
            let places = same.into_iter().enumerate();
            round.extend(places.map(|(at, machine)| ((at as f64 + draw.random::<f64>()) / count, machine)));
        }
        round.sort_by(|(a, one), (b, other)| a.total_cmp(b).then_with(|| one.name.cmp(&other.name)));
        cells.extend(round.into_iter().map(|(_, machine)| CellId { machine: machine.name.clone(), repeat }));
    }
    cells
}
