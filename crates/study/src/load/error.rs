//! Errors of loading a study, with their position in the file.

use std::ops::Range;

use crate::time::{typed, typed_up};

/// Why a study cannot be loaded. Each error is one line: what is wrong, and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// An error in the file, with its position.
    #[error("{source_name}:{line}:{column}: {message}")]
    At {
        /// File as the user named it.
        source_name: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// No preset has this name.
    #[error("there is no preset '{name}': presets are {known}; a study definition's name ends in .toml")]
    UnknownPreset {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An error in a command-line option.
    #[error("{option}: {why}")]
    Override {
        /// The option as written on the command line, such as `--sessions`.
        option: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// The budget holds fewer than 8 blocks in the best case.
    #[error(
        "a budget of {} cannot hold 8 blocks of this study, which take at least {least_s} s: give --budget {} or more, fewer treatments, or fewer --rounds{}",
        typed(*budget_s), typed_up(*enough_s), long_words(*long_s)
    )]
    Budget {
        /// Seconds that were given.
        budget_s: f64,
        /// Minimum seconds for 8 blocks.
        least_s: u64,
        /// Seconds for them with a fast probe and fast starts.
        enough_s: f64,
        /// Seconds of these for long windows; 0 without.
        long_s: f64,
    },
    /// The data does not fit.
    #[error(
        "the data of {sessions} sessions is {data_mib} MiB, over {allowed_mib} MiB, half of {rule} (files take the other half): give a smaller data_mib or blocks, fewer treatments, or fewer sessions"
    )]
    Memory {
        /// Sessions of all treatments together.
        sessions: u64,
        /// Their data, MiB.
        data_mib: u64,
        /// Limit, MiB.
        allowed_mib: u64,
        /// What the limit is half of.
        rule: String,
    },
}

/// Another way to make a budget sufficient.
fn long_words(long_s: f64) -> String {
    match long_s > 0.0 {
        true => format!(", or fewer --long-windows, which take {long_s} s of it"),
        false => String::new(),
    }
}

/// A text in which positions are found.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    /// An error at the start of a byte range.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>) -> LoadError {
        let end = span.start.min(self.text.len());
        let before = self.text.get(..end).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        LoadError::At {
            source_name: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into().trim().replace('\n', "; "),
        }
    }
}
