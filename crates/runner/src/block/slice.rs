//! One slice of one treatment, with the readings and looks around it.

use super::input::Input;
use super::treatment_run::TreatmentRun;
use super::{accept, command};
use crate::looks::Looking;
use crate::watch::Watch;
use crate::worker_process::{Failure, Interim, Wait};
use std::time::Duration;
use threadwise_engine::protocol::{Reply, Request};
use threadwise_study::{Moment, Slice, SliceLook, warmup};

/// Longer slices are given up when the study is stopped; shorter ones are awaited, so that
/// this process wakes up during them only for a look.
const LONG_SLICE: Duration = Duration::from_millis(500);
/// How long an awaited slice may take beyond its window.
const SLICE_GRACE: Duration = Duration::from_millis(250);
/// How often samplers read while a long window runs.
const READ_EVERY: Duration = Duration::from_millis(100);

/// The readings and looks around slices.
pub(super) struct Around<'a> {
    pub watch: &'a mut Watch,
    pub looking: Option<Looking>,
}

/// Which slice it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Its number in the study.
    pub sequence: u64,
    /// Its number in the block.
    pub number: u64,
    /// Its round in the block.
    pub round: u32,
}

/// Takes a slice. Returns `false` if none was taken.
pub(super) fn take(
    input: &Input<'_>,
    run: &mut TreatmentRun<'_>,
    around: &mut Around<'_>,
    turn: Turn,
) -> bool {
    if run.worker.is_none() {
        return false;
    }
    let clock = input.clock;
    let Around { watch, looking } = around;
    let mut looking = looking.as_mut().filter(|looking| looking.is_due(turn.round));
    let (cpus, pids) = (run.placement.set(), run.pids.clone());
    watch.start(clock, &cpus, &pids);
    let mut looks: Vec<SliceLook> = Vec::new();
    looks.extend(
        looking.as_mut().and_then(|looking| looking.look(Moment::Before, clock, &mut run.neighbours)),
    );
    let scripts = input.plan.session_scripts(turn.round, run.streams, run.tids.len());
    let reply = ask(input, run, turn, (watch, looking.as_deref_mut()), &mut looks);
    let cpu_times = watch.finish(clock, &cpus, &pids, &mut run.readings);
    looks.extend(looking.and_then(|looking| looking.look(Moment::After, clock, &mut run.neighbours)));
    let place = (turn.sequence, turn.round);
    let taken = reply.and_then(|reply| accept::slice(reply, place, run.tids.len(), &scripts, clock));
    match taken {
        Ok(slice) => {
            // The CPUs do nothing for a model's slice.
            let cpu_times = if input.study.is_simulated() { Vec::new() } else { cpu_times };
            keep(input, run, Slice { cpu_times, looks, ..slice });
            true
        }
        Err(failure) => {
            run.fail(failure);
            false
        }
    }
}

/// Has the worker run its sessions, and meanwhile reads and looks if the slice is long or drawn for it.
fn ask(
    input: &Input<'_>,
    run: &mut TreatmentRun<'_>,
    turn: Turn,
    (watch, mut looking): (&mut Watch, Option<&mut Looking>),
    looks: &mut Vec<SliceLook>,
) -> Result<Reply, Failure> {
    let (cpus, pids, neighbours) = (run.placement.set(), &run.pids, &mut run.neighbours);
    let scripts = input.plan.session_scripts(turn.round, run.streams, run.tids.len());
    let Some(worker) = &mut run.worker else {
        return Err(Failure::new("crash", "the worker has ended"));
    };
    let (plan, clock) = (input.plan, input.clock);
    let measured_ns = run.warmup.as_ref().map(|warmup| warmup.ns);
    let warmup_ns = input.study.design.rewarm_ns.or(measured_ns).unwrap_or(warmup::LIMIT_NS);
    let window_ns = plan.window_ns;
    let (rewarm, window) = (Duration::from_nanos(warmup_ns), Duration::from_nanos(window_ns));
    let wait = Wait {
        phase: "slice",
        deadline: rewarm + window + input.settings.deadlines.slice,
        stop: Some(input.stop),
        quiet: if rewarm + window > LONG_SLICE { Duration::ZERO } else { rewarm + window + SLICE_GRACE },
    };
    let is_long = window > READ_EVERY;
    let first_look =
        looking.as_ref().and_then(|looking| looking.first_during(turn.number, turn.sequence, rewarm, window));
    let first = first_look.into_iter().chain(is_long.then_some(READ_EVERY)).min();
    let mut act = || {
        if is_long {
            watch.tick(clock, &cpus, pids);
        }
        let looking = looking.as_mut().filter(|_| first_look.is_some())?;
        looks.extend(looking.look(Moment::During, clock, neighbours));
        let during = looks.iter().filter(|look| look.moment == Moment::During).count();
        looking.next_during(turn.number, during, window)
    };
    let mut act = || act().or_else(|| is_long.then_some(READ_EVERY));
    let interim = first.map(|first| Interim::new(first, &mut act));
    let piece_ns = plan.piece_ns.filter(|_| run.counts_pieces);
    let go = Request::Go { sequence: turn.sequence, warmup_ns, window_ns, queries: scripts, piece_ns };
    worker.send(&go, input.stop).and_then(|()| match worker.receive_meanwhile(wait, interim)? {
        reply @ Reply::Slice { .. } => Ok(reply),
        other => Err(worker.unexpected("slice", &other)),
    })
}

/// Adds a slice to its run, after comparing its answers.
fn keep(input: &Input<'_>, run: &mut TreatmentRun<'_>, mut slice: Slice) {
    run.readings.extend(command::readings(input.study, run.name, &slice));
    let pieces = input.plan.piece_ns.map(|piece_ns| input.plan.window_ns.div_ceil(piece_ns));
    for session in &mut slice.sessions {
        // Only requested values are stored.
        if pieces != Some(session.rows_by_piece.len() as u64) {
            session.rows_by_piece.clear();
        }
    }
    let difference = input.queries.and_then(|queries| queries.check(&mut slice));
    let wrong: u64 = slice.sessions.iter().map(|session| session.answers_wrong).sum();
    run.slices.push(slice);
    if wrong > 0 {
        let checked: u64 =
            run.slices.iter().flat_map(|slice| &slice.sessions).map(|s| s.answers_checked).sum();
        let detail = difference.map_or(String::new(), |difference| format!("; {difference}"));
        let why = format!("{wrong} wrong answers of {checked} checked{detail}");
        run.fail(Failure::new("wrong-answer", why));
    }
}
