//! Why a study cannot be had, and where in its file.

use std::ops::Range;

use crate::time::{typed, typed_up};

/// Why a study cannot be had. Each is one line that says what is wrong and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// Something in the file, with its place.
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
    #[error("there is no preset '{name}': presets are {known}; the name of a study definition ends in .toml")]
    UnknownPreset {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Something that the command line asked for.
    #[error("{option}: {why}")]
    Override {
        /// The option as written on the command line, such as `--sessions`.
        option: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// Fewer than 8 blocks would fit, however fast everything else is.
    #[error(
        "a budget of {} cannot hold 8 blocks of this study, which take {least_s} s at the least: give --budget {} or more, or fewer treatments, or fewer --rounds{}",
        typed(*budget_s), typed_up(*enough_s), long_words(*long_s)
    )]
    Budget {
        /// Seconds that were given.
        budget_s: f64,
        /// Seconds that 8 blocks need at the least.
        least_s: u64,
        /// Seconds that they need with the probe and starts that are quick.
        enough_s: f64,
        /// Seconds of these that long windows take; 0 in a study without.
        long_s: f64,
    },
    /// The data would not fit.
    #[error(
        "the data of {sessions} sessions is {data_mib} MiB, over {allowed_mib} MiB, half of {rule} (files take the other half): a smaller data_mib or blocks, fewer treatments, or fewer sessions"
    )]
    Memory {
        /// Sessions of all treatments together.
        sessions: u64,
        /// Their data.
        data_mib: u64,
        /// What is allowed for it.
        allowed_mib: u64,
        /// What that is half of.
        rule: String,
    },
}

/// The other way out of a budget that is too small.
fn long_words(long_s: f64) -> String {
    match long_s > 0.0 {
        true => format!(", or fewer --long-windows, which take {long_s} s of it"),
        false => String::new(),
    }
}

/// The text that places in it are found in.
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
