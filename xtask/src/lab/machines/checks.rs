//! The checks on a machine, as commands of a shell in the guest, and their expected results.

use super::boots;
use super::console::{Output, outputs};
use super::kills;
use super::machine::{Machine, tables};
use super::switching;
use crate::lab::guest::parts::Parts;
use serde_json::Value;
use std::time::Duration;

const CHECK_LIMIT: Duration = Duration::from_secs(360);

/// The check of several boots.
const BOOTS: &str = "smt-boots";

/// Faults of an output.
type Judge<'a> = Box<dyn Fn(&Output) -> Vec<String> + 'a>;

/// A check in one boot of a machine.
struct Check<'a> {
    name: &'static str,
    /// Whether it is done on every machine, in a few seconds; others are where the machine names them.
    is_on_all: bool,
    /// Whether only `--all` does it.
    by_all: bool,
    /// Commands of a shell.
    command: String,
    /// Faults of their output.
    faults: Judge<'a>,
}

impl<'a> Check<'a> {
    fn new(name: &'static str, command: String, faults: impl Fn(&Output) -> Vec<String> + 'a) -> Self {
        Self { name, is_on_all: false, by_all: false, command, faults: Box::new(faults) }
    }

    /// On every machine, with a command that prints JSON.
    fn on_all(name: &'static str, command: String, differs: impl Fn(&Value) -> Vec<String> + 'a) -> Self {
        Self { is_on_all: true, ..Self::new(name, command, move |output| in_json(output, &differs)) }
    }
}

/// All that a machine may have, in the order in which it does them.
fn checks(machine: &Machine, is_all: bool) -> Result<Vec<Check<'_>>, String> {
    let topology = "threadwise topology --json".to_owned();
    let placements = machine.placements().map(|(text, _)| format!(" --placement {text}"));
    let placements = topology.clone() + &placements.collect::<String>();
    let studies = tables()?.studies.iter().map(|study| {
        let faults = move |output: &Output| study.judged(machine, &output.text);
        Check { by_all: study.by_all, ..Check::new(&study.name, study.command(), faults) }
    });
    let mut all = vec![
        Check::on_all("topology", topology, |said| machine.topology_differs(said)),
        Check::on_all("placements", placements, |said| machine.placements_differ(said)),
        Check::new("smt", switching::command(), |output| switching::judged(machine, &output.text)),
    ];
    all.extend(studies);
    // They take logical CPUs offline, and come last.
    all.push(Check::new("kills", kills::command(is_all), move |output| kills::judged(is_all, &output.text)));
    Ok(all)
}

/// The names of all checks, in the order of the table.
///
/// # Errors
/// The table of studies is wrong.
pub fn names() -> Result<Vec<&'static str>, String> {
    let mut names: Vec<&str> = checks(&Machine::default(), true)?.iter().map(|check| check.name).collect();
    names.insert(names.len() - 1, BOOTS);
    Ok(names)
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The check.
    pub name: &'static str,
    /// The faults; `None` if it was not done here.
    pub found: Option<Vec<String>>,
}

impl Outcome {
    /// The faults.
    pub fn faults(&self) -> &[String] {
        self.found.as_deref().unwrap_or_default()
    }
}

/// Faults of a command that prints JSON.
fn in_json(output: &Output, differs: &impl Fn(&Value) -> Vec<String>) -> Vec<String> {
    if output.status != 0 {
        let last = output.text.lines().last().unwrap_or_default();
        return vec![format!("exit status {}: {last}", output.status)];
    }
    match serde_json::from_str(&output.text) {
        Ok(said) => differs(&said),
        Err(cause) => vec![format!("no JSON: {cause}")],
    }
}

/// Boots the machine, does its checks, and returns their outcomes. A guest that ends early is the fault of the rest of
/// its checks.
///
/// # Errors
/// QEMU cannot be started.
pub fn run(machine: &Machine, is_all: bool, parts: &Parts) -> Result<Vec<Outcome>, String> {
    let is_named = |name: &str| machine.checks.iter().any(|named| named == name);
    let mut checks = checks(machine, is_all)?;
    checks.retain(|check| (is_all || !check.by_all) && (check.is_on_all || is_named(check.name)));
    let long = checks.iter().filter(|check| !check.is_on_all).count() as u32;
    let commands: Vec<(&str, &str)> =
        checks.iter().map(|check| (check.name, check.command.as_str())).collect();
    let outputs = outputs(machine, parts, &commands, CHECK_LIMIT * long)?;
    let judged = |(check, output): (&Check<'_>, Result<Output, String>)| {
        (check.name, output.map_or_else(|why| vec![why], |output| (check.faults)(&output)))
    };
    let mut found: Vec<(&str, Vec<String>)> = checks.iter().zip(outputs).map(judged).collect();
    if is_all && is_named(BOOTS) {
        found.push((BOOTS, boots::run(machine, parts)?));
    }
    let of_name = |name| found.iter().find(|(done, _)| *done == name).map(|(_, faults)| faults.clone());
    Ok(names()?.into_iter().map(|name| Outcome { name, found: of_name(name) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_machines_are_there() {
        let names = names().unwrap();
        assert_eq!((names[0], names[names.len() - 2], names[names.len() - 1]), ("topology", BOOTS, "kills"));
        let known = |name: &String| names[2..].contains(&name.as_str());
        assert!(tables().unwrap().machines.iter().flat_map(|machine| &machine.checks).all(known));
    }

    #[test]
    fn a_failed_command_and_no_json_are_faults() {
        let machine = &tables().unwrap().machines[0];
        let checks = checks(machine, false).unwrap();
        let faults = |text: &str, status| (checks[0].faults)(&Output { text: text.to_owned(), status });
        assert_eq!(faults("threadwise: no such file\n", 1), ["exit status 1: threadwise: no such file"]);
        assert!(faults("x", 0)[0].starts_with("no JSON"));
        assert!(!faults("{}", 0).is_empty());
    }
}
