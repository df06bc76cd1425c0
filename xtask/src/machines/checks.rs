//! The checks on a machine, as commands of a shell in the guest, and their expected results.

use super::boots;
use super::console::{Output, outputs};
use super::kills;
use super::machine::Machine;
use super::studies::{self, Study};
use super::switching;
use crate::guest::parts::Parts;
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
    /// A study whose arms are SMT on and off.
    Arms,
    /// Cached reads on SQLite, each run on the right logical CPUs.
    LogicalIo,
    /// Inserts on SQLite; by `--all`.
    InsertSqlite,
    /// Inserts on the native engine; by `--all`.
    InsertNative,
    /// A log writer near and far on the native engine; by `--all`.
    LogWriter,
    /// What `threadwise run` measures by default; by `--all`.
    Main,
    /// A study over four boots of the machine, with SMT and without; by `--all`.
    Boots,
    /// Processes that switch SMT are killed; all moments and ways by `--all`. It takes logical CPUs offline, and
    /// comes last.
    Kills,
}

/// All, in the order in which a machine does them.
pub const CHECKS: [Check; 11] = [
    Check::Topology,
    Check::Placements,
    Check::Smt,
    Check::Arms,
    Check::LogicalIo,
    Check::InsertSqlite,
    Check::InsertNative,
    Check::LogWriter,
    Check::Main,
    Check::Boots,
    Check::Kills,
];

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
            Self::Arms => "smt-off",
            Self::LogicalIo => "logical-io",
            Self::InsertSqlite => "insert-sqlite",
            Self::InsertNative => "insert-native",
            Self::LogWriter => "log-writer",
            Self::Main => "run",
            Self::Boots => "smt-boots",
            Self::Kills => "kills",
        }
    }

    /// Its study.
    fn study(self) -> Option<Study> {
        match self {
            Self::Topology | Self::Placements | Self::Smt | Self::Boots | Self::Kills => None,
            Self::Arms => Some(studies::ARMS),
            Self::LogicalIo => Some(studies::LOGICAL_IO),
            Self::InsertSqlite => Some(studies::INSERT_SQLITE),
            Self::InsertNative => Some(studies::INSERT_NATIVE),
            Self::LogWriter => Some(studies::LOG_WRITER),
            Self::Main => Some(studies::MAIN),
        }
    }

    /// Whether it is done on every machine, in a few seconds.
    fn is_on_all(self) -> bool {
        matches!(self, Self::Topology | Self::Placements)
    }

    fn is_quick(self) -> bool {
        !matches!(self, Self::InsertSqlite | Self::InsertNative | Self::LogWriter | Self::Main | Self::Boots)
    }

    /// The command, or `None` if it is not for this machine, or not one command of one boot.
    fn command(self, machine: &Machine, is_all: bool) -> Option<String> {
        match self {
            _ if !is_all && !self.is_quick() => None,
            Self::Topology => Some("threadwise topology --json".to_owned()),
            Self::Placements => {
                let asked = machine.placements.iter().map(|(text, _)| format!(" --placement {text}"));
                Some(format!("threadwise topology --json{}", asked.collect::<String>()))
            }
            _ if !machine.checks.contains(&self.name()) => None,
            Self::Smt => Some(switching::command()),
            Self::Kills => Some(kills::command(is_all)),
            _ => self.study().map(Study::command),
        }
    }

    /// Faults of the output of its command.
    fn judged(self, machine: &Machine, is_all: bool, output: &Output) -> Vec<String> {
        if let Some(study) = self.study() {
            return study.judged(machine, &output.text);
        }
        if self == Self::Smt {
            return switching::judged(machine, &output.text);
        }
        if self == Self::Kills {
            return kills::judged(is_all, &output.text);
        }
        if output.status != 0 {
            let last = output.text.lines().last().unwrap_or_default();
            return vec![format!("exit status {}: {last}", output.status)];
        }
        let said: Value = match serde_json::from_str(&output.text) {
            Ok(said) => said,
            Err(cause) => return vec![format!("no JSON: {cause}")],
        };
        match self {
            Self::Topology => machine.topology_differs(&said),
            _ => machine.placements_differ(&said),
        }
    }
}

/// Outcome of a machine without any check.
pub fn none() -> Vec<Outcome> {
    CHECKS.into_iter().map(|check| Outcome { check, found: None }).collect()
}

/// Boots the machine, does its checks, and returns their outcomes. A guest that ends early is the fault of the rest of
/// its checks.
///
/// # Errors
/// QEMU cannot be started.
pub fn run(machine: &Machine, is_all: bool, parts: &Parts) -> Result<Vec<Outcome>, String> {
    let tried: Vec<(Check, String)> =
        CHECKS.into_iter().filter_map(|check| Some((check, check.command(machine, is_all)?))).collect();
    let long = tried.iter().filter(|(check, _)| !check.is_on_all()).count() as u32;
    let commands: Vec<(&str, &str)> =
        tried.iter().map(|(check, command)| (check.name(), command.as_str())).collect();
    let outputs = outputs(machine, parts, &commands, CHECK_LIMIT * long)?;
    let mut outcomes = none();
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
    if is_all && machine.checks.contains(&Check::Boots.name()) {
        record(Check::Boots, boots::run(machine, parts)?);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_machines_are_there() {
        let known = |name: &&str| CHECKS.iter().any(|check| check.name() == *name && !check.is_on_all());
        assert!(super::super::list::MACHINES.iter().flat_map(|machine| machine.checks).all(known));
    }

    #[test]
    fn a_failed_command_and_no_json_are_faults() {
        let machine = &super::super::list::MACHINES[0];
        let of = |text: &str, status| {
            Check::Topology.judged(machine, false, &Output { text: text.to_owned(), status })
        };
        assert_eq!(of("threadwise: no such file\n", 1), ["exit status 1: threadwise: no such file"]);
        assert!(of("x", 0)[0].starts_with("no JSON"));
        assert!(!of("{}", 0).is_empty());
    }
}
