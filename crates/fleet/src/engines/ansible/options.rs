//! Options of fleet.toml as options of ansible-playbook. They are passed on unchanged with their long names, so that
//! ansible-playbook reports unknown ones before anything starts. Options that the plan sets are refused, and so are
//! those that would leave cells out or ask at a terminal. Source: ansible-playbook(1) of ansible-core 2.19.

use super::refusal::refused;
use crate::FleetError;
use crate::plan::Plan;
use serde_json::Value;

/// Default location of the plan's folders on a host, see [`REMOTE_DIR`].
const REMOTE_DEFAULT: &str = "~/.threadwise-fleet";
/// The only option of this program itself.
const REMOTE_DIR: &str = "remote_dir";

/// Options that the plan sets or that are not supported, and what to use instead.
const SET: [(&str, &str); 17] = [
    ("limit", "nodes of a kind"),
    ("tags", "nothing: every task is needed"),
    ("skip-tags", "nothing: every task is needed"),
    ("start-at-task", "nothing: a second submit runs what is missing"),
    ("step", "nothing: it runs without questions"),
    ("check", "nothing: it would measure nothing"),
    ("syntax-check", "nothing: submit does it first"),
    ("list-hosts", "nothing: it would measure nothing"),
    ("list-tasks", "nothing: it would measure nothing"),
    ("list-tags", "nothing: it would measure nothing"),
    ("help", "nothing: it would measure nothing"),
    ("version", "nothing: it would measure nothing"),
    ("ask-pass", "connection-password-file"),
    ("ask-become-pass", "become-password-file"),
    ("ask-vault-pass", "vault-password-file"),
    ("ask-vault-password", "vault-password-file"),
    ("inventory-file", "inventory"),
];

/// Options that name files. ansible-playbook runs in the fleet's folder, so relative paths would change.
const PATHS: [&str; 9] = [
    "inventory",
    "private-key",
    "key-file",
    "become-password-file",
    "become-pass-file",
    "connection-password-file",
    "conn-pass-file",
    "vault-password-file",
    "module-path",
];

/// The options as arguments, in the order of their names; includes the user's inventories.
pub(super) fn arguments(plan: &Plan) -> Result<Vec<String>, FleetError> {
    if let Some(kind) = plan.kinds.iter().find(|kind| !kind.engine_options.is_empty()) {
        return Err(refused(format!(
            "the kind '{}' has engine_options, but one call of ansible-playbook is for all hosts: give them to all, or set \
             variables of its hosts in your inventory (ansible_user, ansible_become, …)",
            kind.name
        )));
    }
    let mut arguments = Vec::new();
    for (key, value) in plan.engine_options.iter().filter(|(key, _)| *key != REMOTE_DIR) {
        check_name(key)?;
        arguments.extend(option(key, value)?);
    }
    Ok(arguments)
}

/// Parent folder of all plans on the hosts.
pub(super) fn remote_dir(plan: &Plan) -> Result<String, FleetError> {
    let Some(value) = plan.engine_options.get(REMOTE_DIR) else { return Ok(REMOTE_DEFAULT.to_owned()) };
    let text = value.as_str().unwrap_or_default();
    let path = text.strip_prefix("~/").or_else(|| text.strip_prefix('/')).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    match !path.is_empty()
        && path.chars().all(plain)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
    {
        true => Ok(text.to_owned()),
        false => Err(refused(format!(
            "remote_dir is {}: give a path on the hosts that begins with / or ~/, of letters, digits, '.', '_', '-'",
            threadwise_machine::text::escaped(&value.to_string())
        ))),
    }
}

fn check_name(key: &str) -> Result<(), FleetError> {
    if let Some((_, instead)) = SET.iter().find(|(name, _)| *name == key) {
        return Err(refused(format!("engine_options may not have '{key}'; use {instead}")));
    }
    let is_name = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match is_name {
        true => Ok(()),
        false => Err(refused(format!(
            "engine_options has '{}': give ansible-playbook's long names without the dashes, or {REMOTE_DIR}",
            threadwise_machine::text::escaped(key)
        ))),
    }
}

/// `true` is the option alone, `false` no option, a list one option per value, a table its JSON.
fn option(key: &str, value: &Value) -> Result<Vec<String>, FleetError> {
    let text = match value {
        Value::Bool(false) => return Ok(Vec::new()),
        Value::Bool(true) => return Ok(vec![format!("--{key}")]),
        Value::Array(items) => {
            let each = items.iter().map(|item| option(key, item));
            return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // A list of hosts ends with a comma and is not a file.
    let is_file = PATHS.contains(&key) && !text.contains(',');
    if is_file && !text.starts_with('/') && !text.starts_with("~/") {
        return Err(refused(format!(
            "{key} is '{}': give an absolute path, since ansible-playbook runs in the fleet's folder",
            threadwise_machine::text::escaped(&text)
        )));
    }
    Ok(vec![format!("--{key}={text}")])
}
