//! Errors of the client library and of the server, as one line that says what to do next.
//!
//! Source of the numbers: MariaDB Error Codes (mariadb.com/kb/en/mariadb-error-codes). Error texts of the server never
//! contain a password, at most names and "using password: YES".

use mysql::{DriverError, Error};

/// The cause, with what to do next if that is known.
pub(crate) fn advice(cause: &Error) -> String {
    match cause {
        Error::MySqlError(error) => {
            let said = format!("{} ({})", one_line(&error.message), error.code);
            match hint(error.code) {
                Some(hint) => format!("{said}; {hint}"),
                None => said,
            }
        }
        Error::IoError(cause) => broken(cause),
        Error::CodecError(cause) => broken(cause),
        Error::DriverError(DriverError::UnknownAuthPlugin(plugin)) => format!(
            "the account logs in by '{plugin}', which this client does not support; make an account with a \
             password (IDENTIFIED BY)"
        ),
        other => one_line(&other.to_string()),
    }
}

fn broken(cause: &dyn std::fmt::Display) -> String {
    format!("the connection broke: {cause}; the server's log says why it ended")
}

/// The number of a server's error.
pub(crate) fn code(cause: &Error) -> Option<u16> {
    match cause {
        Error::MySqlError(error) => Some(error.code),
        _ => None,
    }
}

/// What to do about an error, by its number.
fn hint(code: u16) -> Option<&'static str> {
    Some(match code {
        1021 | 1114 | 1041 => "no space is left: free some, or use less data",
        1040 | 1203 => "raise max_connections, or run fewer sessions",
        1044 | 1142 | 1143 | 1227 | 1370 => {
            "the account lacks the right: GRANT it, or give another account (user@host in the address)"
        }
        1290 | 1836 => "the server is read-only: connect to one that accepts writes",
        1205 => "another session holds the lock: end its transaction, or wait",
        1792 => "it writes: --may-write DATABASE lets transactions write",
        _ => return None,
    })
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::MARIADB;

    fn server(code: u16, message: &str) -> Error {
        Error::MySqlError(mysql::MySqlError { state: "HY000".into(), message: message.into(), code })
    }

    #[test]
    fn errors_are_one_line_with_what_to_do() {
        let full = MARIADB.query("load", &server(1114, "The table 'x'\n is full")).to_string();
        assert_eq!(
            full,
            "mariadb could not load: The table 'x' is full (1114); no space is left: free some, or use less data"
        );
        assert!(!MARIADB.query("read", &server(1064, "syntax")).to_string().contains(';'));
        let plugin = Error::DriverError(DriverError::UnknownAuthPlugin("unix_socket".into()));
        assert!(advice(&plugin).contains("'unix_socket'"));
        assert_eq!((code(&server(1045, "")), code(&plugin)), (Some(1045), None));
    }
}
