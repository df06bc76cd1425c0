//! The phases of a block: the machine in an arm, and that arm's slices.
//!
//! Between two arms the machine is switched while all workers are parked. Afterwards their threads have their own
//! logical CPUs again (docs/SMT.md, "Putting back"), which is checked before any of them runs.

use super::input::Input;
use super::slice::{self, Around, Turn};
use super::treatment_run::TreatmentRun;
use super::workers::{self, first_sequence, pids};
use super::{binding, command, warm};
use crate::guard::BlockUse;
use crate::looks::{Looking, no_looks};
use crate::switch::{self, Switch, Switched};
use crate::watch::{self, Watch};
use std::sync::atomic::Ordering;
use threadwise_machine::CpuSet;
use threadwise_study::arm::SETTLE_NS;
use threadwise_study::{Note, Phase, RunStatus, Slice};

/// Called for every slice: its number in the block, the treatment, and the slice.
type OnSlice<'a> = dyn FnMut(u64, &str, Option<&Slice>) + 'a;

/// Tools of a block's slices.
pub struct Means<'a, 'k> {
    /// Reads around slices.
    pub watch: &'a mut Watch,
    /// Brings the machine into arms, if the study has some.
    pub switch: Option<&'a mut Switch<'k>>,
}

/// Result of the slices.
pub(super) struct Done {
    /// Whether it was stopped before the end.
    pub interrupted: bool,
    /// What was used and waited for meanwhile, if known.
    pub used: Option<BlockUse>,
    pub notes: Vec<Note>,
}

/// Runs all phases, and restores the machine.
pub(super) fn run(
    input: &Input<'_>,
    runs: &mut [TreatmentRun<'_>],
    means: Means<'_, '_>,
    on_slice: &mut OnSlice<'_>,
) -> Done {
    let Means { watch, mut switch } = means;
    let mut done = Done { interrupted: false, used: None, notes: Vec::new() };
    let mut number = 0;
    for (at, phase) in input.plan.phases.iter().enumerate() {
        if input.stop.load(Ordering::Relaxed) {
            done.interrupted = true;
            break;
        }
        let Ok(online) = enter(input, runs, phase, (watch, switch.as_deref_mut())) else {
            number += phase.slices.len() as u64;
            continue;
        };
        let is_new = online.as_ref().is_some_and(|switched| switched.is_new);
        if is_new && input.study.settles() {
            settle(input, runs, (phase, number));
        }
        let online = online.map(|switched| switched.online);
        let used =
            run_phase(input, runs, (phase, number), (watch, online.as_ref()), (&mut done, &mut *on_slice));
        done.used = match (at, done.used.take(), used) {
            (0, _, used) => used,
            (_, before, used) => before.zip(used).map(|(before, used)| before.and(&used)),
        };
        number += phase.slices.len() as u64;
        if done.interrupted {
            break;
        }
    }
    if let Some(switch) = switch
        && let Err(failure) = switch.to(&Default::default(), input.plan, input.study)
    {
        done.notes.push(format!("after block {}: {}", input.plan.block, failure.message).into());
    }
    let stopped = |run: &TreatmentRun<'_>| matches!(&run.status, RunStatus::Failed { kind, .. } if kind == crate::worker_process::STOPPED);
    done.interrupted |= runs.iter().any(stopped);
    done
}

/// Runs the treatments of a phase unmeasured after a switch, in the order of its first round.
fn settle(input: &Input<'_>, runs: &mut [TreatmentRun<'_>], (phase, first_number): (&Phase, u64)) {
    let round = phase.slices.first().map(|(round, _)| *round);
    let first = phase.slices.iter().filter(|(of_round, _)| Some(*of_round) == round);
    let treatments: Vec<usize> = first.map(|(_, treatment)| *treatment).collect();
    let sequence = first_sequence(input.study, input.plan.block) + first_number;
    warm::settle(input, runs, (&treatments, sequence), SETTLE_NS);
}

