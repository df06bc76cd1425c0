//! Measuring the unknown warm-ups of a block's treatments before its rounds.
//!
//! Treatments take turns as in rounds, so that each begins with what the others left of its caches. The choice from
//! the results is in [`crate::warmup`], which is pure.

use super::accept;
use super::input::Input;
use super::treatment_run::TreatmentRun;
use crate::warmup::{PIECE_NS, Window, choose, orders};
use crate::worker_process::{Failure, Wait};
use std::sync::atomic::Ordering;
use std::time::Duration;
use threadwise_engine::protocol::{Reply, Request};
use threadwise_study::Role;
use threadwise_study::warmup::WINDOW_NS;

/// How long an awaited window may take beyond its length.
const GRACE: Duration = Duration::from_millis(250);

/// Measures the unknown warm-ups. A study with a fixed re-warm has none. Returns whether there was anything to
/// measure. `sequence` is the number of the block's first slice, which the windows share.
pub(super) fn measure(input: &Input<'_>, runs: &mut [TreatmentRun<'_>], sequence: u64) -> bool {
    let is_lacking = |run: &TreatmentRun<'_>| run.worker.is_some() && run.warmup.is_none();
    if input.study.design.rewarm_ns.is_some() || !runs.iter().any(is_lacking) {
        return false;
    }
    let mut seen: Vec<Vec<Window>> = vec![Vec::new(); runs.len()];
    for at in orders(&input.plan.rounds).concat() {
        if input.stop.load(Ordering::Relaxed) {
            return false;
        }
        let Some(run) = runs.get_mut(at).filter(|run| run.worker.is_some()) else { continue };
        if !run.counts_pieces {
            seen[at] = vec![Window::default()];
            continue;
        }
        match window(input, run, sequence) {
            Ok(window) => seen[at].push(window),
            Err(failure) => run.fail(failure),
        }
    }
    for (run, windows) in runs.iter_mut().zip(&seen) {
        if run.worker.is_none() || run.warmup.is_some() {
            continue;
        }
        let warmup = choose(windows, input.study.design.margin);
        if let Err(why) = &warmup.piece_ns {
            run.notes.push(
                format!("warm-up of {}: {} ms, not seen: {why}", run.name, warmup.ns / 1_000_000).into(),
            );
        }
        run.warmup = Some(warmup);
    }
    alike(input, runs);
    true
}

/// A and A′ are the same, so they have one warm-up: the longer of both.
fn alike(input: &Input<'_>, runs: &mut [TreatmentRun<'_>]) {
    for group in input.study.groups() {
        let of_group = input.study.treatments.iter().enumerate();
        let pair: Vec<usize> = of_group
            .filter(|(_, treatment)| treatment.group == group && treatment.role != Role::Compared)
            .map(|(at, _)| at)
            .filter(|at| runs.get(*at).is_some_and(|run| run.warmup.is_some()))
            .collect();
        let known = pair.iter().filter_map(|at| runs[*at].warmup.clone());
        let Some(longest) = known.max_by_key(|warmup| warmup.ns) else { continue };
        for at in pair {
            runs[at].warmup = Some(longest.clone());
        }
    }
}

/// Runs the treatments of a phase by turns unmeasured, after a switch of the machine, for at least `settle_ns`.
pub(super) fn settle(
    input: &Input<'_>,
    runs: &mut [TreatmentRun<'_>],
    (treatments, sequence): (&[usize], u64),
    settle_ns: u64,
) {
    let until_ns = input.clock.now_ns().saturating_add(settle_ns);
    while input.clock.now_ns() < until_ns && !input.stop.load(Ordering::Relaxed) {
        let mut is_alive = false;
        for at in treatments {
            let Some(run) = runs.get_mut(*at).filter(|run| run.worker.is_some()) else { continue };
            match window(input, run, sequence) {
                Ok(_) => is_alive = true,
                Err(failure) => run.fail(failure),
            }
        }
        if !is_alive {
            return;
        }
    }
}

/// One window, from the moment in which the sessions are released.
fn window(input: &Input<'_>, run: &mut TreatmentRun<'_>, sequence: u64) -> Result<Window, Failure> {
    let Some(worker) = &mut run.worker else {
        return Err(Failure::new("crash", "the worker has ended"));
    };
    let length = Duration::from_nanos(WINDOW_NS);
    let wait = Wait {
        phase: "warm-up",
        deadline: length + input.settings.deadlines.slice,
        stop: Some(input.stop),
        quiet: length + GRACE,
    };
    let go = Request::Go {
        sequence,
        warmup_ns: 0,
        window_ns: WINDOW_NS,
        queries: Vec::new(),
        piece_ns: Some(PIECE_NS),
    };
    worker.send(&go, input.stop)?;
    let reply = match worker.receive_meanwhile(wait, None)? {
        reply @ Reply::Slice { .. } => reply,
        other => return Err(worker.unexpected("slice", &other)),
    };
    let slice = accept::slice(reply, (sequence, 0), run.tids.len(), &[], input.clock)?;
    let wrong: u64 = slice.sessions.iter().map(|session| session.answers_wrong).sum();
    if wrong > 0 {
        return Err(Failure::new("wrong-answer", format!("{wrong} wrong answers while it was warmed")));
    }
    let mut window = Window::default();
    for (number, session) in slice.sessions.iter().enumerate() {
        window.steps += session.steps;
        if number == 0 {
            window.rows.clone_from(&session.rows_by_piece);
        } else {
            // Sessions of one worker count alike; if one lacks pieces, the window has none.
            window.rows.truncate(session.rows_by_piece.len());
            window.rows.iter_mut().zip(&session.rows_by_piece).for_each(|(sum, rows)| *sum += rows);
        }
    }
    Ok(window)
}
