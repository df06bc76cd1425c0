//! The plan's cells in the cluster: parses `kubectl get jobs,pods -o json`.
//!
//! Source: API of batch/v1 (JobStatus: `completedIndexes`, `failedIndexes`, conditions) and of v1 (PodStatus).

use super::manifest::{PLAN_LABEL, cells_of};
use super::refusal::refused;
use crate::FleetError;
use crate::cell::CellId;
use crate::engine::ListedCell;
use crate::file::MOST_REPEATS;
use crate::plan::Plan;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use threadwise_machine::text::one_line;

/// Maximum length of a remark, characters.
const MOST_REMARK: usize = 200;

/// The command's arguments after those of the cluster.
pub(super) fn arguments(plan_id: &str) -> Vec<String> {
    vec![
        "get".into(),
        "jobs,pods".into(),
        format!("--selector={PLAN_LABEL}={plan_id}"),
        "--output=json".into(),
    ]
}

/// A Job of the plan.
struct Job<'a> {
    name: &'a str,
    repeats: Vec<u32>,
    machine: String,
    has_ended: bool,
    completed: BTreeSet<u32>,
    failed: BTreeSet<u32>,
    is_suspended: bool,
}

/// Cells that wait, run, or have ended with a study that is not here yet. Running ones come first, since a cell may be
/// in several Jobs.
pub(super) fn read(plan: &Plan, printed: &str) -> Result<Vec<ListedCell>, FleetError> {
    let list: Value = serde_json::from_str(printed).map_err(|error| {
        refused(format!("the output of kubectl get is not JSON ({error}): run it by hand"))
    })?;
    let items = list["items"]
        .as_array()
        .ok_or_else(|| refused("the output of kubectl get is not a list: run it by hand"))?;
    let of_kind = |kind: &'static str| items.iter().filter(move |item| item["kind"] == kind);
    let pods: Vec<&Value> = of_kind("Pod").collect();
    let mut seen = Vec::new();
    for job in of_kind("Job").filter_map(job) {
        for (index, repeat) in job.repeats.iter().enumerate() {
            let cell = CellId { machine: job.machine.clone(), repeat: *repeat };
            if plan.machine(&cell.machine).is_none() || *repeat > plan.repeats || *repeat == 0 {
                continue;
            }
            seen.extend(one(&job, index as u32, cell, &pods));
        }
    }
    seen.sort_by_key(|(rank, _)| *rank);
    Ok(seen.into_iter().map(|(_, seen)| seen).collect())
}

fn job(item: &Value) -> Option<Job<'_>> {
    let metadata = &item["metadata"];
    let (machine, repeats) = cells_of(metadata["annotations"].as_object()?)?;
    let conditions = item["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_end = |condition: &Value| {
        condition["status"] == "True" && matches!(condition["type"].as_str(), Some("Complete" | "Failed"))
    };
    Some(Job {
        name: metadata["name"].as_str()?,
        repeats,
        machine,
        has_ended: conditions.iter().any(is_end),
        completed: indexes(item["status"]["completedIndexes"].as_str().unwrap_or_default())?,
        failed: indexes(item["status"]["failedIndexes"].as_str().unwrap_or_default())?,
        is_suspended: item["spec"]["suspend"] == true,
    })
}

/// Parses a list such as `0,2-4`.
fn indexes(text: &str) -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_REPEATS {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

/// The state of an index of a Job; `None` if it must be submitted again.
fn one(job: &Job<'_>, index: u32, cell: CellId, pods: &[&Value]) -> Option<(u32, ListedCell)> {
    let pods: Vec<&Value> = pods.iter().copied().filter(|pod| is_of(pod, job.name, index)).collect();
    let seen = |is_running, remark: String| ListedCell {
        cell: cell.clone(),
        is_running,
        job: job.name.to_owned(),
        remark: one_line(&remark, MOST_REMARK),
    };
    if pods.iter().any(|pod| has_measured(pod)) {
        let remark = format!(
            "its pod has measured, but the result is not here: threadwise fleet collect, or copy it from the volume; to \
             measure again: kubectl delete job {}",
            job.name
        );
        return Some((2, seen(false, remark)));
    }
    let is_done = job.has_ended || job.completed.contains(&index) || job.failed.contains(&index);
    let alive =
        pods.iter().find(|pod| matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Running")));
    match alive {
        Some(pod) if pod["status"]["phase"] == "Running" => Some((0, seen(true, "its pod runs".to_owned()))),
        Some(pod) => Some((1, seen(false, waiting(pod)))),
        None if is_done => None,
        None if job.is_suspended => Some((1, seen(false, "its job is suspended".to_owned()))),
        None => Some((1, seen(false, "its pod is not created yet".to_owned()))),
    }
}

fn is_of(pod: &Value, job: &str, index: u32) -> bool {
    let metadata = &pod["metadata"];
    let text = |map: &str, key: &str| {
        metadata[map].as_object().and_then(|map: &Map<String, Value>| map.get(key)?.as_str())
    };
    let labelled = text("labels", "batch.kubernetes.io/job-name").or_else(|| text("labels", "job-name"));
    let index_text = text("annotations", "batch.kubernetes.io/job-completion-index");
    labelled == Some(job) && index_text.and_then(|text| text.parse().ok()) == Some(index)
}

/// Whether the pod's script reported it when it ended.
fn has_measured(pod: &Value) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let word =
        |status: &Value| status["state"]["terminated"]["message"].as_str().map(|word| word.trim().to_owned());
    statuses.iter().filter_map(word).any(|word| word == "measured" || word == "invalid")
}

/// Why a pod waits, as the scheduler or the container reports it.
fn waiting(pod: &Value) -> String {
    let list = |key: &str| pod["status"][key].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let unscheduled =
        list("conditions").iter().find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
    if let Some(condition) = unscheduled {
        return format!("its pod waits: {} {}", text(&condition["reason"]), text(&condition["message"]));
    }
    let container = list("containerStatuses").iter().find(|one| one["state"]["waiting"].is_object());
    container.map_or_else(
        || "its pod waits".to_owned(),
        |one| {
            let waiting = &one["state"]["waiting"];
            format!("its pod waits: {} {}", text(&waiting["reason"]), text(&waiting["message"]))
        },
    )
}

#[cfg(test)]
mod tests;
