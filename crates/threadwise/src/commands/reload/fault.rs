//! The exit code of what a reload could not do.

use crate::error::AppError;
use threadwise_reload::error::ReloadError;

/// An error of `reload` by its exit code.
pub fn app_error(error: ReloadError) -> AppError {
    match error {
        ReloadError::List { .. } | ReloadError::Log { .. } | ReloadError::Option(_) => AppError::input(error),
        ReloadError::Engine(_) => AppError::refused(error),
        ReloadError::Watchdog { .. } => AppError::failed(error),
    }
}
