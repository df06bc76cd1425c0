//! Versions of a recipe's programs, for the report.
//!
//! gbak prints its version with `-z`, followed by an error about missing file names; the others with `--version`.

use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_machine::text::one_line;

use crate::programs::Programs;
use crate::recipe::Kind;

/// One line: `work list: pg_dump (PostgreSQL) 15.18; …`. A program without a version is listed, too.
pub(crate) fn note(kind: Kind, programs: &Programs) -> Option<String> {
    let option = if kind == Kind::Firebird { "-z" } else { "--version" };
    let mut said: Vec<String> = programs
        .iter()
        .map(|(name, path)| line(path, option).unwrap_or_else(|| format!("{name} of an unknown version")))
        .collect();
    if kind == Kind::Sqlite {
        said.push(format!("SQLite {}", rusqlite::version()));
    }
    (!said.is_empty()).then(|| format!("work list: {}", said.join("; ")))
}

/// The first line of a program's output.
fn line(program: &Path, option: &str) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg(option).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(one_line(first, 100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn programs_tell_their_versions_and_a_silent_one_is_named() {
        let programs = Programs::from([
            ("true".to_owned(), PathBuf::from("/bin/true")),
            ("gone".to_owned(), PathBuf::from("/no/such/program")),
        ]);
        let note = note(Kind::Text, &programs).unwrap();
        assert!(note.contains("gone of an unknown version") && note.contains("coreutils"), "{note}");
        let sqlite = super::note(Kind::Sqlite, &Programs::new()).unwrap();
        assert!(sqlite.ends_with(rusqlite::version()), "{sqlite}");
        assert_eq!(super::note(Kind::Text, &Programs::new()), None);
    }
}
