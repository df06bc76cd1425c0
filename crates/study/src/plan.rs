//! The plan of a block: a pure function of study, topology and block number.
//!
//! A block is a randomised complete block (Montgomery, *Design and Analysis of Experiments*,
//! ch. 4): every treatment on one draw of the machine, in every round once, in an order that is
//! drawn anew for each round.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_machine::{
    CpuSet, Draw, MemoryBinding, Placement, PlacementError, Resolved, Topology, memory, placement,
};

use crate::{Study, tpch};

/// Everything that a block does, fixed before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlan {
    /// Block number, from 0.
    pub block: u32,
    /// The block's permutation of the machine.
    pub draw: Draw,
    /// For each treatment (by index in the study) its logical CPUs.
    pub placements: Vec<Resolved>,
    /// For each treatment its memory policy.
    pub memories: Vec<MemoryBinding>,
    /// For each treatment the logical CPUs of its service threads, where it places them.
    pub services: Vec<Option<CpuSet>>,
    /// For each treatment the seed of its worker: the same for all treatments of a block, so that
    /// all read the same keys.
    pub seed: u64,
    /// For each round the treatment indices in order of execution.
    pub rounds: Vec<Vec<usize>>,
    /// For each round and stream the queries to execute one after another; empty where the workload
    /// has no queries.
    pub queries: Vec<Vec<Vec<u8>>>,
}

impl BlockPlan {
    /// What each of `sessions` sessions executes in a round; empty where there are no queries.
    pub fn scripts(&self, round: u32, sessions: usize) -> Vec<Vec<u8>> {
        let streams = self.queries.get(round as usize).map_or(&[][..], Vec::as_slice);
        streams.iter().take(sessions).cloned().collect()
    }
}

/// Why a block cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A treatment's placement, or its memory policy beside that placement, cannot be had.
    #[error("treatment '{treatment}': {source}")]
    Placement {
        /// Treatment name.
        treatment: String,
        /// The cause.
        source: PlacementError,
    },
}

/// What a random stream is for; streams of one seed never overlap (ChaCha's stream number). The
/// draw of the machine uses streams 0 and 1 << 32 and up.
#[derive(Clone, Copy)]
enum Purpose {
    Worker = 2,
    Order = 3,
    Queries = 4,
    Looks = 5,
}

/// Plans one block.
///
/// # Errors
/// A placement or a memory policy that cannot be had on this machine.
pub fn plan_block(study: &Study, topology: &Topology, block: u32) -> Result<BlockPlan, PlanError> {
    let draw = Draw::for_block(topology, study.seed, block);
    let mut placements = Vec::with_capacity(study.treatments.len());
    let mut memories = Vec::with_capacity(study.treatments.len());
    let mut services = Vec::with_capacity(study.treatments.len());
    for treatment in &study.treatments {
        let fail = |source| PlanError::Placement { treatment: treatment.name.clone(), source };
        let resolved = treatment
            .placement
            .parse::<Placement>()
            .and_then(|parsed| {
                placement::resolve(&parsed, topology, &draw, treatment.sessions, treatment.pin)
            })
            .map_err(fail)?;
        memories.push(memory::resolve(&treatment.memory, topology, &resolved.set()).map_err(fail)?);
        let service = treatment.service.as_ref();
        let service = service.map(|one| placement::resolve_service(one, topology, &draw, &resolved));
        services.push(service.transpose().map_err(fail)?);
        placements.push(resolved);
    }
    let seed = random(study.seed, Purpose::Worker, block).next_u64();
    let (rounds, queries) = (rounds(study, block), queries(study, block));
    Ok(BlockPlan { block, draw, placements, memories, services, seed, rounds, queries })
}

/// Of how many slices one has a look in its middle.
const LOOKS_DURING: u32 = 10;

/// Which slices of a block, in the order of execution, have a look in their middle: a random tenth of them,
/// from which one learns how often a look before and one after agree while the middle was different.
pub fn looks_during(study: &Study, block: u32) -> Vec<bool> {
    let mut random = random(study.seed, Purpose::Looks, block);
    let slices = study.treatments.len() * study.design.rounds as usize;
    (0..slices).map(|_| random.next_u32().is_multiple_of(LOOKS_DURING)).collect()
}

fn queries(study: &Study, block: u32) -> Vec<Vec<Vec<u8>>> {
    let most = study.treatments.iter().map(|treatment| treatment.sessions).max();
    match study.treatments.first().zip(most).filter(|_| study.workload == tpch::WORKLOAD) {
        Some((first, streams)) => {
            let mut random = random(study.seed, Purpose::Queries, block);
            tpch::scripts(&first.options, study.design.rounds, streams, &mut random)
        }
        None => Vec::new(),
    }
}

fn rounds(study: &Study, block: u32) -> Vec<Vec<usize>> {
    let mut random = random(study.seed, Purpose::Order, block);
    let round = |_| {
        let mut order: Vec<usize> = (0..study.treatments.len()).collect();
        order.shuffle(&mut random);
        order
    };
    (0..study.design.rounds).map(round).collect()
}

fn random(seed: u64, purpose: Purpose, block: u32) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream((purpose as u64) << 32 | u64::from(block));
    random
}
