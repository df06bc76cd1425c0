//! Errors of Firebird and of this engine, as one line.

use std::path::Path;
use threadwise_engine::EngineError;

/// Name of the engine.
pub(crate) const ENGINE: &str = "firebird";

/// An error of this engine: what could not be done, and why.
pub(crate) fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: ENGINE.into(), action: action.into(), why: why.to_string() }
}

/// An error of the file system.
pub(crate) fn io_error(action: &str, path: &Path, cause: &std::io::Error) -> EngineError {
    let hint = match cause.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "; free some space, choose another folder or less data"
        }
        _ => "",
    };
    failed(format!("{action} {}", path.display()), format!("{cause}{hint}"))
}

/// Prefixes of isql's lines that do not name the cause.
const NOISE: [&str; 2] = ["Statement failed, SQLSTATE", "After line "];

/// isql's error message as one line, with what to do next if that is known.
pub(crate) fn words(said: &str) -> String {
    let lines = said.lines().map(|line| line.trim().trim_start_matches('-').trim());
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise))).collect();
    let words = lines[..lines.len().min(5)].join("; ");
    // Both come with "I/O error during write": of the kernel ENOSPC, of a quota EDQUOT.
    match ["No space left", "quota exceeded"].iter().any(|sign| said.contains(sign)) {
        true => format!("{words}; free some space, choose another folder or less data"),
        false if words.is_empty() => "it wrote no error".to_owned(),
        false => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_isql_said_is_one_line() {
        let said = "\nStatement failed, SQLSTATE = 42S02\nDynamic SQL Error\n-SQL error code = -204\n\
                    -Table unknown\n-Y\nAfter line 2 in file x\n";
        assert_eq!(words(said), "Dynamic SQL Error; SQL error code = -204; Table unknown; Y");
        assert_eq!(words("Statement failed, SQLSTATE = 08001\n"), "it wrote no error");
        assert!(words("I/O error during \"write\"\n-No space left on device").ends_with("less data"));
    }
}
