//! Errors of this engine as [`EngineError`]: one line each, with what to do next, and never with a
//! password: texts of the client library and of the server are passed on only if they cannot contain one.

use postgres::error::SqlState;
use std::error::Error as _;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::Statement;

/// Name of the engine.
pub const ENGINE: &str = "postgres";

/// The error for a failed action.
pub fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: ENGINE.into(), action: action.into(), why: one_line(&why.to_string()) }
}

/// The error for an unknown or impossible option.
pub fn refuse(option: impl Into<String>, why: impl Into<String>) -> EngineError {
    EngineError::Option { option: option.into(), why: why.into() }
}

/// The error of a statement: the server's message with its SQLSTATE and, if known, what to do next.
pub fn query(action: impl Into<String>, cause: &postgres::Error) -> EngineError {
    failed(action, server_message(cause))
}

/// The message of the server or the client library, in one line.
pub fn server_message(cause: &postgres::Error) -> String {
    let Some(error) = cause.as_db_error() else {
        let source = cause.source().map(|source| format!(": {source}")).unwrap_or_default();
        let advice = match cause.is_closed() || is_io(cause) {
            true => "; the server ended or closed the connection: its log says why",
            false => "",
        };
        return format!("{cause}{source}{advice}");
    };
    let advice = advice(error.code()).map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{} (SQLSTATE {}){advice}", error.message(), error.code().code())
}

fn is_io(cause: &postgres::Error) -> bool {
    cause.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// Advice for an error of this class (PostgreSQL documentation, appendix A).
fn advice(code: &SqlState) -> Option<&'static str> {
    let code = code.clone();
    let known = [
        (SqlState::DISK_FULL, "free space on the server's disk, or use less data"),
        (SqlState::OUT_OF_MEMORY, "the server is out of memory: use less data or fewer sessions"),
        (SqlState::TOO_MANY_CONNECTIONS, "raise max_connections or use fewer sessions"),
        (
            SqlState::READ_ONLY_SQL_TRANSACTION,
            "the server or this user is read-only: name a primary and a user that may write",
        ),
        (SqlState::INSUFFICIENT_PRIVILEGE, "GRANT CREATE ON DATABASE … TO this user, or name another user"),
        (SqlState::CONFIGURATION_LIMIT_EXCEEDED, "raise spill_limit_mb, or settings.work_mem to spill less"),
        (SqlState::ADMIN_SHUTDOWN, "the server was stopped: start it again"),
        (SqlState::CRASH_SHUTDOWN, "a process of the server crashed: its log says which"),
    ];
    known.into_iter().find(|(known, _)| *known == code).map(|(_, advice)| advice)
}

/// The error of a COPY: the server's own message, if an error of the server ended the stream.
pub(crate) fn copy_failed(action: &str, cause: &std::io::Error) -> EngineError {
    match cause.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
        Some(inner) => query(action, inner),
        None => failed(action, cause.source().map_or_else(|| cause.to_string(), ToString::to_string)),
    }
}

/// An error of a statement of the file.
pub(crate) fn explain(statement: &Statement, cause: &postgres::Error) -> EngineError {
    let action = format!("execute {}", statement.place);
    match cause.code() {
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            let words = cause.as_db_error().map_or("it writes", |error| error.message());
            failed(action, format!("{words}; --may-write DATABASE lets transactions write"))
        }
        _ => failed(action, server_message(cause)),
    }
}

/// Messages of servers may span lines.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_operating_system_says_stands_alone() {
        let message = copy_failed("load table x", &std::io::Error::other("no room")).to_string();
        assert_eq!(message, "postgres could not load table x: no room");
    }
}
