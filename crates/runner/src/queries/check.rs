//! Asks an engine, before any data is made, whether it supports the options of every treatment.
//!
//! Only the engine knows its settings. So one of its workers is started whose `load` checks the
//! options and reads no data.

use crate::RunnerError;
use crate::load::request;
use crate::settings::{Deadlines, Settings, Worker};
use crate::workdir::Workdir;
use crate::worker_process::{Failure, WorkerLaunch, WorkerProcess};
use std::sync::atomic::AtomicBool;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireLoad};
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::{Study, Treatment};

/// Kind of a failure that an option causes (docs/WORKER.md, "failed").
const OPTION: &str = "option";

/// Asks the treatments' workers, whose `load` only checks options, about every treatment of the study.
///
/// # Errors
/// [`RunnerError::Option`] with the first option that the engine does not support; [`RunnerError::Worker`]
/// if a worker cannot be asked.
pub fn check_options(study: &Study, worker_of: &dyn Fn(&Treatment) -> Worker) -> Result<(), RunnerError> {
    let mut asked: Vec<(Worker, Vec<&Treatment>)> = Vec::new();
    for treatment in different(&study.treatments) {
        let worker = worker_of(treatment);
        match asked.iter_mut().find(|(other, _)| *other == worker) {
            Some((_, treatments)) => treatments.push(treatment),
            None => asked.push((worker, vec![treatment])),
        }
    }
    asked.into_iter().try_for_each(|(worker, treatments)| check_with(study, &worker, &treatments))
}

fn check_with(study: &Study, worker: &Worker, treatments: &[&Treatment]) -> Result<(), RunnerError> {
    let settings = Settings::new(worker.clone());
    let workdir = Workdir::of(&settings)?;
    let log = workdir.path().join("check.log");
    let (everywhere, memory) = (CpuSet::new(), MemoryBinding::default());
    let launch =
        WorkerLaunch { cpus: &everywhere, memory: &memory, folder: workdir.path(), log: &log, mark: &log };
    let broken = |failure| RunnerError::Worker { program: worker.program.clone(), failure };
    let deadlines = settings.deadlines;
    let mut asked = WorkerProcess::start(worker, launch, deadlines).map_err(broken)?;
    let never = AtomicBool::new(false);
    asked.hello(&never).map_err(broken)?;
    for treatment in treatments {
        let load = WireLoad::try_from(&request(study, treatment, workdir.path()))
            .map_err(|error| broken(Failure::new("protocol", error.to_string())))?;
        ask(&mut asked, load, deadlines, &never).map_err(|failure| match failure.kind.as_str() {
            OPTION => RunnerError::Option { treatment: treatment.name.clone(), why: failure.message },
            _ => broken(failure),
        })?;
    }
    asked.ask_to_stop();
    asked.stopped(&never).map_err(broken)?;
    workdir.close()
}

/// Each distinct set of options of an instance, under the name of its first treatment.
fn different(treatments: &[Treatment]) -> impl Iterator<Item = &Treatment> {
    let is_first = |(at, one): &(usize, &Treatment)| {
        let is_same =
            |earlier: &Treatment| earlier.options == one.options && earlier.instance == one.instance;
        !treatments[..*at].iter().any(is_same)
    };
    treatments.iter().enumerate().filter(is_first).map(|(_, treatment)| treatment)
}

fn ask(
    worker: &mut WorkerProcess,
    load: WireLoad,
    deadlines: Deadlines,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    worker.send(&Request::Load { protocol: VERSION, load, connections: None }, stop)?;
    // Starting an engine's library takes no longer than starting its worker.
    match worker.receive("load", deadlines.hello, Some(stop))? {
        Reply::Loaded { .. } => Ok(()),
        other => Err(worker.unexpected("loaded", &other)),
    }
}
