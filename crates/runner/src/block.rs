//! One block: a warmed, parked worker per treatment, and rounds of slices in the plan's order.
//!
//! While one treatment runs, every other worker blocks in `read(2)` and no thread of it runs.

mod accept;
mod binding;
mod command;
mod input;
mod leftovers;
mod pages;
mod phases;
mod slice;
mod treatment_run;
mod warm;
mod workers;

pub use input::Input;
pub use phases::Means;
pub use workers::first_sequence;

use crate::guard::BlockUse;
use crate::neighbours::Neighbours;
use threadwise_study::warmup::Warmup;
use threadwise_study::{Note, Run, RunStatus, Slice, Workload};
use treatment_run::TreatmentRun;

/// Result of a block.
#[derive(Debug)]
pub struct Output {
    /// One run per treatment, in study order.
    pub runs: Vec<Run>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// What was used and waited for during its rounds, if known; a model competes with nothing.
    pub used: Option<BlockUse>,
    /// Warm-ups by treatment, as far as known.
    pub warmups: Vec<Option<Warmup>>,
    /// Seconds of measuring those, which other blocks do not spend.
    pub warmup_s: f64,
    /// Notes of engines at their start.
    pub notes: Vec<Note>,
}

/// Runs a block. `on_slice` is called for every slice that was taken or left out: its number in the
/// block, the treatment, and the slice.
pub fn run_block(
    input: &Input<'_>,
    means: Means<'_, '_>,
    on_slice: &mut dyn FnMut(u64, &str, Option<&Slice>),
) -> Output {
    let mut runs = treatment_runs(input);
    if !command::one_by_one(input.study) {
        workers::prepare_all(input, &mut runs);
    }
    let warmup_s = warm_up(input, &mut runs);
    let phases::Done { interrupted, used, notes } = phases::run(input, &mut runs, means, on_slice);
    let used = used.map(|used| command::without_waits(input.study, used));
    let used = used.map(|used| command::with_server(used, runs.iter().flat_map(|run| &run.slices)));
    // Only these must find their data cached; other workloads read as they need to.
    workers::finish_all(input, &mut runs, input.study.workload == Workload::LogicalIo);
    let left = leftovers::end(&leftovers::mark(input.folders, input.plan.block));
    let notes = left
        .into_iter()
        .map(Note::from)
        .chain(notes)
        .chain(runs.iter_mut().flat_map(|run| run.notes.drain(..)))
        .collect();
    let warmups = runs.iter().map(|run| run.warmup.clone()).collect();
    let runs = runs.into_iter().map(|run| run_of(input, run)).collect();
    Output { runs, interrupted, used, warmups, warmup_s, notes }
}

/// Measures the unknown warm-ups; returns the seconds that it took.
fn warm_up(input: &Input<'_>, runs: &mut [TreatmentRun<'_>]) -> f64 {
    let began_ns = input.clock.now_ns();
    if warm::measure(input, runs, first_sequence(input.study, input.plan.block)) {
        let warmups: Vec<Option<Warmup>> = runs.iter().map(|run| run.warmup.clone()).collect();
        (input.on_warm)(&warmups);
    }
    input.clock.now_ns().saturating_sub(began_ns) as f64 / 1e9
}

fn treatment_runs<'a>(input: &Input<'a>) -> Vec<TreatmentRun<'a>> {
    let treatments = input.study.treatments.iter();
    treatments
        .zip(&input.plan.placements)
        .zip(&input.plan.memories)
        .zip(&input.plan.services)
        .zip(input.loads)
        .enumerate()
        .map(|(at, ((((treatment, placement), memory), service), load))| TreatmentRun {
            name: &treatment.name,
            placement,
            memory,
            service: service.as_ref(),
            load,
            streams: treatment.sessions as usize,
            worker: None,
            tids: Vec::new(),
            placed: Vec::new(),
            pids: Vec::new(),
            notes: Vec::new(),
            counts_pieces: false,
            warmup: input.warmups.get(at).cloned().flatten(),
            started_ns: 0,
            prepare_ns: 0,
            status: RunStatus::Valid,
            slices: Vec::new(),
            readings: Vec::new(),
            neighbours: Neighbours::default(),
        })
        .collect()
}

fn run_of(input: &Input<'_>, mut run: TreatmentRun<'_>) -> Run {
    run.readings.extend(run.neighbours.readings(&run.placement.set()));
    run.readings.extend(run.warmup.iter().flat_map(|warmup| warmup.readings(run.started_ns)));
    let mut run = Run {
        id: 0,
        block: input.plan.block,
        attempt: input.attempt,
        treatment: run.name.to_owned(),
        cpus: run.placement.cpus.clone(),
        status: run.status,
        slices: run.slices,
        started_s: run.started_ns as f64 / 1e9,
        prepare_ns: run.prepare_ns,
        readings: run.readings,
        other_cpu_times: Vec::new(),
    };
    run.add_up_other_cpus(&input.topology.with_siblings(run.cpus.iter().copied()));
    run
}
