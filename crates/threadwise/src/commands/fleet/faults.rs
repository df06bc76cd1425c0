//! Errors of fleets as those of the program.

use crate::error::AppError;
use threadwise_fleet::FleetError;

/// An error with its exit code: 2 for bad input, 3 for what may pass, 1 for the rest.
pub fn app_error(error: FleetError) -> AppError {
    match &error {
        FleetError::At { .. } | FleetError::Broken { .. } => AppError::input(error),
        FleetError::Refused(_) => AppError::refused(error),
        FleetError::File { .. } | FleetError::Engine { .. } | FleetError::Failed(_) => {
            AppError::failed(error)
        }
    }
}
