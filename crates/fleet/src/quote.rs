//! Quoting for a POSIX shell (POSIX.1-2017, Shell Command Language, 2.2.2 Single-Quotes).

pub use threadwise_machine::text::shell_word as shell;

/// A command with its arguments, for a shell or for copying.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_what_was_meant() {
        for text in
            ["", "a b", "it's", "$(touch x)", "`x`", "a;b|c&d>e", "\"\\n\"", "*?[a]", "~", "#x", "größe"]
        {
            let script = format!("printf %s {}", shell(text));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text, "{script}");
        }
        assert_eq!(command(["sbatch", "--time=5", "a b"]), "sbatch --time=5 'a b'");
    }
}
