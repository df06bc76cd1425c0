//! Submits missing cells and queries the engine, in the same way for all engines. Runs the engine's commands.

use crate::FleetError;
use crate::cell::CellId;
use crate::command::{self, QUESTION, Surroundings};
use crate::durable;
use crate::engine::{Batch, Call, FleetEngine, ListedCell, PREVIOUS_JOB};
use crate::folder::{FleetFolder, write_files};
use crate::journal::{Entry, Event, Journal};
use crate::paths::TARGET;
use crate::state::{CellState, states};
use threadwise_machine::text::one_line;

/// Result of `submit`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Submitted {
    /// Accepted batches: label, cells, job.
    pub taken: Vec<(String, Vec<CellId>, Option<String>)>,
    /// Rejected batches, and why.
    pub refused: Vec<(String, String)>,
    /// Batches that the engine's command ran itself and that failed, and why.
    pub ended_badly: Vec<(String, String)>,
    /// Cells that need nothing: measured, running or waiting.
    pub needless: usize,
    /// Cells whose folder must be checked before they can be submitted, and why.
    pub broken: Vec<(CellId, String)>,
}

/// Submits missing cells. `say` gets a line before each command.
///
/// # Errors
/// Another submit is running, or the engine's jobs are unknown; nothing is submitted then. A batch that the engine
/// rejects is not an error: it is in [`Submitted::refused`].
pub fn submit(folder: &FleetFolder, say: &mut dyn FnMut(&str)) -> Result<Submitted, FleetError> {
    let engine = folder.engine()?;
    engine.check(&folder.plan, &folder.location)?;
    let mut journal = Journal::take(&folder.dir)?;
    let around = around(folder, engine, true)?;
    if !around.without.is_empty() {
        say(&format!(
            "environment variables removed, since the plan decides them: {}",
            around.without.join(", ")
        ));
    }
    // The list before the disk: what ends between the two is then found on the disk.
    let seen = listed(folder, engine, &around)
        .map_err(|error| FleetError::Failed(format!("{error}; nothing was submitted")))?;
    let states = states(&folder.plan, &folder.found()?, Some(&seen), &journal.entries);
    let due: Vec<CellId> =
        states.iter().filter(|(_, state)| state.is_due()).map(|(cell, _)| cell.clone()).collect();
    let broken = |(cell, state): &(CellId, CellState)| match state {
        CellState::Broken(why) => Some((cell.clone(), why.clone())),
        _ => None,
    };
    let broken: Vec<(CellId, String)> = states.iter().filter_map(broken).collect();
    let mut submitted =
        Submitted { needless: states.len() - due.len() - broken.len(), broken, ..Submitted::default() };
    if due.is_empty() {
        return Ok(submitted);
    }
    let attempt = journal.next_attempt();
    let mut previous: Option<(String, String)> = None;
    for batch in engine.batches(&folder.plan, &folder.location, &due, attempt)? {
        let before =
            previous.as_ref().filter(|(label, _)| *label == batch.label).map(|(_, job)| job.as_str());
        let entry = |event| Entry { attempt, utc: now_utc(), cells: batch.cells.clone(), event };
        write_files(&folder.dir, &batch.files)?;
        if let Err(why) = checked(&around, &batch, before) {
            journal.append(entry(Event::NotSubmitted { why: why.clone() }))?;
            submitted.refused.push((batch.label.clone(), why));
            continue;
        }
        journal.append(entry(Event::Submitting))?;
        let call = filled(&batch.start, before);
        say(&call.shown());
        let started = match batch.waits {
            true => command::show(&call, &around).map(|()| String::new()),
            false => command::run(&call, &around),
        };
        match started {
            Ok(printed) => {
                let job = engine.job_id(&printed);
                journal.append(entry(Event::Submitted { job: job.clone() }))?;
                previous = job.clone().map(|job| (batch.label.clone(), job));
                submitted.taken.push((batch.label, batch.cells, job));
            }
            Err(why) => {
                let (event, list) = match batch.waits {
                    true => (Event::EndedBadly { why: why.clone() }, &mut submitted.ended_badly),
                    false => (Event::NotSubmitted { why: why.clone() }, &mut submitted.refused),
                };
                journal.append(entry(event))?;
                list.push((batch.label, why));
            }
        }
    }
    Ok(submitted)
}

