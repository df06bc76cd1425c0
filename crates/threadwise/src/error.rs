//! The program's errors and their exit codes (docs/EXIT-CODES.md has the table, `threadwise --help` the short
//! form).

use crate::{output, suggest};
use std::fmt;
use std::process::ExitCode;
use threadwise_machine::text::escaped;

/// An error with the exit code that scripts rely on.
#[derive(Debug, PartialEq, Eq)]
pub enum AppError {
    /// 1: something failed while working, or what was measured is not valid as a whole.
    Failed(String),
    /// 2: bad command line, study definition or result file; nothing was touched.
    Input(String),
    /// 3: refused: the machine is busy, or lacks what was asked for, and nothing was touched; or a study was
    /// stopped because others had to wait for it, and what finished is stored.
    Refused(String),
    /// 130: stopped by the user; what finished is stored.
    Interrupted(String),
    /// The reader of our output went away (`| head`): not an error worth a line.
    ClosedPipe,
}

impl AppError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Input(_) => 2,
            Self::Refused(_) => 3,
            Self::Interrupted(_) => 130,
            Self::ClosedPipe => 0,
        }
    }

    /// Whether nothing is to be printed.
    pub fn is_silent(&self) -> bool {
        *self == Self::ClosedPipe
    }

    /// A failure from anything that prints.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Bad input from anything that prints.
    pub fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }

    /// A refusal from anything that prints.
    pub fn refused(error: impl fmt::Display) -> Self {
        Self::Refused(error.to_string())
    }
}

impl fmt::Display for AppError {
    /// One line: line breaks inside a cause would look like several errors, and paths and causes are
    /// texts from elsewhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) | Self::Input(text) | Self::Refused(text) | Self::Interrupted(text) => {
                f.write_str(&escaped(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            Self::ClosedPipe => Ok(()),
        }
    }
}

/// Ends the program for what clap said of `args`: help and version as they are, an error in one line.
pub fn usage(error: &clap::Error, args: &[String]) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        // Nobody is left to tell where standard output is closed.
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    let what = one_line(&error.to_string());
    let line = match suggest::for_command_line(args) {
        // Clap's own tip takes the program's option for a value of ours.
        Some(hint) => format!("{}; {hint}", what.split(" tip: ").next().unwrap_or_default()),
        None => format!("{what}; see --help"),
    };
    output::tell(&format!("threadwise: {}", escaped(&line)));
    ExitCode::from(2)
}

/// What is wrong and clap's tips, without the usage and without the pointer to the help.
fn one_line(text: &str) -> String {
    let kept = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let joined = kept.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_says_becomes_one_line() {
        let text = "error: unexpected argument '--foo' found\n\n  tip: a similar argument exists: '--for'\n\n\
                    Usage: threadwise run\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "unexpected argument '--foo' found tip: a similar argument exists: '--for'"
        );
    }

    #[test]
    fn errors_of_several_lines_are_printed_as_one() {
        assert_eq!(AppError::Failed("a\n  b".into()).to_string(), "a b");
    }
}
