//! `fleet cell`: measures one study on this machine into a folder that is complete or absent.

use super::args::CellArgs;
use super::faults::app_error;
use super::fit;
use crate::cli::{Cli, Command, RunArgs};
use crate::commands::{run, topology};
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use clap::Parser;
use std::ffi::OsString;
use std::path::Path;
use threadwise_fleet::cell::{CellId, CellRecord, Outcome};
use threadwise_fleet::drive::now_utc;
use threadwise_fleet::folder::FleetFolder;
use threadwise_fleet::paths::STUDY_DEFINITION;
use threadwise_fleet::plan::PlannedMachine;
use threadwise_fleet::work_folder::{Taken, WorkFolder};
use threadwise_store::{EndState, Problem, Store, StoreError};

/// Measures a cell, or continues one.
///
/// # Errors
/// As `run`: 1 failed or not valid as a whole, 2 bad input, 3 refused, 130 stopped. The code and the reason are also
/// written to the cell's folder, if possible.
pub fn cell(args: &CellArgs) -> Result<(), AppError> {
    let cell: CellId = args.cell.parse().map_err(AppError::Input)?;
    let folder = FleetFolder::open(&args.dir).map_err(app_error)?;
    let machine = folder.plan.machine(&cell.machine).filter(|_| cell.repeat <= folder.plan.repeats);
    let Some(machine) = machine else {
        return Err(AppError::Input(format!("{} has no cell {cell} in its plan", args.dir.display())));
    };
    let cells = fit::cells_folder(&folder)?;
    let attempt = match WorkFolder::take(&cells, &cell, &folder.hash).map_err(app_error)? {
        Taken::Ours(attempt) => *attempt,
        Taken::Whole(..) => {
            return output::print(&format!("{cell} is already measured: nothing to do\n"));
        }
    };
    let topology = topology::live()?;
    let facts = fit::node_facts(&folder, &topology, (args.job.as_ref(), args.node.as_ref()));
    let record = fit::record(&folder, &cell, machine, &facts);
    measured(&folder, machine, (attempt, record), fit::fit(&folder, &cell, machine, &facts))
}

/// Measures if the machine is suitable, and writes the outcome.
fn measured(
    folder: &FleetFolder,
    machine: &PlannedMachine,
    (mut attempt, mut record): (WorkFolder, CellRecord),
    fit: Result<Vec<String>, String>,
) -> Result<(), AppError> {
    let started_utc = record.started_utc.clone();
    attempt.begin(&started_utc, record.node.as_deref(), record.job.as_deref()).map_err(app_error)?;
    let ended = match fit {
        Ok(evidence) => {
            record.exclusivity = evidence;
            study(folder, machine, &record.cell, &mut attempt)
        }
        Err(why) => Err(AppError::Refused(why)),
    };
    if let Err(AppError::Interrupted(how)) = &ended {
        // A cell does not continue in the way that a study does by hand.
        let how = how.split("; continue with").next().unwrap_or_default();
        attempt.stopped(how).map_err(app_error)?;
        let cell = &record.cell;
        return Err(AppError::Interrupted(format!(
            "{cell} was {how}: its results so far are kept, and the next attempt continues from them"
        )));
    }
    record.outcome = outcome(&ended, &attempt);
    record.reason = ended.as_ref().err().map(|error| without_commands(&error.to_string()));
    record.ended_utc = now_utc();
    let exit = ended.as_ref().err().map_or(0, |error| i32::from(error.exit_code()));
    let (cell, has_failed) = (record.cell.clone(), ended.is_err());
    match attempt.finish(record, exit) {
        Ok(path) => {
            if ended.is_ok() {
                output::print(&format!("Cell:        {}\n", path.display()))?;
            }
            ended
        }
        // The first failure is the cause, and often of the same kind, such as a full disk.
        Err(error) if has_failed => Err(AppError::Failed(format!(
            "{}; and it could not be recorded: {error}",
            ended.err().map(|error| error.to_string()).unwrap_or_default()
        ))),
        Err(error) => Err(AppError::Failed(format!(
            "{cell} was measured, but its folder could not be completed: {error}; the study is kept there, and the next \
             submit continues"
        ))),
    }
}

/// Removes the next command from a message: a cell continues by itself, and its file moves.
fn without_commands(message: &str) -> String {
    let resume = message.find(", continue with: threadwise run --resume");
    let export = message.find("; its runs and their reasons: threadwise export");
    match (resume, export) {
        (Some(at), _) => message[..at].rsplit_once("; ").map_or(message, |(why, _)| why).to_owned(),
        (None, Some(at)) => message[..at].to_owned(),
        (None, None) => message.to_owned(),
    }
}