/// The plan's cells in the engine's list.
///
/// # Errors
/// The list is not available.
pub fn seen(folder: &FleetFolder, engine: &dyn FleetEngine) -> Result<Vec<ListedCell>, FleetError> {
    listed(folder, engine, &around(folder, engine, false)?)
}

fn listed(
    folder: &FleetFolder,
    engine: &dyn FleetEngine,
    around: &Surroundings,
) -> Result<Vec<ListedCell>, FleetError> {
    let Some(call) = engine.running(&folder.plan, &folder.location) else { return Ok(Vec::new()) };
    let printed = command::ask(&call, around, QUESTION).map_err(|why| FleetError::Engine {
        engine: engine.name(),
        why: format!("the running and waiting cells are unknown: {why}"),
    })?;
    engine.read_running(&folder.plan, &printed)
}

/// Fetches results that are not here yet. Returns failures, one line each.
///
/// # Errors
/// The folder of results cannot be read.
pub fn collect(folder: &FleetFolder, say: &mut dyn FnMut(&str)) -> Result<Vec<String>, FleetError> {
    let engine = folder.engine()?;
    let entries = crate::journal::read(&folder.dir)?;
    let states = states(&folder.plan, &folder.found()?, Some(&[]), &entries);
    let missing: Vec<CellId> =
        states.into_iter().filter(|(_, state)| state.is_due()).map(|(cell, _)| cell).collect();
    let mut failed = Vec::new();
    if missing.is_empty() {
        return Ok(failed);
    }
    let around = around(folder, engine, false)?;
    for call in engine.collection(&folder.plan, &folder.location, &missing) {
        say(&call.shown());
        failed.extend(command::run(&call, &around).err());
    }
    Ok(failed)
}

fn checked(around: &Surroundings, batch: &Batch, before: Option<&str>) -> Result<(), String> {
    let Some(check) = &batch.check else { return Ok(()) };
    command::ask(&filled(check, before), around, QUESTION).map(drop)
}

/// Where the engine's commands run, and the variables that they do not inherit. Only `submit` fixes a fleet's cluster:
/// an earlier query may have been to another one.
///
/// # Errors
/// They would go to another cluster than the first submit: its cells would be missed, and submitted twice.
fn around(folder: &FleetFolder, engine: &dyn FleetEngine, submits: bool) -> Result<Surroundings, FleetError> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut without: Vec<String> = names.filter(|name| engine.overrides(name)).collect();
    without.sort();
    let around = Surroundings { dir: folder.dir.clone(), without };
    // The commands themselves report a cluster that cannot be queried.
    let asked = engine.target(&folder.plan).and_then(|call| command::ask(&call, &around, QUESTION).ok());
    let Some(target) =
        asked.map(|printed| one_line(&printed, MOST_TARGET)).filter(|target| !target.is_empty())
    else {
        return Ok(around);
    };
    let path = folder.dir.join(TARGET);
    if !path.exists() {
        if submits {
            durable::write(&path, format!("{target}\n").as_bytes(), 0o644)?;
        }
        return Ok(around);
    }
    let first = durable::read_text(&path, 4 * MOST_TARGET as u64)?;
    match first.trim() == target {
        true => Ok(around),
        false => Err(FleetError::Failed(format!(
            "this fleet was submitted to '{}', and {} now uses '{target}': switch back, or give context and kubeconfig in \
             fleet.toml and plan again in a new folder; nothing was done",
            first.trim(),
            engine.name()
        ))),
    }
}

/// Maximum length of a target's name, characters.
const MOST_TARGET: usize = 1000;

/// A call after an earlier job; without one, the argument for it is left out.
fn filled(call: &Call, before: Option<&str>) -> Call {
    let filled = call.args.iter().filter_map(|arg| match (arg.contains(PREVIOUS_JOB), before) {
        (false, _) => Some(arg.clone()),
        (true, before) => before.map(|job| arg.replace(PREVIOUS_JOB, job)),
    });
    Call { program: call.program.clone(), args: filled.collect() }
}

/// Now in UTC, RFC 3339.
pub fn now_utc() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}
