//! Phases of a block: which arm the machine is in, and the slices that are taken in it.
//!
//! Switching stops all logical CPUs for a moment, so arms do not alternate slice by slice. A block has each arm twice,
//! in a drawn order and its reverse (off, on, on, off), so that a linear drift affects all equally (ABBA; Cox and Reid,
//! *The Theory of the Design of Experiments*, ch. 4) and the ratio is one within the block. Each arm has the first half
//! of the rounds in its first phase and the rest in its second. A block of one round has each arm once; the second of
//! two such blocks has the reverse order of the first.

use super::stream::{Purpose, random};
use crate::{Arm, Study};
use rand::seq::SliceRandom;

/// A phase of a block in one arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// The state of the machine.
    pub arm: Arm,
    /// Round and treatment (by index) of its slices, in the order of execution.
    pub slices: Vec<(u32, usize)>,
}

/// The phases of a block with these rounds. A study of one arm has one phase.
pub(super) fn phases(study: &Study, rounds: &[Vec<usize>], block: u32) -> Vec<Phase> {
    let (first, second) = rounds.split_at(rounds.len().div_ceil(2));
    let halves = [(0, first), (first.len(), second)];
    let mut arms: Vec<Arm> = study.arms().into_iter().cloned().collect();
    arms.shuffle(&mut random(study.seed, Purpose::Arms, block / 2));
    if !block.is_multiple_of(2) {
        arms.reverse();
    }
    let mut phases: Vec<Phase> = Vec::new();
    for (begin, half) in halves.into_iter().filter(|(_, half)| !half.is_empty()) {
        for arm in &arms {
            let slices: Vec<(u32, usize)> = (begin as u32..)
                .zip(half)
                .flat_map(|(round, order)| order.iter().map(move |&treatment| (round, treatment)))
                .filter(|(_, treatment)| study.treatments[*treatment].arm == *arm)
                .collect();
            match phases.last_mut().filter(|last| last.arm == *arm) {
                Some(last) => last.slices.extend(slices),
                None => phases.push(Phase { arm: arm.clone(), slices }),
            }
        }
        arms.reverse();
    }
    phases
}
