//! One study on one machine: its name, its folder and its record.
//!
//! A cell's folder is `cells/MACHINE.REPEAT` with `study.threadwise` (if anything was measured), `cell.json` and
//! `exit`. It is created by a rename, so it is complete as soon as it is visible (rename(2)).

use crate::names;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Version of cell.json.
pub const VERSION: u32 = 1;
/// Name of the result file in a cell's folder.
pub const STUDY_FILE: &str = "study.threadwise";
/// Name of the file that records where a cell was measured.
pub const RECORD_FILE: &str = "cell.json";
/// Name of the file with a cell's exit code (docs/EXIT-CODES.md), in digits.
pub const EXIT_FILE: &str = "exit";

/// A machine of the plan, and the number of a repeat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellId {
    /// Name of the machine in the plan ([`crate::plan::PlannedMachine::name`]).
    pub machine: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.machine, self.repeat)
    }
}

impl From<CellId> for String {
    fn from(cell: CellId) -> Self {
        cell.to_string()
    }
}

impl TryFrom<String> for CellId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for CellId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let odd = || {
            let shown = threadwise_machine::text::escaped(&text.chars().take(150).collect::<String>());
            format!(
                "'{shown}' is not a cell: a machine's name, a point and the number of a repeat, such as node7.2"
            )
        };
        let (machine, repeat) = text.rsplit_once('.').ok_or_else(odd)?;
        let is_number = !repeat.starts_with('0') && repeat.chars().all(|c| c.is_ascii_digit());
        let repeat = repeat.parse::<u32>().ok().filter(|repeat| is_number && *repeat > 0).ok_or_else(odd)?;
        match names::fault(machine) {
            None => Ok(Self { machine: machine.to_owned(), repeat }),
            Some(_) => Err(odd()),
        }
    }
}

/// The record of a cell: `cell.json`. An unknown fact is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// [`VERSION`].
    pub version: u32,
    /// SHA-256 of the plan, hexadecimal.
    pub plan: String,
    /// The cell.
    pub cell: CellId,
    /// Kind of the machine in the plan.
    pub kind: String,
    /// Version of the program.
    pub program: String,
    /// SHA-256 of the machine's id, salted with the plan's hash: it distinguishes machines of one fleet and names none.
    pub machine_hash: Option<String>,
    /// Random boot id.
    pub boot_id: Option<String>,
    /// Host name of the node.
    pub node: Option<String>,
    /// Instance type, or the product name of the firmware.
    pub machine_type: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// The engine's job id.
    pub job: Option<String>,
    /// Start of the last attempt, UTC, RFC 3339.
    pub started_utc: String,
    /// Its end.
    pub ended_utc: String,
    /// Online logical CPUs, as a list such as `0-3`.
    pub online_cpus: Option<String>,
    /// Logical CPUs that the cell was allowed to use.
    pub allowed_cpus: Option<String>,
    /// Evidence that the cell had the machine to itself, one line each.
    pub exclusivity: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was refused or failed, one line; `null` if it was measured.
    pub reason: Option<String>,
    /// Remarks, one line each: files of earlier boots, what could not be checked.
    pub notes: Vec<String>,
    /// Earlier attempts that left something, oldest first.
    pub earlier: Vec<Attempt>,
}

/// An attempt that did not end with a measured study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Start, UTC, RFC 3339.
    pub started_utc: String,
    /// Node that it ran on.
    pub node: Option<String>,
    /// The engine's job id.
    pub job: Option<String>,
    /// How it ended, one line.
    pub how: String,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The study is complete.
    Measured,
    /// The study is complete, and not valid as a whole (docs/EXIT-CODES.md).
    Invalid,
    /// The machine was not suitable, or used by others.
    Refused,
    /// Something failed.
    Failed,
}

impl Outcome {
    /// Whether submitting the cell again may change the outcome.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Refused | Self::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_they_are_written() {
        for text in ["tw1.1", "ip-10-0-0-1.eu.internal.12", "a.b.3"] {
            assert_eq!(text.parse::<CellId>().unwrap().to_string(), text);
        }
        for text in
            ["tw1", "tw1.0", "tw1.01", "tw1.+1", "tw1.-1", ".1", "a/b.1", "../x.1", "a.99999999999", "a.", ""]
        {
            assert!(text.parse::<CellId>().is_err(), "{text}");
        }
    }
}
