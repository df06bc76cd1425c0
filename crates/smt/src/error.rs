//! Errors of switching.

use std::io;
use std::path::PathBuf;
use threadwise_process::journal::JournalError;

/// Why the machine was not switched, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum SmtError {
    /// It is not possible here, or not now; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// Another process has switched it; nothing was changed.
    #[error("process {pid} has switched SMT, logical CPUs or clocks: wait until it has ended")]
    InUse {
        /// Its number.
        pid: u32,
    },
    /// A killed process's or an earlier change must be restored first; nothing was changed.
    #[error("SMT, logical CPUs or clocks are already switched (journal {}): first run threadwise restore", .path.display())]
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
    /// The process that restores everything if this one is killed cannot be started.
    #[error("cannot start the watchdog {}: {source}; nothing was changed", .program.display())]
    Watchdog {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something could not be restored; its journal stays.
    #[error("not restored: {}", .0.join("; "))]
    NotRestored(Vec<String>),
    /// The machine did not reach the requested state, and is restored except what is listed.
    #[error("cannot switch to {arm}: {}{}", .why.join("; "), rest(.not_restored))]
    Switch {
        /// The requested state.
        arm: String,
        /// What differs, one line each.
        why: Vec<String>,
        /// What could not be restored, one line each.
        not_restored: Vec<String>,
    },
}

fn rest(lines: &[String]) -> String {
    match lines {
        [] => "; everything is as it was found".to_owned(),
        _ => format!("; not restored: {}", lines.join("; ")),
    }
}
