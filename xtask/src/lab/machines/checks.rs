//! The checks on a machine, as commands of a shell in the guest, and their expected results.

use super::boots;
use super::console::{Output, outputs};
use super::kills;
use super::machine::{Machine, Study, tables};
use super::switching;
use crate::lab::guest::parts::Parts;
use serde_json::Value;
use std::time::Duration;

const CHECK_LIMIT: Duration = Duration::from_secs(360);

/// A check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// `topology --json` describes the machine as built.
    Topology,
    /// Every placement is as expected, or is not possible for the expected reason.
    Placements,
    /// SMT switched off, on, off by single logical CPUs, and restored.
    Smt,
    /// A small study, each run on the right logical CPUs.
    Study(&'static Study),
    /// A study over four boots of the machine, with SMT and without; by `--all`.
    Boots,
    /// Processes that switch SMT are killed; all moments and ways by `--all`. It takes logical CPUs offline, and
    /// comes last.
    Kills,
}

/// All, in the order in which a machine does them.
///
/// # Errors
/// The table of studies is wrong.
pub fn checks() -> Result<Vec<Check>, String> {
    let studies = tables()?.studies.iter().map(Check::Study);
    let first = [Check::Topology, Check::Placements, Check::Smt];
    Ok(first.into_iter().chain(studies).chain([Check::Boots, Check::Kills]).collect())
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The check.
    pub check: Check,
    /// The faults; `None` if it was not done here.
    pub found: Option<Vec<String>>,
}

impl Outcome {
    /// The faults.
    pub fn faults(&self) -> &[String] {
        self.found.as_deref().unwrap_or_default()
    }
}

impl Check {
    /// Its column in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Topology => "topology",
            Self::Placements => "placements",
            Self::Smt => "smt",
            Self::Study(study) => &study.name,
            Self::Boots => "smt-boots",
            Self::Kills => "kills",
        }
    }

    /// Whether it is done on every machine, in a few seconds.
    fn is_on_all(self) -> bool {
        matches!(self, Self::Topology | Self::Placements)
    }

    /// Whether this machine has it.
    fn is_on(self, machine: &Machine, is_all: bool) -> bool {
        let by_all = matches!(self, Self::Study(Study { by_all: true, .. }) | Self::Boots);
        let is_named = machine.checks.iter().any(|name| name == self.name());
        (is_all || !by_all) && (self.is_on_all() || is_named)
    }

    /// The command, or `None` if it is not for this machine, or not one command of one boot.
    fn command(self, machine: &Machine, is_all: bool) -> Option<String> {
        let command = match self {
            Self::Topology => "threadwise topology --json".to_owned(),
            Self::Placements => {
                let asked = machine.placements().map(|(text, _)| format!(" --placement {text}"));
                format!("threadwise topology --json{}", asked.collect::<String>())
            }
            Self::Smt => switching::command(),
            Self::Study(study) => study.command(),
            Self::Kills => kills::command(is_all),
            Self::Boots => return None,
        };
        self.is_on(machine, is_all).then_some(command)
    }

    /// Faults of the output of its command.
    fn judged(self, machine: &Machine, is_all: bool, output: &Output) -> Vec<String> {
        let differs = match self {
            Self::Study(study) => return study.judged(machine, &output.text),
            Self::Smt => return switching::judged(machine, &output.text),
            Self::Kills => return kills::judged(is_all, &output.text),
            Self::Topology => Machine::topology_differs,
            Self::Placements | Self::Boots => Machine::placements_differ,
        };
        if output.status != 0 {
            let last = output.text.lines().last().unwrap_or_default();
            return vec![format!("exit status {}: {last}", output.status)];
        }
        match serde_json::from_str::<Value>(&output.text) {
            Ok(said) => differs(machine, &said),
            Err(cause) => vec![format!("no JSON: {cause}")],
        }
    }
}

/// Boots the machine, does its checks, and returns their outcomes. A guest that ends early is the fault of the rest of
/// its checks.
///
/// # Errors
/// QEMU cannot be started.
pub fn run(machine: &Machine, is_all: bool, parts: &Parts) -> Result<Vec<Outcome>, String> {
    let tried: Vec<(Check, String)> =
        checks()?.into_iter().filter_map(|check| Some((check, check.command(machine, is_all)?))).collect();
    let long = tried.iter().filter(|(check, _)| !check.is_on_all()).count() as u32;
    let commands: Vec<(&str, &str)> =
        tried.iter().map(|(check, command)| (check.name(), command.as_str())).collect();
    let outputs = outputs(machine, parts, &commands, CHECK_LIMIT * long)?;
    let mut outcomes: Vec<Outcome> =
        checks()?.into_iter().map(|check| Outcome { check, found: None }).collect();
    let mut record = |check: Check, found: Vec<String>| {
        outcomes
            .iter_mut()
            .filter(|outcome| outcome.check == check)
            .for_each(|outcome| outcome.found = Some(found.clone()));
    };
    for ((check, _), output) in tried.iter().zip(outputs) {
        match output {
            Ok(output) => record(*check, check.judged(machine, is_all, &output)),
            Err(why) => record(*check, vec![why]),
        }
    }
    if Check::Boots.is_on(machine, is_all) {
        record(Check::Boots, boots::run(machine, parts)?);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_machines_are_there() {
        let checks = checks().unwrap();
        let known = |name: &String| checks.iter().any(|check| check.name() == name && !check.is_on_all());
        assert!(tables().unwrap().machines.iter().flat_map(|machine| &machine.checks).all(known));
    }

    #[test]
    fn a_failed_command_and_no_json_are_faults() {
        let machine = &tables().unwrap().machines[0];
        let of = |text: &str, status| {
            Check::Topology.judged(machine, false, &Output { text: text.to_owned(), status })
        };
        assert_eq!(of("threadwise: no such file\n", 1), ["exit status 1: threadwise: no such file"]);
        assert!(of("x", 0)[0].starts_with("no JSON"));
        assert!(!of("{}", 0).is_empty());
    }
}
