//! What can go wrong.

use std::io;
use std::path::PathBuf;
use threadwise_process::journal::JournalError;

/// Why the machine was not switched, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum SmtError {
    /// It is not done here, or not now; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// Somebody else has switched it; nothing was changed.
    #[error("process {pid} has switched SMT, logical CPUs or clocks: wait until it has ended")]
    InUse {
        /// Who.
        pid: u32,
    },
    /// What is left of a killed process, or was asked for before, has to be put back first; nothing was changed.
    #[error("SMT, logical CPUs or clocks are switched already (journal {}): first threadwise smt restore", .path.display())]
    Switched {
        /// The journal.
        path: PathBuf,
    },
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine cannot be read.
    #[error("cannot read the state of the machine: {0}; nothing was changed")]
    Read(#[from] io::Error),
    /// The process that puts everything back when this one is killed cannot be started.
    #[error("cannot start the watchdog {}: {source}; nothing was changed", .program.display())]
    Watchdog {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something could not be put back; its journal stays.
    #[error("not put back: {}", .0.join("; "))]
    NotRestored(Vec<String>),
    /// The machine did not become what was asked for, and is as it was found again, but for what is named.
    #[error("cannot switch to {arm}: {}{}", .why.join("; "), rest(.not_restored))]
    Switch {
        /// What was asked for.
        arm: String,
        /// What differs, one line each.
        why: Vec<String>,
        /// What could not be put back, one line each.
        not_restored: Vec<String>,
    },
}

fn rest(lines: &[String]) -> String {
    match lines {
        [] => "; everything is as it was found".to_owned(),
        _ => format!("; not put back: {}", lines.join("; ")),
    }
}
