//! The program's errors and their exit codes (the full table: docs/EXIT-CODES.md; the short one: `threadwise --help`).

use std::fmt;
use threadwise_engine::EngineError;
use threadwise_machine::text::escaped;

/// An error with the exit code for scripts.
#[derive(Debug, PartialEq, Eq)]
pub enum AppError {
    /// 1: something failed, or the measurement is not valid as a whole.
    Failed(String),
    /// 2: bad command line, study definition or result file; nothing was touched.
    Input(String),
    /// 3: refused: the machine is busy, or lacks what was requested, and nothing was touched; or a study was stopped
    /// because others had to wait for it, and finished runs are stored.
    Refused(String),
    /// 4: a treatment got worse, and the user asked to fail then; all output is written.
    Regression(String),
    /// 5: whether a treatment got worse is undecided, and the user asked to fail then; all output is written.
    Undecided(String),
    /// 130: stopped by the user; finished runs are stored.
    Interrupted(String),
    /// The reader of standard output closed it (`| head`): nothing is printed.
    ClosedPipe,
}

impl AppError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Input(_) => 2,
            Self::Refused(_) => 3,
            Self::Regression(_) => 4,
            Self::Undecided(_) => 5,
            Self::Interrupted(_) => 130,
            Self::ClosedPipe => 0,
        }
    }

    /// Whether to print nothing.
    pub fn is_silent(&self) -> bool {
        *self == Self::ClosedPipe
    }

    /// A failure from anything printable.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Bad input from anything printable.
    pub fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }

    /// An engine's error: an invalid option is bad input, an engine that is not installed is a refusal, and a server
    /// that cannot be asked is a failure.
    pub fn engine(error: &EngineError) -> Self {
        match error {
            EngineError::Option { .. } => Self::input(error),
            EngineError::Missing(_) => Self::refused(error),
            _ => Self::failed(error),
        }
    }

    /// A refusal from anything printable.
    pub fn refused(error: impl fmt::Display) -> Self {
        Self::Refused(error.to_string())
    }
}

impl fmt::Display for AppError {
    /// One line: line breaks inside a cause would look like several errors, and paths and causes are not our own texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text)
            | Self::Input(text)
            | Self::Refused(text)
            | Self::Regression(text)
            | Self::Undecided(text)
            | Self::Interrupted(text) => {
                f.write_str(&escaped(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            Self::ClosedPipe => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_several_lines_are_printed_as_one() {
        assert_eq!(AppError::Failed("a\n  b".into()).to_string(), "a b");
    }
}
