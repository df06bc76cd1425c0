//! Failures of the engine, under its name, and answers that differ.

use super::table::Content;
use crate::EngineError;

pub(super) fn failed(action: &str, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: "native".into(), action: action.into(), why: why.to_string() }
}

/// Compares what is stored with what the sessions report.
///
/// # Errors
/// They differ: a wrong answer, with both.
pub(super) fn agree(what: &str, found: Content, reported: Content) -> Result<(), EngineError> {
    if found == reported {
        return Ok(());
    }
    Err(EngineError::WrongAnswer(format!(
        "{what}: {} rows with key sum {} instead of {} rows with key sum {}",
        found.rows, found.key_sum, reported.rows, reported.key_sum
    )))
}
