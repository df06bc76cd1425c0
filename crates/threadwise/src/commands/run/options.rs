//! Whether the engine can follow the options of every treatment, before anything is made.

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

/// Has a built-in engine look at every treatment's options; others look when their data is made.
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

/// Has a worker look at every treatment's options, where the engine's workers can be asked before data is made.
///
/// # Errors
/// The first option that the engine refuses, or the worker does not work.
pub fn check_with_worker(study: &Study, program: &Program) -> Result<(), AppError> {
    let Some(args) = &program.check_args else { return Ok(()) };
    let asked = |treatment: &Treatment| Worker { args: args.clone(), ..program.worker_of(treatment).clone() };
    runner::check_options(study, &asked).map_err(|error| runner_error(&error))
}

/// An error by what its user wrote: the file of a transaction, or a line of a study definition.
fn explained(error: EngineError, args: &RunArgs) -> String {
    transaction::as_typed(&error, &args.transactions)
        .unwrap_or_else(|| format!("{}{error}", place(args.study.as_deref(), &error)))
}

/// `FILE:LINE: ` of the option that an engine refuses, where it stands in a study definition.
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
