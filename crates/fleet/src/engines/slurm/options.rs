//! Options of fleet.toml as lines of a script. They are passed on unchanged with sbatch's long names, so that sbatch
//! reports unknown ones (`--test-only`, before anything is submitted). Options that the measurement depends on are
//! refused, and so are texts that a script's comment cannot hold.

use super::fault::refused;
use crate::FleetError;
use crate::file::Measures;
use crate::plan::{Plan, PlannedMachine};
use serde_json::Value;
use std::collections::BTreeMap;

/// Options that the plan sets, and what to use instead.
const SET: [(&str, &str); 13] = [
    ("array", "repeats"),
    ("dependency", "apart"),
    ("exclusive", "measures"),
    ("job-name", "nothing: it is how status finds its jobs"),
    ("nodelist", "nodes of a kind"),
    ("nodes", "nothing: a cell is on one node"),
    ("ntasks", "nothing: a cell is one process with the whole node"),
    ("open-mode", "nothing: a requeued job appends to its log"),
    ("output", "nothing: it is logs/MACHINE.REPEAT.log"),
    ("error", "nothing: it is in logs/MACHINE.REPEAT.log"),
    ("requeue", "nothing: a cell continues where it was"),
    ("signal", "nothing: a study needs a minute to end in order"),
    ("time", "time_limit"),
];

/// Options that would change what is measured: the job would get one thread of each core, or a part of the node.
const NEVER: [&str; 13] = [
    "threads-per-core",
    "hint",
    "ntasks-per-core",
    "cores-per-socket",
    "sockets-per-node",
    "extra-node-info",
    "cpus-per-task",
    "core-spec",
    "thread-spec",
    "oversubscribe",
    "overcommit",
    "wrap",
    "test-only",
];

/// Keys of a kind's selector: requirements of a job on its node, without naming it.
const SELECTORS: [&str; 4] = ["constraint", "partition", "exclude", "nodefile"];

/// Lines of a machine's script from its options and selector: `--NAME=VALUE`, in the order of their names.
pub(super) fn lines(plan: &Plan, machine: &PlannedMachine) -> Result<Vec<String>, FleetError> {
    let mut found = BTreeMap::new();
    let selector = plan.kind(&machine.kind).map(|kind| kind.selector.clone()).unwrap_or_default();
    for (key, value) in selector {
        if !SELECTORS.contains(&key.as_str()) {
            return Err(refused(format!(
                "the selector of the kind '{}' has '{key}'; it may have {}",
                machine.kind,
                SELECTORS.join(", ")
            )));
        }
        found.insert(key, Value::String(value));
    }
    if machine.node.is_none() && found.is_empty() {
        return Err(refused(format!(
            "the kind '{}' is a pool without a selector: give one, such as \
             selector = {{ constraint = \"FEATURE\" }}",
            machine.kind
        )));
    }
    for (key, value) in plan.engine_options_of(machine) {
        check(&key, plan)?;
        found.insert(key, value);
    }
    found.iter().filter_map(|(key, value)| line(key, value).transpose()).collect()
}

fn check(key: &str, plan: &Plan) -> Result<(), FleetError> {
    if let Some((_, instead)) = SET.iter().find(|(name, _)| *name == key) {
        // These options request a share of a node, and are refused otherwise.
        return Err(refused(format!("engine_options may not have '{key}'; use {instead}")));
    }
    if NEVER.contains(&key) && plan.measures == Measures::Machine {
        return Err(refused(format!(
            "engine_options may not have '{key}': the job would see a part of the machine (measures = \"share\" allows it)"
        )));
    }
    let is_name = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match is_name {
        true => Ok(()),
        false => {
            let shown = threadwise_machine::text::escaped(key);
            Err(refused(format!("engine_options has '{shown}': give sbatch's long names without the dashes")))
        }
    }
}

/// `true` is the option alone, `false` no option.
fn line(key: &str, value: &Value) -> Result<Option<String>, FleetError> {
    let text = match value {
        Value::Bool(false) => return Ok(None),
        Value::Bool(true) => return Ok(Some(format!("--{key}"))),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => {
            return Err(refused(format!(
                "engine_options has a list or table as '{key}': give sbatch text, a number or true"
            )));
        }
    };
    Ok(Some(format!("--{key}={}", quoted(&text, key)?)))
}

/// A value as sbatch reads it from a comment: quotes keep spaces, and backslash, quote and `#` are special
/// (slurm_opt.c, `get_argument`).
pub(super) fn quoted(text: &str, what: &str) -> Result<String, FleetError> {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\' | '#');
    match text {
        _ if !text.is_empty() && text.chars().all(plain) => Ok(text.to_owned()),
        _ if !text.is_empty() && text.chars().all(|c| plain(c) || c == ' ') => Ok(format!("\"{text}\"")),
        _ => Err(refused(format!(
            "{what} is '{}', which a Slurm script cannot hold: printable ASCII without quotes, backslash and # is allowed",
            threadwise_machine::text::escaped(text)
        ))),
    }
}
