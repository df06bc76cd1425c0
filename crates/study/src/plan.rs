//! The plan of a block: a pure function of study, topology and block number.
//!
//! A block is a randomised complete block (Montgomery, *Design and Analysis of Experiments*,
//! ch. 4): every treatment on one draw of the machine, in every round once, in a drawn order in which
//! each follows each equally often ([`order`]).

pub mod first_threads;
pub mod long;
pub mod order;
mod phases;
mod squares;
pub(crate) mod stream;

pub use phases::Phase;
use rand::{Rng, RngExt};
use stream::{Purpose, random};
use threadwise_machine::{
    CpuSet, Draw, MemoryBinding, PlacementError, Resolved, Topology, memory, placement,
};

use crate::{LongWindows, SmtWay, Study, Treatment, Workload, tpch};

/// The plan of a block, fixed before it starts.
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
    /// For each treatment the logical CPUs of its service threads, if placed.
    pub services: Vec<Option<CpuSet>>,
    /// For each treatment the seed of its worker: equal within a block, so that all read the same keys.
    pub seed: u64,
    /// For each round the treatment indices in order of execution.
    pub rounds: Vec<Vec<usize>>,
    /// The rounds' slices by arm, in the order of execution.
    pub phases: Vec<Phase>,
    /// For each round and stream the queries in order; empty if the workload has no queries.
    pub queries: Vec<Vec<Vec<u8>>>,
    /// Length of its windows.
    pub window_ns: u64,
    /// Length of the pieces that its windows' rows are counted by, if they are.
    pub piece_ns: Option<u64>,
}

impl BlockPlan {
    /// Whether its windows are long windows.
    pub fn is_long(&self) -> bool {
        long::is_long(self.block)
    }

    /// What each of this many streams runs in a round; empty without queries.
    pub fn scripts(&self, round: u32, streams: usize) -> Vec<Vec<u8>> {
        let scripts = self.queries.get(round as usize).map_or(&[][..], Vec::as_slice);
        scripts.iter().take(streams).cloned().collect()
    }

    /// What each of `sessions` sessions runs; those beside the streams have an empty list.
    pub fn session_scripts(&self, round: u32, streams: usize, sessions: usize) -> Vec<Vec<u8>> {
        let mut scripts = self.scripts(round, streams);
        if !scripts.is_empty() {
            scripts.resize(sessions.max(scripts.len()), Vec::new());
        }
        scripts
    }
}

/// Why a block cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A treatment's placement, or its memory policy with that placement, is not possible.
    #[error("treatment '{treatment}': {source}")]
    Placement {
        /// Treatment name.
        treatment: String,
        /// The cause.
        source: PlacementError,
    },
    /// A treatment needs siblings that its arm takes away.
    #[error("treatment '{treatment}' needs logical CPUs {cpus}, two of which are on one core, and smt={} leaves one", .way.word())]
    Arm {
        /// Treatment name.
        treatment: String,
        /// Its logical CPUs, those of service threads included.
        cpus: CpuSet,
        /// How SMT is taken away.
        way: SmtWay,
    },
}

/// Plans one block.
///
/// The program that resumes a study plans it. If the study began under a version that drew every round by itself, its
/// blocks keep the order that their slices' numbers tell, and the remaining blocks have the balanced order; the rest of
/// the plan is the same in both.
///
/// # Errors
/// A placement or a memory policy that is not possible on this machine.
pub fn plan_block(study: &Study, topology: &Topology, block: u32) -> Result<BlockPlan, PlanError> {
    let rounds = order::rounds(study.seed, study.treatments.len(), study.design.rounds, block);
    let plan = placed(study, topology, block, rounds)?;
    Ok(BlockPlan { queries: queries(study, block), ..plan })
}

/// Plans a block of long windows, numbered from 0; `None` if the study has none.
///
/// Draws logical CPUs as for the next block in the turn of first positions.
///
/// # Errors
/// A placement or a memory policy that is not possible on this machine.
pub fn plan_long_block(
    study: &Study,
    topology: &Topology,
    number: u32,
) -> Result<Option<BlockPlan>, PlanError> {
    let Some(LongWindows { window_ns, .. }) = study.design.long_windows else { return Ok(None) };
    let order = long::order(study.seed, study.treatments.len(), number);
    let plan = placed(study, topology, long::FIRST_BLOCK.saturating_add(number), vec![order])?;
    let piece_ns = Some(window_ns.div_ceil(long::PIECES).max(1));
    Ok(Some(BlockPlan { window_ns, piece_ns, ..plan }))
}

/// A block of slices with these rounds, without queries.
fn placed(
    study: &Study,
    topology: &Topology,
    block: u32,
    rounds: Vec<Vec<usize>>,
) -> Result<BlockPlan, PlanError> {
    let draw = Draw::for_block(topology, study.seed, block);
    let mut placements = Vec::with_capacity(study.treatments.len());
    let mut memories = Vec::with_capacity(study.treatments.len());
    let mut services = Vec::with_capacity(study.treatments.len());
    let takes_siblings = study.takes_siblings();
    for treatment in &study.treatments {
        let fail = |source| PlanError::Placement { treatment: treatment.name.clone(), source };
        let Treatment { placement, pin, .. } = treatment;
        let sessions = study.worker_sessions(treatment);
        let resolved = placement::resolve(placement, topology, &draw, sessions, *pin).map_err(fail)?;
        let resolved = if takes_siblings { first_threads::on_first(topology, resolved) } else { resolved };
        memories.push(memory::resolve(&treatment.memory, topology, &resolved.set()).map_err(fail)?);
        let service = treatment.service.as_ref();
        let service = service.map(|one| placement::resolve_service(one, topology, &draw, &resolved));
        let service = service.transpose().map_err(fail)?;
        one_thread_each(treatment, topology, &resolved, service.as_ref())?;
        services.push(service);
        placements.push(resolved);
    }
    Ok(BlockPlan {
        block,
        draw,
        placements,
        memories,
        services,
        seed: random(study.seed, Purpose::Worker, block).next_u64(),
        phases: phases::phases(study, &rounds, block),
        rounds,
        queries: Vec::new(),
        window_ns: study.design.slice_ns,
        piece_ns: None,
    })
}

