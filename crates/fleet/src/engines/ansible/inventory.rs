//! The generated inventory: the plan's hosts in the order of their first cells, each with its cells, and variables for
//! the playbook. The user's inventories define connections (addresses, users, keys).

use super::refusal::refused;
use super::yaml::{list, quoted, unsafe_quoted};
use crate::FleetError;
use crate::cell::CellId;
use crate::engine::FleetLocation;
use crate::plan::{Plan, sha256};
use std::collections::BTreeMap;

/// The group of the plan's hosts, here and in the playbooks.
const GROUP: &str = "threadwise_fleet";
/// Names with a special meaning in Ansible.
const TAKEN: [&str; 4] = ["all", "ungrouped", "localhost", GROUP];

/// The inventory with these cells.
pub(super) fn text(
    plan: &Plan,
    location: &FleetLocation,
    remote_dir: &str,
    (cells, attempt): (&[CellId], &str),
) -> Result<String, FleetError> {
    let hash = sha256(plan.text()?.as_bytes());
    let mut text = format!(
        "# Hosts of a fleet and their cells: written by threadwise fleet.\n\
         {GROUP}:\n\
         \x20 vars:\n\
         \x20   threadwise_folder: {}\n\
         \x20   threadwise_remote: {}\n\
         \x20   threadwise_program_sha256: {}\n\
         \x20   threadwise_attempt: {}\n\
         \x20   threadwise_limit_s: {}\n\
         \x20   threadwise_apart_s: {}\n\
         \x20 hosts:\n",
        unsafe_quoted(&location.dir),
        unsafe_quoted(&format!("{remote_dir}/{}", &hash[..16])),
        quoted(&plan.binary_sha256.to_lowercase()),
        quoted(attempt),
        plan.time_limit_s,
        plan.apart_s,
    );
    let mut by_machine: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for cell in cells {
        by_machine.entry(&cell.machine).or_default().push(cell.repeat);
    }
    for machine in plan.machines_in_order() {
        if TAKEN.contains(&machine.name.as_str()) {
            return Err(refused(format!(
                "a node is called '{}', which has a special meaning in Ansible: rename it in your inventory, \
                 with ansible_host",
                machine.name
            )));
        }
        let Some(repeats) = by_machine.get_mut(machine.name.as_str()) else { continue };
        repeats.sort_unstable();
        let names: Vec<String> = repeats.iter().map(|repeat| format!("{}.{repeat}", machine.name)).collect();
        text.push_str(&format!(
            "    {}:\n      threadwise_cells: {}\n",
            quoted(&machine.name),
            list(names.iter().map(String::as_str))
        ));
    }
    Ok(text)
}

/// Refuses a folder whose path Ansible would change: it expands environment variables in paths, removes quotes around
/// them, and expands templates (`unfrackpath` and `path_dwim` of ansible-core).
pub(super) fn check_location(location: &FleetLocation) -> Result<(), FleetError> {
    match location.dir.chars().find(|c| matches!(c, '$' | '{' | '}' | '\'' | '"' | '\\' | '~')) {
        None => Ok(()),
        Some(c) => Err(refused(format!(
            "the path of the fleet's folder has the character {c}, which Ansible may interpret: use a folder with a \
             plain name"
        ))),
    }
}
