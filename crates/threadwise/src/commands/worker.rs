//! `threadwise worker` and `threadwise janitor`: the processes that `run` starts.

use crate::cli::{JanitorArgs, WorkerArgs};
use crate::engines;
use crate::error::AppError;
use threadwise_engine::worker;

/// Serves one engine over the worker protocol until stdin ends.
pub fn worker(args: &WorkerArgs) -> Result<(), AppError> {
    let replies = worker::reply_from_environment().map_err(AppError::input)?;
    worker::run(engines::all(), &args.engine, std::io::stdin().lock(), replies).map_err(AppError::failed)
}

/// Waits for the end of stdin, then removes the folder if it is threadwise's own.
pub fn janitor(args: &JanitorArgs) -> Result<(), AppError> {
    threadwise_runner::janitor(&args.folder, &engines::started_programs(), &mut std::io::stdin().lock())
        .map_err(AppError::failed)
}
