//! Messages about a command line that cannot be read.

use crate::{output, suggest};
use std::process::ExitCode;
use threadwise_machine::text::escaped;

/// Ends the program with clap's message about `args`: help and version unchanged, an error in one line.
pub fn usage(error: &clap::Error, args: &[String]) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        // Standard output may be closed.
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    let what = one_line(&error.to_string());
    let line = match suggest::for_command_line(args) {
        // Clap's own tip mistakes the program's option for a value.
        Some(hint) => format!("{}; {hint}", what.split(" tip: ").next().unwrap_or_default()),
        None => format!("{what}; see --help"),
    };
    output::tell(&format!("threadwise: {}", escaped(&line)));
    ExitCode::from(2)
}

/// The error and clap's tips, without the usage and without the pointer to the help. Nor the tip to put `--` before it:
/// what follows `--` is a command.
fn one_line(text: &str) -> String {
    let kept = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("tip: to pass '");
    let joined = kept.map(str::trim).filter(is_said).collect::<Vec<_>>().join(" ");
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
        let text = "error: unexpected argument '-1' found\n\n  tip: to pass '-1' as a value, use '-- -1'\n\n\
                    Usage: threadwise run\n\nFor more information, try '--help'.\n";
        assert_eq!(one_line(text), "unexpected argument '-1' found");
    }
}
