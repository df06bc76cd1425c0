//! Exit codes of runner errors.

use crate::error::AppError;
use threadwise_runner::RunnerError;
use threadwise_smt::SmtError;

/// The program error for a runner's error.
pub fn runner_error(error: &RunnerError) -> AppError {
    match error {
        RunnerError::Refused(_)
        | RunnerError::Switch(SmtError::Refused(_) | SmtError::InUse { .. } | SmtError::Switched { .. }) => {
            AppError::refused(error)
        }
        RunnerError::NoEngine { .. }
        | RunnerError::Option { .. }
        | RunnerError::Plan(_)
        | RunnerError::Workdir { .. } => AppError::input(error),
        RunnerError::Stopped => AppError::Interrupted(error.to_string()),
        _ => AppError::failed(error),
    }
}
