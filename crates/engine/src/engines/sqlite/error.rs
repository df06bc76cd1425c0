//! Failures of the engine, under its name.

use crate::EngineError;

/// Name of the engine.
pub(super) const NAME: &str = "sqlite";

pub(super) fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: NAME.into(), action: action.into(), why: why.to_string() }
}
