//! `fleet collect`: fetches results if folders are not shared, and checks all of them.

use super::args::FolderArgs;
use super::faults::app_error;
use super::status;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_document::numbers;
use threadwise_fleet::cell::STUDY_FILE;
use threadwise_fleet::drive;
use threadwise_fleet::folder::FleetFolder;
use threadwise_fleet::standing::Standing;
use threadwise_fleet::state::CellState;

/// Fetches and checks. Succeeds if every cell of the plan has a readable result.
pub fn collect(args: &FolderArgs) -> Result<(), AppError> {
    let folder = FleetFolder::open(&args.dir).map_err(app_error)?;
    let mut say = |line: &str| output::tell(&format!("threadwise: {line}"));
    let failed = drive::collect(&folder, &mut say).map_err(app_error)?;
    let standing = Standing::read(&folder).map_err(app_error)?;
    let mut text = status::head(&folder, &standing);
    let mut absent = 0;
    for (cell, state) in &standing.states {
        let why = match state {
            CellState::Ended(record, _) if !record.outcome.may_pass() => {
                Opened::open(&folder.cell(cell).join(STUDY_FILE)).err().map(|error| error.to_string())
            }
            _ => Some(state.remark().map_or_else(String::new, |remark| format!(": {remark}"))),
        };
        if let Some(why) = why {
            absent += 1;
            text.push_str(&format!("{cell} {}{why}\n", state.word()));
        }
    }
    for line in failed.iter().chain(&standing.clones()).chain(&standing.unknown) {
        text.push_str(&format!("{line}\n"));
    }
    let dir = output::shell_word(&args.dir);
    text.push_str(&format!("Next: threadwise fleet report {dir}\n"));
    output::print(&text)?;
    match absent {
        0 => Ok(()),
        _ => Err(AppError::Failed(format!(
            "{} without a result; to submit what is missing: threadwise fleet submit {dir}",
            numbers::counted(absent, "cell")
        ))),
    }
}
