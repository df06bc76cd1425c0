//! `fleet status`: what became of each cell.

use super::args::FolderArgs;
use super::faults::app_error;
use crate::error::AppError;
use crate::output;
use std::collections::BTreeMap;
use threadwise_fleet::cell::{CellId, CellRecord};
use threadwise_fleet::drive;
use threadwise_fleet::folder::FleetFolder;
use threadwise_fleet::journal::{self, Journal};
use threadwise_fleet::state::{State, clones, states};
use threadwise_machine::text::one_line;

/// Longest remark of a cell, characters.
const MOST_REMARK: usize = 300;

/// Prints a line for each machine, and one for each cell that needs a look.
pub fn status(args: &FolderArgs) -> Result<(), AppError> {
    let folder = FleetFolder::open(&args.dir).map_err(app_error)?;
    let Standing { states, unknown } = read(&folder)?;
    let mut text = head(&folder, &states);
    for machine in &folder.plan.machines {
        let cells = states.iter().filter(|(cell, _)| cell.machine == machine.name);
        let words: Vec<String> =
            cells.map(|(cell, state)| format!("{} {}", cell.repeat, state.word())).collect();
        text.push_str(&format!("  {} ({}): {}\n", machine.name, machine.kind, words.join(", ")));
    }
    for (cell, state) in &states {
        if let Some(remark) = state.remark() {
            text.push_str(&format!("{cell} {}: {}\n", state.word(), one_line(&remark, MOST_REMARK)));
        }
    }
    for line in clones(&records(&states)) {
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(&unknown.map_or_else(String::new, |why| format!("{why}\n")));
    text.push_str(&format!("Next: {}\n", next(&states, args)));
    output::print(&text)
}

/// What became of a fleet's cells.
pub struct Standing {
    /// The states of cells, in the plan's order.
    pub states: Vec<(CellId, State)>,
    /// Why it is not known what the engine has, where that matters.
    pub unknown: Option<String>,
}

/// Reads what became of the cells.
pub fn read(folder: &FleetFolder) -> Result<Standing, AppError> {
    let engine = folder.engine().map_err(app_error)?;
    let seen = drive::seen(folder, engine);
    let entries = journal::read(&folder.dir).map_err(app_error)?;
    let found = folder.found().map_err(app_error)?;
    // What runs inside of a submit is in nobody's list.
    let is_hidden = engine.running(&folder.plan, &folder.place).is_none() && Journal::is_taken(&folder.dir);
    let known = seen.as_deref().ok().filter(|_| !is_hidden);
    let states = states(&folder.plan, &found, known, &entries);
    // Of cells that have ended nobody has to be asked.
    let is_unknown = states.iter().any(|(_, state)| *state == State::Unknown);
    let unknown = seen.err().filter(|_| is_unknown).map(|error| error.to_string());
    Ok(Standing { states, unknown })
}

/// The records of cells that ended.
pub fn records(states: &[(CellId, State)]) -> Vec<&CellRecord> {
    states.iter().filter_map(|(_, state)| record(state)).collect()
}

fn record(state: &State) -> Option<&CellRecord> {
    match state {
        State::Ended(record, _) => Some(record),
        _ => None,
    }
}

/// `Fleet T: 9 cells: 6 measured, 3 waiting`.
pub fn head(folder: &FleetFolder, states: &[(CellId, State)]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, state) in states {
        *counts.entry(state.word()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
    let counts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{}: {} cells: {}\n", folder.plan.title, states.len(), counts.join(", "))
}

fn next(states: &[(CellId, State)], args: &FolderArgs) -> String {
    let dir = output::shell_word(&args.dir);
    let (is_due, is_seen) = (
        states.iter().any(|(_, state)| state.is_due()),
        states.iter().any(|(_, state)| matches!(state, State::Seen(_) | State::Unknown)),
    );
    match (is_due, is_seen) {
        (true, _) => format!("threadwise fleet submit {dir}"),
        (false, true) => format!("wait, and threadwise fleet status {dir}"),
        (false, false) => format!("threadwise fleet collect {dir} && threadwise fleet report {dir}"),
    }
}
