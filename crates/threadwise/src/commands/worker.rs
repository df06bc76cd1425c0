//! `threadwise worker`: the process that `run` starts.

use crate::cli::WorkerArgs;
use crate::engines;
use crate::error::AppError;
use threadwise_engine::worker;

/// Serves one engine over the worker protocol until stdin ends.
pub fn worker(args: &WorkerArgs) -> Result<(), AppError> {
    let replies = worker::reply_from_environment().map_err(AppError::input)?;
    worker::run(engines::all(), &args.engine, std::io::stdin().lock(), replies).map_err(AppError::failed)
}
