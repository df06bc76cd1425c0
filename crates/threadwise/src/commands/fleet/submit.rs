//! `fleet submit`: submits missing cells, once.

use super::args::FolderArgs;
use super::faults::app_error;
use crate::error::AppError;
use crate::output;
use threadwise_document::numbers;
use threadwise_fleet::drive;
use threadwise_fleet::folder::FleetFolder;

/// Submits, and reports what was accepted and what was not.
pub fn submit(args: &FolderArgs) -> Result<(), AppError> {
    let folder = FleetFolder::open(&args.dir).map_err(app_error)?;
    let mut say = |line: &str| output::tell(&format!("threadwise: {line}"));
    let done = drive::submit(&folder, &mut say).map_err(app_error)?;
    let mut text = String::new();
    for (label, cells, job) in &done.taken {
        let job = job.as_ref().map_or_else(String::new, |job| format!(", job {job}"));
        text.push_str(&format!("submitted: {label}, {}{job}\n", numbers::counted(cells.len(), "cell")));
    }
    for (label, why) in &done.refused {
        text.push_str(&format!("not submitted: {label}: {why}\n"));
    }
    for (label, why) in &done.ended_badly {
        text.push_str(&format!("failed: {label}: {why}; the lines above say which cells failed\n"));
    }
    for (cell, why) in &done.broken {
        text.push_str(&format!("not submitted: {cell}: {why}\n"));
    }
    if done.needless > 0 {
        let cells = numbers::counted(done.needless, "cell");
        text.push_str(&format!("nothing to submit for {cells}: measured, running or waiting\n"));
    }
    text.push_str(&format!("Next: threadwise fleet status {}\n", output::shell_word(&args.dir)));
    output::print(&text)?;
    match (done.refused.len() + done.broken.len(), done.ended_badly.len()) {
        (0, 0) => Ok(()),
        (0, _) => Err(AppError::Failed("some cells failed; the lines above say why".to_owned())),
        (count, _) => Err(AppError::Failed(format!(
            "{} could not be submitted; the lines above say why",
            numbers::counted(count, "submission")
        ))),
    }
}
