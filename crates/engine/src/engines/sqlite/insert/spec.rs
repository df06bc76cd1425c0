//! The options of `insert`.

use threadwise_study::Options;

use super::super::error::NAME;
use crate::EngineError;
use crate::workloads::insert::{Durability, Insert, Table};
use crate::workloads::options::{no_loop, refuse, word};

/// What sessions write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// One file per session.
    Own,
    /// One file.
    Shared,
}

/// The workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Spec {
    pub(super) rows: Insert,
    pub(super) files: Files,
}

impl Spec {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first option that is unknown or impossible.
    pub(in super::super) fn of(options: &Options) -> Result<Self, EngineError> {
        no_loop(options, NAME)?;
        let rows = Insert::parse(options, &["file"])?;
        rows.no_single_batch(NAME)?;
        // Without the option, `full` is only the default.
        if rows.table == Table::Unlogged
            && rows.durability == Durability::Full
            && options.contains_key("durability")
        {
            let why = "full is not available with table=unlogged, where nothing is ever synced; leave it out \
                       or give relaxed";
            return Err(refuse("durability", why.into()));
        }
        let files = [Files::Own, Files::Shared][word(options, "file", &["own", "shared"])?];
        Ok(Self { rows, files })
    }

    /// Number of files of this many sessions.
    pub(super) fn files_of(&self, sessions: u32) -> u32 {
        match self.files {
            Files::Own => sessions,
            Files::Shared => 1,
        }
    }

    /// Number of this session's file.
    pub(super) fn file_of(&self, session: u32) -> usize {
        match self.files {
            Files::Own => session as usize,
            Files::Shared => 0,
        }
    }
}
