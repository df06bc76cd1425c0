//! The logical CPU of the runner's thread during measurements: the same in all treatments of a
//! study, so that the cost of looking is the same for all, and as far from them as possible.
//!
//! Memory and its bus are still shared; that cost is in the readings of `telemetry`.

use crate::RunnerError;
use std::fmt;
use std::io;
use threadwise_machine::pin::{self, PinError};
use threadwise_machine::{CpuSet, Resolved, Topology};
use threadwise_study::plan::first_threads;
use threadwise_study::{Stopping, Study, plan_block};

/// Number of blocks whose placements are considered. Each draws other cores, and the choice must be the same
/// when the study is resumed, so it cannot depend on the number of blocks.
const BLOCKS: u32 = 16;

/// The logical CPU of the runner's thread, and how many treatments use it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HousekeepingCpu {
    /// OS number.
    pub cpu: u32,
    /// Number of treatments of all considered blocks that use it.
    uses: usize,
    /// Number of treatments that use its core, counted once for each of its logical CPUs.
    core_uses: usize,
    /// Number of considered blocks.
    blocks: u32,
}

/// Chooses for a study.
///
/// # Errors
/// A block cannot be planned.
pub fn choose_cpu(study: &Study, topology: &Topology) -> Result<Option<HousekeepingCpu>, RunnerError> {
    let blocks = match study.design.stopping {
        Stopping::Blocks { blocks } => blocks.clamp(1, BLOCKS),
        Stopping::Budget { .. } | Stopping::Until { .. } => BLOCKS,
    };
    let mut placements = Vec::new();
    for block in 0..blocks {
        placements.extend(plan_block(study, topology, block)?.placements);
    }
    // A CPU that goes offline between slices would leave this thread where treatments run.
    let eligible = match study.takes_siblings() {
        true => first_threads::of_cores(topology),
        false => topology.allowed(),
    };
    Ok(choose(topology, &eligible, &placements).map(|(cpu, uses, core_uses)| HousekeepingCpu {
        cpu,
        uses,
        core_uses,
        blocks,
    }))
}

/// The eligible logical CPU that the fewest placements use, of those the one on the least used core, of those the
/// last: a free one on a free core if there is one, and the last allowed one if all are used alike. Returns it with
/// both counts; `None` if none is allowed.
fn choose(topology: &Topology, eligible: &CpuSet, placements: &[Resolved]) -> Option<(u32, usize, usize)> {
    let sets: Vec<CpuSet> = placements.iter().map(Resolved::set).collect();
    let uses = |cpu: u32| sets.iter().filter(|set| set.contains(cpu)).count();
    let of_core = |cpu: u32| match topology.cpu(cpu) {
        Some(found) if !found.siblings.is_empty() => found.siblings.iter().map(uses).sum(),
        _ => uses(cpu),
    };
    let counted = eligible.iter().map(|cpu| (cpu, uses(cpu), of_core(cpu)));
    counted.min_by_key(|&(cpu, uses, core_uses)| (uses, core_uses, std::cmp::Reverse(cpu)))
}

impl fmt::Display for HousekeepingCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "telemetry runs on logical CPU {}, ", self.cpu)?;
        let blocks = match self.blocks {
            1 => "the block".to_owned(),
            blocks => format!("the first {blocks} blocks"),
        };
        match (self.uses, self.core_uses) {
            (0, 0) => write!(f, "on a core that no treatment of {blocks} uses"),
            (0, _) => write!(f, "which no treatment of {blocks} uses, though its SMT siblings are used"),
            _ => write!(f, "which treatments use too: none is free in all of {blocks}"),
        }
    }
}

/// The calling thread, bound to one logical CPU until this is dropped.
#[derive(Debug)]
pub struct Kept {
    before: CpuSet,
}

