//! What a reader of a fleet's report must know before its figures.

use super::judged::{Judged, Unlike};
use super::types::{Fleet, FleetStudy};
use crate::groups::distinct;
use crate::words::{MAX_LISTED, list};

/// The cautions, one line each, the caller's first.
pub(super) fn cautions(fleet: &Fleet, judged: &Judged) -> Vec<String> {
    let mut lines = fleet.warnings.clone();
    let simulated = fleet.studies.iter().filter(|study| study.is_simulated).count();
    if simulated > 0 && simulated < fleet.studies.len() {
        lines.push(format!(
            "{simulated} of {} studies come from a model, not from a machine",
            fleet.studies.len()
        ));
    }
    lines.extend(troubled(fleet, "stopped before the end of its plan", |study| study.is_stopped));
    lines.extend(troubled(fleet, "lost runs (see its own report)", |study| study.problem.is_some()));
    lines.extend(shared(fleet));
    lines.extend(judged.unlike.iter().map(unlike));
    let uneven: Vec<String> =
        judged.kinds.iter().filter(|kind| !kind.balanced).map(|kind| kind.name.clone()).collect();
    if !uneven.is_empty() {
        lines.push(format!(
            "machines of {} have unlike numbers of boots or repeats: each machine counts once all the same",
            list(&uneven)
        ));
    }
    lines
}

/// Studies with something wrong, by machine and repeat.
fn troubled(fleet: &Fleet, what: &str, is_so: fn(&FleetStudy) -> bool) -> Option<String> {
    let names: Vec<String> = fleet
        .studies
        .iter()
        .filter(|study| is_so(study))
        .map(|study| format!("{} repeat {}", study.node, study.repeat))
        .collect();
    let more = names.len().saturating_sub(MAX_LISTED);
    let mut shown: Vec<String> = names.iter().take(MAX_LISTED).cloned().collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    (!names.is_empty()).then(|| format!("{what}: {}", list(&shown)))
}

/// Machines that stand in more than one kind.
fn shared(fleet: &Fleet) -> Option<String> {
    let kinds = |machine: &str| {
        distinct(
            fleet.studies.iter().filter(|study| study.machine == machine).map(|study| study.kind.as_str()),
        )
        .len()
    };
    let nodes = distinct(
        fleet.studies.iter().filter(|study| kinds(&study.machine) > 1).map(|study| study.node.clone()),
    );
    (!nodes.is_empty()).then(|| format!("{} stands in more than one kind, and counts in each", list(&nodes)))
}

/// `machines of c7i differ in microcode: 0x2b, on node-3 0x2c`.
fn unlike(unlike: &Unlike) -> String {
    let Some((usual, others)) = unlike.values.split_first() else { return String::new() };
    let mut others: Vec<String> = others
        .iter()
        .map(|one| {
            let more = one.nodes.len().saturating_sub(MAX_LISTED);
            let mut nodes: Vec<String> = one.nodes.iter().take(MAX_LISTED).cloned().collect();
            nodes.extend((more > 0).then(|| format!("{more} more")));
            format!("{} on {}", one.value, list(&nodes))
        })
        .collect();
    others.truncate(MAX_LISTED);
    format!("machines of {} differ in {}: {}, but {}", unlike.kind, unlike.name, usual.value, list(&others))
}
