//! `threadwise worklist-run` and `threadwise worklist-sqlite`: the processes of work lists.

use super::stop_flag;
use crate::error::AppError;
use crate::output;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use threadwise_worklist::work::{self, WorkError};
use threadwise_worklist::{plan, sqlite};

/// Arguments of `worklist-run`.
#[derive(Debug, Args)]
pub struct WorklistRunArgs {
    /// The plan, a JSON file
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
}

/// Arguments of `worklist-sqlite`.
#[derive(Debug, Args)]
pub struct WorklistSqliteArgs {
    /// The step.
    #[command(subcommand)]
    pub step: SqliteStep,
}

/// Steps of the recipe `sqlite`.
#[derive(Debug, Subcommand)]
pub enum SqliteStep {
    /// Write a new database with everything of another rebuilt
    VacuumInto {
        /// The original, opened for reading
        from: PathBuf,
        /// The new file, which must not exist
        to: PathBuf,
    },
    /// Run SQLite's integrity check
    IntegrityCheck {
        /// The database, opened for reading
        file: PathBuf,
    },
}

/// Runs a plan and prints its summary as one line of JSON.
pub fn run(args: &WorklistRunArgs) -> Result<(), AppError> {
    let stop = stop_flag()?;
    let asked = work::read(&args.plan).map_err(AppError::input)?;
    let done = work::run(&asked, &stop).map_err(|error| match error {
        WorkError::Stopped { .. } => AppError::Interrupted(error.to_string()),
        WorkError::Refused(_) => AppError::input(error),
        _ => AppError::failed(error),
    })?;
    let line = plan::line(&done.summary).map_err(AppError::failed)?;
    output::print(&format!("{line}\n"))?;
    match work::failures(&asked, &done.spans) {
        None => Ok(()),
        Some(failed) => Err(AppError::Failed(failed)),
    }
}

/// Runs one step of the recipe `sqlite`.
pub fn sqlite(args: &WorklistSqliteArgs) -> Result<(), AppError> {
    let did = match &args.step {
        SqliteStep::VacuumInto { from, to } => sqlite::vacuum_into(from, to),
        SqliteStep::IntegrityCheck { file } => sqlite::integrity_check(file),
    };
    did.map_err(AppError::failed)
}