/// Why the thread could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The mask could not be read, so it could not be restored.
    #[error("the mask of this thread cannot be read: {0}")]
    Unknown(#[from] io::Error),
    /// It could not be bound.
    #[error(transparent)]
    Pin(#[from] PinError),
}

impl Kept {
    /// Binds the calling thread.
    ///
    /// # Errors
    /// See [`KeepError`]; the thread is then bound as before.
    pub fn on(cpu: u32) -> Result<Self, KeepError> {
        let kept = Self { before: pin::current_affinity()? };
        pin::pin_current_thread(&[cpu].into_iter().collect())?;
        Ok(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // If the kernel refuses the old mask (a cpuset has changed), the thread stays where it is,
        // which costs only speed.
        let _ = pin::set_affinity_raw(self.before.words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::topology::LogicalCpu;

    /// Four cores of two: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    fn machine(allowed: &str) -> Topology {
        let allowed = CpuSet::parse_list(allowed).unwrap();
        let cpu = |os_id: u32| LogicalCpu {
            os_id,
            siblings: [os_id % 4, os_id % 4 + 4].into_iter().collect(),
            allowed: allowed.contains(os_id),
            online: true,
            ..LogicalCpu::default()
        };
        Topology { logical_cpus: (0..8).map(cpu).collect(), ..Topology::default() }
    }

    fn placements(lists: &[&str]) -> Vec<Resolved> {
        let resolved = |list: &&str| {
            let set = CpuSet::parse_list(list).unwrap();
            Resolved { cpus: set.iter().collect(), sessions: vec![set], left_over: CpuSet::new() }
        };
        lists.iter().map(resolved).collect()
    }

    fn chosen(allowed: &str, lists: &[&str]) -> u32 {
        let machine = machine(allowed);
        choose(&machine, &machine.allowed(), &placements(lists)).unwrap().0
    }

    #[test]
    fn a_free_core_comes_before_a_free_sibling() {
        assert_eq!(chosen("0-7", &["0", "0,4", "1", "3"]), 6, "core 2 is free, 7 only beside 3");
        assert_eq!(chosen("0-7", &["0-3"]), 7, "the last free sibling");
        assert_eq!(chosen("0-7", &["0-3", "1", "2", "3"]), 4, "the free sibling whose core is used least");
    }

    #[test]
    fn where_all_are_used_it_is_the_least_used_and_then_the_last() {
        assert_eq!(chosen("0-7", &["0-7"]), 7);
        assert_eq!(chosen("0-1", &["0", "0", "0-1", "1", "1"]), 1);
        assert_eq!(chosen("0-1", &["0", "0-1", "1", "1"]), 0);
        assert_eq!(choose(&machine(""), &CpuSet::new(), &placements(&["0"])), None);
    }

    #[test]
    fn only_allowed_ones_are_chosen_and_siblings_that_are_not_allowed_count() {
        assert_eq!(chosen("0,1,6", &["0", "1"]), 6);
        assert_eq!(chosen("0-2", &["0", "1", "2,6"]), 1);
    }

    #[test]
    fn the_note_says_how_free_it_is() {
        let text_of =
            |uses, core_uses, blocks| HousekeepingCpu { cpu: 6, uses, core_uses, blocks }.to_string();
        assert_eq!(
            text_of(0, 0, 1),
            "telemetry runs on logical CPU 6, on a core that no treatment of the block uses"
        );
        assert!(
            text_of(0, 2, 16).contains("no treatment of the first 16 blocks uses, though its SMT siblings")
        );
        assert!(text_of(3, 3, 16).contains("treatments use too"));
    }

    #[test]
    fn the_thread_comes_back_to_where_it_was() {
        std::thread::spawn(|| {
            let before = pin::current_affinity().unwrap();
            let last = before.iter().last().unwrap();
            let kept = Kept::on(last).unwrap();
            assert_eq!(pin::current_affinity().unwrap(), [last].into_iter().collect());
            drop(kept);
            assert_eq!(pin::current_affinity().unwrap(), before);
            assert!(Kept::on(60_000).is_err());
            assert_eq!(pin::current_affinity().unwrap(), before);
        })
        .join()
        .unwrap();
    }
}
