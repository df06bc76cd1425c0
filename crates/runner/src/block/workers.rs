//! Workers of a block: started and warmed before its slices, checked and ended after them.

use super::input::Input;
use super::treatment_run::TreatmentRun;
use super::{binding, command, leftovers, pages};
use crate::watch;
use crate::worker_process::{Failure, WorkerLaunch, WorkerProcess};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_engine::Placed;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireSession};
use threadwise_machine::CpuSet;
use threadwise_study::{Note, Slice, Study};

/// Most physical reads per logical read of a cached run.
const MOST_PHYSICAL_SHARE: f64 = 0.001;
/// Failures that a worker reports itself when it is asked to stop.
const SAID_AT_THE_END: [&str; 2] = ["wrong-answer", "engine"];

/// Every process that works for the block, each once.
pub(super) fn pids(runs: &[TreatmentRun<'_>]) -> Vec<u32> {
    let mut all: Vec<u32> =
        runs.iter().filter(|run| run.worker.is_some()).flat_map(|run| run.pids.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Starts all workers and has them open and warm their sessions, a few at once, in the shuffled order
/// of the block's first round: the effects of a fixed order on a worker (for instance the physical memory that is
/// left for it) would be the same in every block, and so part of the ratio and not of the
/// noise. Figures: docs/METHODOLOGY.md.
pub(super) fn prepare_all(input: &Input<'_>, runs: &mut [TreatmentRun<'_>]) {
    let mut busy = VecDeque::new();
    for at in preparation_order(&input.plan.rounds, runs.len()) {
        if busy.len() >= input.concurrent.max(1)
            && let Some(first) = busy.pop_front()
        {
            await_ready(input, &mut runs[first]);
        }
        start(input, at, &mut runs[at]);
        busy.push_back(at);
    }
    for at in busy {
        await_ready(input, &mut runs[at]);
    }
}

/// Every treatment once: those of the first round in its order, then any others.
fn preparation_order(rounds: &[Vec<usize>], treatments: usize) -> Vec<usize> {
    let mut order: Vec<usize> = rounds.first().cloned().unwrap_or_default();
    order.retain(|&at| at < treatments);
    order.extend((0..treatments).filter(|at| !rounds.first().is_some_and(|round| round.contains(at))));
    order
}

pub(super) fn start(input: &Input<'_>, at: usize, run: &mut TreatmentRun<'_>) {
    run.started_ns = input.clock.now_ns();
    let log = input.folders.logs.join(format!("block-{}-treatment-{at}.log", input.plan.block));
    let cpus = mask(run.placement.set(), input.allowed);
    let mark = leftovers::mark(input.folders, input.plan.block);
    let folder = input.folders.instances.get(at).map_or(input.folders.data, PathBuf::as_path);
    let launch = WorkerLaunch { cpus: &cpus, memory: run.memory, folder, log: &log, mark: &mark };
    let sessions = run.placement.sessions.iter();
    let prepare = Request::Prepare {
        protocol: VERSION,
        load: command::load_of_block(input.study, run.load, input.plan.block),
        sessions: sessions.map(|cpus| WireSession { cpus: cpus.to_string() }).collect(),
        seed: input.plan.seed,
        service: run.service.map(CpuSet::to_string),
        journal: input.folders.journal.map(|journal| journal.display().to_string()),
    };
    let treatment = input.study.treatments.get(at);
    let program = treatment.map_or(&input.settings.worker, |treatment| input.settings.worker_of(treatment));
    let started = WorkerProcess::start(program, launch, input.settings.deadlines);
    // `prepare` waits in the pipe while the worker starts, so that workers start in parallel.
    match started.and_then(|mut worker| worker.send(&prepare, input.stop).map(|()| worker)) {
        Ok(worker) => run.worker = Some(worker),
        Err(failure) => run.fail(failure),
    }
}

/// Logical CPUs of a worker's process.
fn mask(placement: CpuSet, allowed: &CpuSet) -> CpuSet {
    if placement.is_empty() { allowed.clone() } else { placement }
}

pub(super) fn await_ready(input: &Input<'_>, run: &mut TreatmentRun<'_>) {
    let Some(worker) = &mut run.worker else { return };
    let deadline = input.settings.deadlines.prepare;
    let pid = worker.pid();
    let ready = worker.hello(input.stop).and_then(|hello| {
        match worker.receive("prepare", deadline, Some(input.stop))? {
            Reply::Ready { tids, placed, notes, note_codes, memory }
                if tids.len() == run.placement.sessions.len() =>
            {
                let placed: Result<Vec<Placed>, _> = placed.into_iter().map(Placed::try_from).collect();
                let placed = placed.map_err(|error| Failure::new("protocol", error.to_string()))?;
                Ok((tids, placed, Note::with_codes(notes, &note_codes), hello.pieces, memory))
            }
            other => Err(worker.unexpected("ready with a thread id per session", &other)),
        }
    });
    match ready {
        Ok((tids, placed, notes, counts_pieces, memory)) => {
            run.counts_pieces = counts_pieces;
            run.tids = tids;
            run.pids = [pid].into_iter().chain(placed.iter().map(|thread| thread.pid)).collect();
            run.pids.sort_unstable();
            run.pids.dedup();
            run.placed = placed;
            run.notes.extend(notes);
            run.prepare_ns = input.clock.now_ns().saturating_sub(run.started_ns);
            binding::check(run);
            pages::read(input, run);
            pages::of_server(input, run, memory);
            (input.on_ready)(run.prepare_ns as f64 / 1e9);
        }
        Err(failure) => run.fail(failure),
    }
}

/// Number of a block's first slice: its place in the plan, so that a repeated block has
/// the same numbers.
pub fn first_sequence(study: &Study, block: u32) -> u64 {
    u64::from(block) * study.slices_of_round() * u64::from(study.design.rounds)
}

/// Preparation outside of a slice. `false` if it failed.
pub(super) fn prepare_slice(input: &Input<'_>, treatment: usize, run: &mut TreatmentRun<'_>) -> bool {
    if let Some(quota) = input.study.quota.filter(|_| run.worker.is_some()) {
        wait(Duration::from_nanos(quota.idle_ns()), input.stop);
    }
    let Some(queries) = input.queries.filter(|_| run.worker.is_some()) else { return true };
    let prepared = queries.before(treatment);
    if let Err(why) = &prepared {
        run.fail(Failure::new("engine", why.clone()));
    }
    prepared.is_ok()
}

/// Sleeps, in pieces short enough for Ctrl-C.
fn wait(time: Duration, stop: &AtomicBool) {
    const PIECE: Duration = Duration::from_millis(100);
    let mut left = time;
    while !left.is_zero() && !stop.load(Ordering::Relaxed) {
        let piece = left.min(PIECE);
        std::thread::sleep(piece);
        left -= piece;
    }
}

/// Checks masks and memory policies again, stops the remaining workers, and judges their runs.
pub(super) fn finish_all(input: &Input<'_>, runs: &mut [TreatmentRun<'_>], must_be_cached: bool) {
    for run in runs.iter_mut() {
        binding::check(run);
        pages::read(input, run);
        if let Some(worker) = &mut run.worker {
            worker.ask_to_stop();
        }
    }
    for run in runs.iter_mut() {
        match run.worker.take().map(|worker| worker.stopped(input.stop)) {
            Some(Ok(memory)) => pages::of_server(input, run, memory),
            // It found its data wrong, or could not restore it. One that cannot stop for another
            // reason is killed, which does not affect complete slices.
            Some(Err(failure)) if SAID_AT_THE_END.contains(&failure.kind.as_str()) => run.fail(failure),
            _ => {}
        }
        if run.status.is_valid() {
            if let Some(message) = not_cached(&run.slices).filter(|_| must_be_cached) {
                run.invalidate("not-cached", message);
            } else if watch::throttled_periods(&run.readings) > 0.0 && !is_beyond_quota(input.study, run) {
                let periods = watch::throttled_periods(&run.readings);
                run.invalidate("throttled", format!("a CPU quota throttled it, periods: {periods}"));
            }
        }
    }
}

/// Whether the treatment uses up a quota that the study is made for: then throttling is part of the result.
fn is_beyond_quota(study: &Study, run: &TreatmentRun<'_>) -> bool {
    let treatment = study.treatment(run.name).map(|(_, treatment)| treatment);
    treatment.is_some_and(|treatment| study.is_beyond_quota(treatment, run.placement.set().len()))
}

/// Why the run's data was not cached; `None` if it was.
fn not_cached(slices: &[Slice]) -> Option<String> {
    let sum = |name: &str| slices.iter().map(|slice| slice.counter(name)).sum::<u64>();
    let (physical, logical) = (sum("physical_reads"), sum("logical_reads"));
    (physical as f64 > MOST_PHYSICAL_SHARE * logical as f64)
        .then(|| format!("{physical} physical reads to {logical} logical reads: the data was not all cached"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use threadwise_study::SessionSlice;

    #[test]
    fn workers_are_prepared_in_a_drawn_order_each_once() {
        assert_eq!(preparation_order(&[vec![2, 0, 1], vec![0, 1, 2]], 3), [2, 0, 1]);
        assert_eq!(preparation_order(&[vec![2]], 3), [2, 0, 1]);
        assert_eq!(preparation_order(&[], 2), [0, 1]);
    }

    #[test]
    fn a_worker_without_a_placement_may_run_anywhere() {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        assert_eq!(mask(set("2"), &set("0-3")), set("2"));
        assert_eq!(mask(CpuSet::new(), &set("0-3")), set("0-3"));
    }

    #[test]
    fn a_run_that_read_from_the_disk_is_not_cached() {
        let slice = |physical: u64, logical: u64| Slice {
            sequence: 0,
            round: 0,
            start_ns: 0,
            window_ns: 1,
            sessions: vec![SessionSlice {
                counters: BTreeMap::from([
                    ("physical_reads".to_owned(), physical),
                    ("logical_reads".to_owned(), logical),
                ]),
                ..SessionSlice::default()
            }],
            counters: BTreeMap::new(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        };
        assert_eq!(not_cached(&[slice(1, 1000), slice(0, 0)]), None);
        assert!(not_cached(&[slice(1, 999)]).unwrap().contains("1 physical reads to 999"));
        assert!(not_cached(&[slice(1, 0)]).is_some());
        assert_eq!(not_cached(&[]), None);
    }
}
