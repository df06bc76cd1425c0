//! Exit codes of reload errors.

use crate::error::AppError;
use threadwise_reload::error::ReloadError;

/// The program error for an error of `reload`.
pub fn app_error(error: ReloadError) -> AppError {
    match error {
        ReloadError::List { .. } | ReloadError::Log { .. } | ReloadError::Option(_) => AppError::input(error),
        ReloadError::Engine(_) => AppError::refused(error),
        ReloadError::Watchdog { .. } => AppError::failed(error),
    }
}
