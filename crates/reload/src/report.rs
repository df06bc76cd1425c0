//! Outcome of an item, in words and figures.

use crate::identity::Identity;
use std::path::{Path, PathBuf};

/// A visible stage of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for the database, and taking it.
    Hold,
    /// Copying it.
    Backup,
    /// Making the new one.
    Restore,
    /// Comparing both.
    Check,
    /// Changing the names.
    Swap,
}

impl Stage {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Backup => "backup",
            Self::Restore => "restore",
            Self::Check => "check",
            Self::Swap => "swap",
        }
    }
}

/// Outcome of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The new file has the name.
    Done,
    /// The log has it as done, and it was not written to since.
    DoneBefore,
    /// Left alone: the reason and what to do.
    Skipped(String),
    /// It failed: the reason, and where the original is.
    Failed(String),
    /// The user stopped before it was started or finished; it is unchanged.
    Stopped,
}

/// Result of a check of the new database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// Tables whose contents or row counts were compared with the original's.
    pub tables: u64,
    /// Rows in them.
    pub rows: u64,
}

/// Outcome of an item, in figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The given path.
    pub path: PathBuf,
    /// Its outcome.
    pub outcome: Outcome,
    /// Time taken.
    pub seconds: f64,
    /// Size before.
    pub bytes_before: u64,
    /// Size of the new file, if it has the name.
    pub bytes_after: Option<u64>,
    /// What was compared, if so.
    pub checked: Option<Checked>,
    /// The original's name, if it was kept.
    pub kept: Option<PathBuf>,
    /// Warnings of a successful item.
    pub warnings: Vec<String>,
    /// Whether a recovery is needed.
    pub left_behind: bool,
    /// The new file, if it has the name.
    pub new: Option<Identity>,
}

impl Report {
    pub(crate) fn of(path: &Path, outcome: Outcome) -> Self {
        Self {
            path: path.to_owned(),
            outcome,
            seconds: 0.0,
            bytes_before: 0,
            bytes_after: None,
            checked: None,
            kept: None,
            warnings: Vec::new(),
            left_behind: false,
            new: None,
        }
    }
}

/// Result of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing was left.
    Nothing,
    /// The original has its name and is unchanged.
    PutBack,
    /// The new file has the name; the remaining steps are done.
    Finished,
}
