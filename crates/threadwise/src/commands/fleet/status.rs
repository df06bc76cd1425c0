//! `fleet status`: the state of each cell.

use super::args::StatusArgs;
use super::faults::app_error;
use crate::error::AppError;
use crate::output;
use threadwise_fleet::folder::FleetFolder;
use threadwise_fleet::standing::{Next, Standing};
use threadwise_machine::text::one_line;

/// Maximum length of a cell's remark, characters.
const MOST_REMARK: usize = 300;

/// Prints a line for each machine, and one for each cell that needs attention.
pub fn status(args: &StatusArgs) -> Result<(), AppError> {
    let folder = FleetFolder::open(&args.dir).map_err(app_error)?;
    let standing = Standing::read(&folder).map_err(app_error)?;
    if args.json {
        return output::print(&format!("{}\n", standing.json(&folder.plan)));
    }
    let mut text = head(&folder, &standing);
    for machine in &folder.plan.machines {
        let cells = standing.states.iter().filter(|(cell, _)| cell.machine == machine.name);
        let words: Vec<String> =
            cells.map(|(cell, state)| format!("{} {}", cell.repeat, state.word())).collect();
        text.push_str(&format!("  {} ({}): {}\n", machine.name, machine.kind, words.join(", ")));
    }
    for (cell, state) in &standing.states {
        if let Some(remark) = state.remark() {
            text.push_str(&format!("{cell} {}: {}\n", state.word(), one_line(&remark, MOST_REMARK)));
        }
    }
    for line in standing.clones() {
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(&standing.unknown.as_ref().map_or_else(String::new, |why| format!("{why}\n")));
    text.push_str(&format!("Next: {}\n", next(standing.next(), args)));
    output::print(&text)
}

/// `Fleet T: 9 cells: 6 measured, 3 waiting`.
pub fn head(folder: &FleetFolder, standing: &Standing) -> String {
    let counts: Vec<String> =
        standing.counts().into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{}: {} cells: {}\n", folder.plan.title, standing.states.len(), counts.join(", "))
}

fn next(next: Next, args: &StatusArgs) -> String {
    let dir = output::shell_word(&args.dir);
    match next {
        Next::Submit => format!("threadwise fleet submit {dir}"),
        Next::Wait => format!("wait, then threadwise fleet status {dir}"),
        Next::Collect => format!("threadwise fleet collect {dir} && threadwise fleet report {dir}"),
    }
}