/// A study that is complete in its file is measured, however `run` ended.
fn outcome(ended: &Result<(), AppError>, attempt: &WorkFolder) -> Outcome {
    let file = attempt.study().ok().flatten();
    let is_complete = file.as_deref().is_some_and(is_complete);
    let problem =
        || file.as_deref().and_then(|file| Opened::open(file).ok()).and_then(|opened| opened.problem());
    match (is_complete, ended) {
        (true, Ok(())) => Outcome::Measured,
        (true, Err(_)) if problem().is_some() => Outcome::Invalid,
        (true, Err(_)) => Outcome::Measured,
        (false, Err(AppError::Refused(_))) => Outcome::Refused,
        (false, _) => Outcome::Failed,
    }
}

fn is_complete(file: &Path) -> bool {
    Store::open(file).and_then(|store| store.state()).is_ok_and(|state| state == EndState::Complete)
}

/// `run`, from the start or from where an earlier attempt was stopped.
fn study(
    folder: &FleetFolder,
    machine: &PlannedMachine,
    cell: &CellId,
    attempt: &mut WorkFolder,
) -> Result<(), AppError> {
    let resumed = match attempt.study().map_err(app_error)? {
        Some(file) => match Store::open(&file) {
            Ok(_) | Err(StoreError { problem: Problem::Interrupted, .. }) => Some(file),
            Err(error) => {
                // The last attempt was killed while it created the file.
                attempt.put_aside(&file, &error.to_string()).map_err(app_error)?;
                None
            }
        },
        None => None,
    };
    let words = words(folder, machine, cell, (resumed.as_deref(), &attempt.new_study()));
    let args = run_args(words)?;
    run::run(&args)
}

/// The arguments of a `threadwise run`.
fn words(
    folder: &FleetFolder,
    machine: &PlannedMachine,
    cell: &CellId,
    (resumed, new): (Option<&Path>, &Path),
) -> Vec<OsString> {
    let plan = &folder.plan;
    let mut words: Vec<OsString> = vec!["threadwise".into(), "run".into(), "--no-html".into()];
    let mut add = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
        // One word with =, so that a value may begin with a dash.
        let mut word = OsString::from(format!("--{name}="));
        word.push(value.as_ref());
        words.push(word);
    };
    match resumed {
        Some(file) => add("resume", &file),
        None => {
            add("output", &new);
            add("seed", &plan.seed_of(cell).to_string());
            if let Some(engine) = &plan.run.engine {
                add("engine", engine);
            }
            for (key, value) in &machine.study_engine_options {
                add("engine-option", &format!("{key}={value}"));
            }
        }
    }
    if let Some(budget_s) = plan.budget_s {
        add("budget", &format!("{}ms", (budget_s * 1e3).round() as u64));
    }
    if let Some(dir) = &plan.run.data_dir {
        add("data-dir", dir);
    }
    let flags = [
        ("--allow-busy", plan.run.allow_busy),
        ("--no-probe", plan.run.no_probe),
        ("--allow-commands", plan.run.allow_commands),
        ("--yes", plan.run.yes),
    ];
    words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.into()));
    if resumed.is_none() {
        words.push(folder.dir.join(STUDY_DEFINITION).into());
    }
    words
}

fn run_args(words: Vec<OsString>) -> Result<RunArgs, AppError> {
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Run(args)) => Ok(*args),
        Ok(_) => Err(AppError::Failed("the plan's settings are not a run".to_owned())),
        Err(error) => Err(AppError::Input(format!("the plan's settings are not those of run: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_type_by_hand_is_no_part_of_a_reason() {
        let message = "a budget of 75s cannot hold 8 blocks: a block takes 9 s; give --budget 105s; kept: 1 complete \
                       block, continue with: threadwise run --resume /a/b --budget 95s";
        assert_eq!(
            without_commands(message),
            "a budget of 75s cannot hold 8 blocks: a block takes 9 s; give --budget 105s"
        );
        let invalid = "the study is not valid as a whole: 23 of 126; its runs and their reasons: threadwise export /a/b";
        assert_eq!(without_commands(invalid), "the study is not valid as a whole: 23 of 126");
        assert_eq!(without_commands("the disk is full; free some"), "the disk is full; free some");
    }
}
