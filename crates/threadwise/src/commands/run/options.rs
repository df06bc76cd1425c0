//! Checks each treatment's options with the engine, before anything is created.

use super::fault::runner_error;
use super::program::Program;
use super::transaction;
use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
use std::path::{Path, PathBuf};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_machine::given;
use threadwise_runner::{self as runner, Worker};
use threadwise_study::{Study, Treatment};

/// Checks every treatment's options with a built-in engine; others check them when their data is created.
///
/// # Errors
/// The first option that the engine refuses.
pub fn check(study: &Study, args: &RunArgs) -> Result<(), AppError> {
    let Some(engine) = engines::find(&study.engine) else { return Ok(()) };
    for treatment in &study.treatments {
        let request = LoadRequest {
            workload: study.workload.clone(),
            options: treatment.options.clone(),
            engine_options: study.engine_options_of(treatment),
            data_dir: PathBuf::new(),
            treatment: treatment.name.clone(),
            sessions: study.worker_sessions(treatment),
            seed: study.seed,
        };
        engine.check(&request).map_err(|error| AppError::Input(explained(error, args)))?;
    }
    Ok(())
}

/// Checks every treatment's options with a worker, if the engine's workers can do that before data is created.
///
/// # Errors
/// The first option that the engine refuses, or the worker fails.
pub fn check_with_worker(study: &Study, program: &Program) -> Result<(), AppError> {
    let Some(args) = &program.check_args else { return Ok(()) };
    let asked = |treatment: &Treatment| Worker { args: args.clone(), ..program.worker_of(treatment).clone() };
    runner::check_options(study, &asked).map_err(|error| runner_error(&error))
}

/// Prefixes an error with what the user wrote: the file of a transaction, or a line of a study definition.
fn explained(error: EngineError, args: &RunArgs) -> String {
    transaction::as_typed(&error, &args.transactions)
        .unwrap_or_else(|| format!("{}{error}", place(args.study.as_deref(), &error)))
}

/// `FILE:LINE: ` of a refused option, if it is in a study definition.
fn place(source: Option<&str>, error: &EngineError) -> String {
    let (Some(name), EngineError::Option { option, .. }) = (source, error) else { return String::new() };
    let text = if name.ends_with(".toml") {
        given::text(Path::new(name), given::TEXT_BYTES).unwrap_or_default()
    } else {
        String::new()
    };
    let key = |line: &str| line.split('=').next().is_some_and(|key| key.trim().trim_matches('"') == option);
    text.lines().position(key).map_or(String::new(), |line| format!("{name}:{}: ", line + 1))
}
