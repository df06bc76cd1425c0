//! Failures of the engine, under its name.

use crate::EngineError;

/// Name of the engine.
pub const NAME: &str = "command";

pub(super) fn failed(action: &str, why: &str) -> EngineError {
    EngineError::Failed { engine: NAME.into(), action: action.to_owned(), why: why.to_owned() }
}