/// Refuses a treatment that needs siblings which its arm takes away.
fn one_thread_each(
    treatment: &Treatment,
    topology: &Topology,
    placed: &Resolved,
    service: Option<&CpuSet>,
) -> Result<(), PlanError> {
    let (way, set) = (treatment.arm.smt, placed.set());
    let cpus = service.map_or(set.clone(), |service| set.union(service));
    match way != SmtWay::Mask && first_threads::has_siblings(topology, &cpus) {
        true => Err(PlanError::Arm { treatment: treatment.name.clone(), cpus, way }),
        false => Ok(()),
    }
}

/// Of this many slices one has a look while it runs, and another [`LOOKS_DURING_CHANGES`] − 1 where states change.
const LOOKS_DURING: u32 = 10;
const LOOKS_DURING_CHANGES: u32 = 5;
/// Of this many such looks one is repeated at once, which shows how often looks are wrong.
const REPEATED: u32 = 10;

/// A look while a slice runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuringLook {
    /// When: the share of the window that has passed.
    pub at: f64,
    /// Whether it is taken only where states change.
    pub where_changing: bool,
    /// Whether another one follows at once.
    pub repeated: bool,
}

/// The looks during the slices of a block, in order: at times drawn uniformly, in a tenth of the slices, and in half of them
/// where states change. They show how far looks before and after tell what happened between them.
pub fn looks_during(study: &Study, block: u32) -> Vec<Option<DuringLook>> {
    let mut random = random(study.seed, Purpose::Looks, block);
    let slices = study.treatments.len() * study.design.rounds as usize;
    let mut draw = || {
        let turn = random.next_u32() % LOOKS_DURING;
        let (at, repeated) = (random.random::<f64>(), random.next_u32().is_multiple_of(REPEATED));
        (turn < LOOKS_DURING_CHANGES).then_some(DuringLook { at, where_changing: turn > 0, repeated })
    };
    (0..slices).map(|_| draw()).collect()
}

/// Maximum logical CPUs in a look: all have to run together within it.
pub const LOOKED_AT_MOST: usize = 16;
/// Idle logical CPUs that are looked at beside those of treatments, as far as there is room: neighbours that these have slow
/// no session.
const LOOKED_AT_IDLE: usize = 2;
/// How many of these go to treatments with no more logical CPUs, smallest first.
const LOOKED_AT_WHOLE: usize = LOOKED_AT_MOST / 2;

/// The watched logical CPUs of a block, ascending: those of all treatments and some idle ones, at most [`LOOKED_AT_MOST`]. Of more, the
/// smallest treatments are watched whole, up to half of the places. The rest take turns: every n-th one, and in the
/// next block the ones after these; which come in the first block is drawn.
pub fn looked_at(study: &Study, plan: &BlockPlan, allowed: &CpuSet) -> Vec<u32> {
    let mut sets: Vec<CpuSet> = plan.placements.iter().map(Resolved::set).collect();
    let all = sets.iter().fold(CpuSet::new(), |all, set| all.union(set));
    if all.len() <= LOOKED_AT_MOST {
        let idle: Vec<u32> = allowed.difference(&all).iter().collect();
        let count =
            LOOKED_AT_IDLE.min(LOOKED_AT_MOST - all.len()).min(if all.is_empty() { 0 } else { idle.len() });
        let drawn = random(study.seed, Purpose::LookedAt, plan.block).next_u32() as usize;
        let some: CpuSet =
            (0..count).map(|at| idle[(drawn % idle.len() + at * idle.len() / count) % idle.len()]).collect();
        return all.union(&some).iter().collect();
    }
    sets.sort_by_key(CpuSet::len);
    let whole = sets.iter().fold(CpuSet::new(), |whole, set| {
        let more = whole.union(set);
        if more.len() <= LOOKED_AT_WHOLE { more } else { whole }
    });
    let rest: Vec<u32> = all.difference(&whole).iter().collect();
    let places = LOOKED_AT_MOST - whole.len();
    let turns = rest.len().div_ceil(places);
    let drawn = random(study.seed, Purpose::LookedAt, 0).next_u32() as usize;
    let turn = (drawn + plan.block as usize) % turns;
    let some: CpuSet = (0..places).map(|at| rest[(at * rest.len() / places + turn) % rest.len()]).collect();
    whole.union(&some).iter().collect()
}

fn queries(study: &Study, block: u32) -> Vec<Vec<Vec<u8>>> {
    let most = study.treatments.iter().map(|treatment| treatment.sessions).max();
    match study.treatments.first().zip(most).filter(|_| study.workload == Workload::Tpch) {
        Some((first, streams)) => {
            let mut random = random(study.seed, Purpose::Queries, block);
            tpch::scripts(&first.options, study.design.rounds, streams, &mut random)
        }
        None => Vec::new(),
    }
}