/// Switches the machine for a phase. Returns what was done if it is switched at all; after an error the phase's runs
/// have failed.
fn enter(
    input: &Input<'_>,
    runs: &mut [TreatmentRun<'_>],
    phase: &Phase,
    (watch, switch): (&mut Watch, Option<&mut Switch<'_>>),
) -> Result<Option<Switched>, ()> {
    let Some(switch) = switch else { return Ok(None) };
    let is_of_phase = |at: usize| phase.slices.iter().any(|(_, treatment)| *treatment == at);
    let runs = runs.iter_mut().enumerate().filter(|(at, _)| is_of_phase(*at)).map(|(_, run)| run);
    match switch.to(&phase.arm, input.plan, input.study) {
        Err(failure) => {
            runs.for_each(|run| run.fail(failure.clone()));
            Err(())
        }
        Ok(switched) => {
            for run in runs {
                switch::add(&mut run.readings, &switched, input.clock.now_ns());
                binding::check(run);
            }
            watch.reopen(input.topology);
            Ok(Some(switched))
        }
    }
}

/// Runs the slices of a phase. Returns what was used and waited for, if known.
fn run_phase(
    input: &Input<'_>,
    runs: &mut [TreatmentRun<'_>],
    (phase, first_number): (&Phase, u64),
    (watch, online): (&mut Watch, Option<&CpuSet>),
    (done, on_slice): (&mut Done, &mut OnSlice<'_>),
) -> Option<BlockUse> {
    let before = watch.mark(&pids(runs));
    let alive = |runs: &[TreatmentRun<'_>]| runs.iter().filter(|run| run.worker.is_some()).count();
    let (alive_before, began_ns) = (alive(runs), input.clock.now_ns());
    let (looking, without) = looking(input, online);
    // Reported once.
    done.notes.extend(without.filter(|_| first_number == 0));
    let mut around = Around { watch, looking };
    done.interrupted = !run_slices(input, runs, (phase, first_number), &mut around, on_slice);
    let phase_ns = input.clock.now_ns().saturating_sub(began_ns);
    let after = around.watch.mark(&pids(runs));
    // The times of a worker that ended in between are lost.
    let is_same = alive_before == alive(runs);
    watch::block_use(before, after, phase_ns).filter(|_| is_same && !input.study.is_simulated())
}

/// `false` if stopped before the end.
fn run_slices(
    input: &Input<'_>,
    runs: &mut [TreatmentRun<'_>],
    (phase, first_number): (&Phase, u64),
    around: &mut Around<'_>,
    on_slice: &mut OnSlice<'_>,
) -> bool {
    let first = first_sequence(input.study, input.plan.block);
    let alone = command::one_by_one(input.study);
    for (number, &(round, treatment)) in (first_number..).zip(&phase.slices) {
        if input.stop.load(Ordering::Relaxed) {
            return false;
        }
        let Some(run) = runs.get_mut(treatment) else { continue };
        if alone {
            workers::start(input, treatment, run);
            workers::await_ready(input, run);
        }
        let taken = workers::prepare_slice(input, treatment, run)
            && slice::take(input, run, around, Turn { sequence: first + number, number, round });
        if alone {
            workers::finish_all(input, std::slice::from_mut(run), false);
            command::clear_up(run.status.is_valid(), input.folders);
        }
        on_slice(number, run.name, taken.then(|| run.slices.last()).flatten());
    }
    true
}

/// The looks around a phase's slices, or why there are none.
fn looking(input: &Input<'_>, online: Option<&CpuSet>) -> (Option<Looking>, Option<Note>) {
    // States are those of slices: many short moments, spread over the block.
    if input.plan.is_long() {
        return (None, None);
    }
    match Looking::new(input.settings.looks, input.study, input.plan, input.allowed, online) {
        Ok(looking) => (looking, None),
        Err(error) => (None, Some(no_looks(&error))),
    }
}
