//! The plan's cells in the queue: `squeue` by the names of the plan's jobs, one line for each task of an array.

use super::fault::refused;
use super::script;
use crate::FleetError;
use crate::cell::CellId;
use crate::engine::{Call, ListedCell};
use crate::plan::Plan;

/// Name, task, array id, state and reason; separated by a bar, which names cannot have.
const FORMAT: &str = "%j|%K|%F|%T|%r";

/// States in which a task is running or ending (squeue(1), JOB STATE CODES).
const AT_WORK: [&str; 6] = ["RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SUSPENDED", "STOPPED"];
/// States of a task that waits.
const WAITING: [&str; 7] =
    ["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "RESIZING"];

/// The command.
pub(super) fn call(names: &[String]) -> Call {
    Call::new(
        "squeue",
        [
            "-h".to_owned(),
            "-r".to_owned(),
            format!("--name={}", names.join(",")),
            format!("--format={FORMAT}"),
        ],
    )
}

/// Parses its lines; tasks of other plans, and ended ones, are skipped.
pub(super) fn read(plan: &Plan, printed: &str) -> Result<Vec<ListedCell>, FleetError> {
    let prefix = script::prefix(plan);
    let mut seen = Vec::new();
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let parts: Vec<&str> = line.splitn(5, '|').collect();
        let [name, task, job, state, reason] = parts.as_slice() else {
            let shown = threadwise_machine::text::one_line(line, 100);
            return Err(refused(format!("squeue printed '{shown}', which is not {FORMAT}")));
        };
        let Some(machine) = name.strip_prefix(&prefix) else { continue };
        let Ok(repeat) = task.parse::<u32>() else { continue };
        let is_running = AT_WORK.contains(state);
        if !is_running && !WAITING.contains(state) {
            continue;
        }
        let cell = CellId { machine: machine.to_owned(), repeat };
        if plan.order.contains(&cell) {
            let remark = match is_running {
                true => state.to_lowercase(),
                false => format!("{}, {reason}", state.to_lowercase()),
            };
            seen.push(ListedCell { cell, is_running, job: format!("{job}_{repeat}"), remark });
        }
    }
    Ok(seen)
}
