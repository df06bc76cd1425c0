//! Ansible: a playbook that copies the program to every host, measures there, and fetches the results.
//!
//! The playbook is the same for every fleet; what differs is in a generated inventory, as quoted texts that Ansible
//! does not treat as templates. Hosts do not wait for each other, and each measures one cell at a time. No Ansible task
//! runs during a cell: a measuring host is not polled. Sources: ansible-playbook(1), documentation of the modules
//! `command` (`creates`), `copy`, `stat`, `find`, `fetch`, and of the strategy `free`, ansible-core 2.19.

mod inventory;
mod options;
mod refusal;
#[cfg(test)]
mod tests;
mod yaml;

use crate::FleetError;
use crate::cell::CellId;
use crate::engine::{Batch, Call, FleetEngine, FleetLocation, GeneratedFile, ListedCell};
use crate::plan::Plan;
use refusal::{NAME, refused};

/// The engine.
pub struct Ansible;

/// The program.
const PROGRAM: &str = "ansible-playbook";
/// The inventory with all cells of a plan.
const WHOLE: &str = "ansible/inventory.yml";
/// Makes an unreadable inventory an error: Ansible only warns, and continues without its hosts.
const STRICT: &str = "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=True";

/// Files that are the same for every fleet.
const CONSTANT: [(&str, &str); 5] = [
    ("ansible/playbook.yml", include_str!("playbook.yml")),
    ("ansible/cell.yml", include_str!("cell.yml")),
    ("ansible/fetch.yml", include_str!("fetch.yml")),
    ("ansible/collect.yml", include_str!("collect.yml")),
    ("ansible/place.sh", include_str!("../place.sh")),
];

impl FleetEngine for Ansible {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "a playbook that copies the program to each host, measures there one cell at a time, and brings the results"
    }

    fn has_shared_folder(&self) -> bool {
        false
    }

    fn check(&self, plan: &Plan, location: &FleetLocation) -> Result<(), FleetError> {
        self.files(plan, location).map(drop)
    }

    fn files(&self, plan: &Plan, location: &FleetLocation) -> Result<Vec<GeneratedFile>, FleetError> {
        check_kinds(plan)?;
        inventory::check_location(location)?;
        options::arguments(plan)?;
        let text = inventory::text(plan, location, &options::remote_dir(plan)?, (&plan.order, "collected"))?;
        let constant = CONSTANT.iter().map(|(path, text)| file(path, (*text).to_owned()));
        Ok([file(WHOLE, text)].into_iter().chain(constant).collect())
    }

    fn batches(
        &self,
        plan: &Plan,
        location: &FleetLocation,
        missing: &[CellId],
        attempt: u32,
    ) -> Result<Vec<Batch>, FleetError> {
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let path = format!("ansible/submit-{attempt}.yml");
        let text =
            inventory::text(plan, location, &options::remote_dir(plan)?, (missing, &attempt.to_string()))?;
        let arguments = arguments(plan, &path, "ansible/playbook.yml")?;
        let check = ["--list-hosts".to_owned()].into_iter().chain(arguments.clone());
        Ok(vec![Batch {
            label: "all hosts".to_owned(),
            cells: missing.to_vec(),
            files: vec![file(&path, text)],
            check: Some(strict(check)),
            start: Call::new(PROGRAM, arguments),
            waits: true,
        }])
    }

    /// Variables that choose tasks, hosts and variables, or end tasks early (Ansible's configuration settings); the
    /// user's own settings decide how hosts are reached.
    fn overrides(&self, variable: &str) -> bool {
        OVERRIDING.contains(&variable) || variable.starts_with("ANSIBLE_INVENTORY")
    }

    fn job_id(&self, _: &str) -> Option<String> {
        None
    }

    fn running(&self, _: &Plan, _: &FleetLocation) -> Option<Call> {
        None
    }

    fn read_running(&self, _: &Plan, _: &str) -> Result<Vec<ListedCell>, FleetError> {
        Ok(Vec::new())
    }

    /// Results that ended on a host after the play had lost it.
    fn collection(&self, plan: &Plan, _: &FleetLocation, missing: &[CellId]) -> Vec<Call> {
        let arguments = arguments(plan, WHOLE, "ansible/collect.yml").ok().filter(|_| !missing.is_empty());
        arguments.map(strict).into_iter().collect()
    }
}

const OVERRIDING: [&str; 14] = [
    "ANSIBLE_ANY_ERRORS_FATAL",
    "ANSIBLE_DEBUGGER",
    "ANSIBLE_ENABLE_TASK_DEBUGGER",
    "ANSIBLE_HASH_BEHAVIOUR",
    "ANSIBLE_JINJA2_NATIVE",
    "ANSIBLE_LIMIT",
    "ANSIBLE_PLAYBOOK_VARS_ROOT",
    "ANSIBLE_PRECEDENCE",
    "ANSIBLE_RUN_TAGS",
    "ANSIBLE_RUN_VARS_PLUGINS",
    "ANSIBLE_SKIP_TAGS",
    "ANSIBLE_STRATEGY",
    "ANSIBLE_STRATEGY_PLUGINS",
    "ANSIBLE_TASK_TIMEOUT",
];

fn file(path: &str, text: String) -> GeneratedFile {
    GeneratedFile { path: path.to_owned(), text, mode: 0o644 }
}

/// ansible-playbook's arguments. The last inventory wins, which is the generated one.
fn arguments(plan: &Plan, inventory: &str, playbook: &str) -> Result<Vec<String>, FleetError> {
    let mut arguments = options::arguments(plan)?;
    arguments.extend([format!("--inventory={inventory}"), playbook.to_owned()]);
    Ok(arguments)
}

fn strict(arguments: impl IntoIterator<Item = String>) -> Call {
    Call::new("env", [STRICT.to_owned(), PROGRAM.to_owned()].into_iter().chain(arguments))
}

/// Hosts must be named: the mapping of a group to machines of a plan would change with the inventory.
fn check_kinds(plan: &Plan) -> Result<(), FleetError> {
    for kind in &plan.kinds {
        if let Some(key) = kind.selector.keys().next() {
            return Err(refused(format!(
                "the selector of the kind '{}' has '{}'; choose hosts by nodes = [\"NAME\", …]",
                kind.name,
                threadwise_machine::text::escaped(key)
            )));
        }
        let machine = plan.machines.iter().find(|machine| machine.kind == kind.name);
        if machine.is_some_and(|machine| machine.node.is_none()) {
            return Err(refused(format!(
                "the kind '{}' has machines = NUMBER; give its hosts as nodes = [\"NAME\", …]: ansible -i INVENTORY GROUP \
                 --list-hosts shows those of a group",
                kind.name
            )));
        }
    }
    Ok(())
}
