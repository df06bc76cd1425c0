//! Errors of fleets as those of the program.

use crate::error::AppError;
use threadwise_fleet::FleetError;

/// An error with its exit code: what was wrong with an input is 2, what may pass 3, the rest 1.
pub fn app_error(error: FleetError) -> AppError {
    match &error {
        FleetError::At { .. } | FleetError::Broken { .. } => AppError::input(error),
        FleetError::Refused(_) => AppError::refused(error),
        FleetError::File { .. } | FleetError::Engine { .. } | FleetError::Failed(_) => {
            AppError::failed(error)
        }
    }
}
