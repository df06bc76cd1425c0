//! What of a plan is in the queue: `squeue`, asked by the names of the plan's jobs, a line for each task of an array.

use super::fault::refused;
use super::script;
use crate::FleetError;
use crate::cell::CellId;
use crate::engine::{Call, Seen};
use crate::plan::Plan;

/// Name, task, id of the array, state and reason; a bar between them, which names cannot have.
const FORMAT: &str = "%j|%K|%F|%T|%r";

/// States in which a task is at work or on its way out of it (squeue(1), JOB STATE CODES).
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

/// Reads its lines; what is not of this plan, or has ended, is passed over.
pub(super) fn read(plan: &Plan, printed: &str) -> Result<Vec<Seen>, FleetError> {
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
            seen.push(Seen { cell, is_running, job: format!("{job}_{repeat}"), remark });
        }
    }
    Ok(seen)
}
