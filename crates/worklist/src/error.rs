//! Errors of this engine as [`EngineError`]: one line each, with what to do next.

use std::fmt::Display;
use threadwise_engine::EngineError;

/// Name of the engine.
pub const ENGINE: &str = "worklist";

/// The error for a failed action.
pub(crate) fn failed(action: impl Into<String>, why: impl Display) -> EngineError {
    let why = why.to_string().lines().map(str::trim).collect::<Vec<_>>().join("; ");
    EngineError::Failed { engine: ENGINE.into(), action: action.into(), why }
}

/// The error for an unknown or impossible option.
pub(crate) fn refuse(option: &str, why: impl Into<String>) -> EngineError {
    EngineError::Option { option: option.to_owned(), why: why.into() }
}
