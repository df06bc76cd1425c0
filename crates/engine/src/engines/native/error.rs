//! Failures of the engine, under its name.

use crate::EngineError;

pub(super) fn failed(action: &str, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: "native".into(), action: action.into(), why: why.to_string() }
}
