//! Errors of the client library and of the server, as one line that says what to do next.
//!
//! Source of the numbers: "Database engine events and errors" of the SQL Server documentation. Error texts of the
//! server never contain a password.

use threadwise_engine::EngineError;
use tiberius::error::Error;

use crate::failed;

/// The error of a statement.
pub(crate) fn query(action: impl Into<String>, cause: &Error) -> EngineError {
    failed(action, advice(cause))
}

/// The cause, with what to do next if that is known.
pub(crate) fn advice(cause: &Error) -> String {
    match cause {
        Error::Server(token) => {
            let said = format!("{} (error {})", one_line(token.message()), token.code());
            match hint(token.code()) {
                Some(hint) => format!("{said}; {hint}"),
                None => said,
            }
        }
        Error::Io { kind, message } => {
            format!(
                "the connection broke ({kind:?}: {}); the server's log says why it ended",
                one_line(message)
            )
        }
        other => one_line(&other.to_string()),
    }
}

/// The number of a server's error.
pub(crate) fn code(cause: &Error) -> Option<u32> {
    match cause {
        Error::Server(token) => Some(token.code()),
        _ => None,
    }
}

/// What to do about an error, by its number.
fn hint(code: u32) -> Option<&'static str> {
    Some(match code {
        229 | 230 | 262 | 297 | 300 | 916 | 1088 | 2557 | 2760 | 5011 | 15151 | 15247 => {
            "the login lacks the right: GRANT it, or give another login (sqlserver://user@host); threadwise check \
             lists what is needed"
        }
        701 | 802 | 8645 | 41805 | 41822 | 41823 => "the server has no memory left: use less data",
        1101 | 1105 | 3257 | 5149 | 9002 => "no space is left: free some, or use less data",
        1205 => {
            "another session held what this one needed, and the server ended this one to break the deadlock"
        }
        1222 => "another session holds the lock: end its transaction, or wait",
        3906 | 3908 | 15281 => {
            "the database is read-only or closed to writes: connect to one that accepts writes"
        }
        10928 | 10936 | 17809 | 17810 => "the server accepts no more connections: run fewer sessions",
        _ => return None,
    })
}

pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_is_one_line_with_what_to_do() {
        let broken = Error::Io { kind: std::io::ErrorKind::UnexpectedEof, message: "early\n eof".into() };
        let message = query("load", &broken).to_string();
        assert_eq!(
            message,
            "sqlserver could not load: the connection broke (UnexpectedEof: early eof); the server's log says why it \
             ended"
        );
        assert_eq!(code(&broken), None);
        for (number, part) in [(9002, "space"), (1205, "deadlock"), (229, "GRANT"), (41805, "memory")] {
            assert!(hint(number).is_some_and(|hint| hint.contains(part)), "{number}");
        }
        assert_eq!(hint(102), None);
    }
}
