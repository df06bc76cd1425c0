//! What becomes of an item, in words and figures.

use crate::identity::Identity;
use std::path::{Path, PathBuf};

/// What a user sees of an item's way.
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

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The new file has the name.
    Done,
    /// The log says that it was done, and nobody wrote to it since.
    DoneBefore,
    /// Left alone: the reason and what to do.
    Skipped(String),
    /// Something went wrong: what, and where the original is.
    Failed(String),
    /// The user stopped before it was begun or finished; it is as it was.
    Stopped,
}

/// What a check found in the new database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// Tables whose contents or row counts were compared with the original's.
    pub tables: u64,
    /// Rows in them.
    pub rows: u64,
}

/// What became of an item, in figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The file as it was given.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
    /// Time for it.
    pub seconds: f64,
    /// Size before.
    pub bytes_before: u64,
    /// Size of the new file, where it has the name.
    pub bytes_after: Option<u64>,
    /// What was compared, where it was.
    pub checked: Option<Checked>,
    /// The original's name, where it was kept.
    pub kept: Option<PathBuf>,
    /// What the user should know although it went well.
    pub warnings: Vec<String>,
    /// Whether something is left for a recovery.
    pub left_behind: bool,
    /// The new file, where it has the name.
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

/// What a recovery did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing was left.
    Nothing,
    /// The original has its name and is as it was.
    PutBack,
    /// The new file has the name; what was left to do is done.
    Finished,
}
