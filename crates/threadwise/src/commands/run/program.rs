//! The program that measures a study's engine, and the needs of a workload of queries.

use super::fault::runner_error;
use crate::commands::engine::{app_error, engines_of_user, python_of};
use crate::engines;
use crate::error::AppError;
use crate::suggest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use threadwise_python::{AnalyticsEngine, EngineInstallation, Engines, REFEREE, scripts};
use threadwise_runner::{Hello, QuerySettings, Settings, Worker, find_worker};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Study, Treatment, Workload};
use threadwise_tpch::{Dialect, TpchOptions, dataset};

/// The programs that measure.
pub struct Program {
    /// The engine's own.
    pub worker: Worker,
    /// Those of treatments that run another version of the engine, by name.
    pub others: BTreeMap<String, Worker>,
    /// The arguments of a worker that checks options before any data is created; built-in engines need no worker, and
    /// others check only when they load.
    pub check_args: Option<Vec<String>>,
    /// For a workload of queries.
    pub queries: Option<QuerySettings>,
    /// Versions of the engine in the order of their treatments, if known without starting the worker.
    pub versions: Vec<String>,
}

impl Program {
    /// The program of a treatment's workers.
    pub fn worker_of(&self, treatment: &Treatment) -> &Worker {
        self.others.get(&treatment.name).unwrap_or(&self.worker)
    }
}

/// Refuses a workload that the study's engine does not have, and invalid options of queries, whether it is installed or
/// not. External programs report what they support.
///
/// # Errors
/// What the engine supports, or the invalid option.
pub fn check_workload(study: &Study) -> Result<(), AppError> {
    for treatment in study.treatments.iter().filter(|_| study.workload == Workload::Tpch) {
        TpchOptions::read(&treatment.options).map_err(AppError::input)?;
    }
    let built_in = engines::find(&study.engine).map(|engine| engine.workloads());
    let embedded = || engines::embedded().find(|engine| engine.name == study.engine);
    let Some(can) = built_in.or_else(|| embedded().map(|engine| engine.workloads)) else { return Ok(()) };
    match can.contains(&study.workload) {
        true => Ok(()),
        false => Err(AppError::Input(format!(
            "engine {} has no workload {}: it has {}",
            study.engine,
            study.workload,
            Workload::list(can)
        ))),
    }
}

/// Finds the program of a study's engine.
///
/// # Errors
/// The engine is unknown or not installed, or does not support the workload.
pub fn find(study: &Study) -> Result<Program, AppError> {
    let is_tpch = study.workload == Workload::Tpch;
    let analytics = engines::embedded().find(|engine| engine.name == study.engine);
    let Some(engine) = analytics else {
        let worker = worker_of(&study.engine)?;
        let queries = is_tpch.then(|| referee(study)).transpose()?;
        let others = BTreeMap::new();
        return Ok(Program { worker, others, check_args: None, queries, versions: Vec::new() });
    };
    let (home, python) = (engines_of_user()?, python(study, &study.engine_options)?);
    let mut found: Vec<(Option<PathBuf>, EngineInstallation)> = Vec::new();
    let mut others = BTreeMap::new();
    for treatment in &study.treatments {
        let of_treatment = self::python(study, &study.engine_options_of(treatment))?;
        if found.iter().all(|(python, _)| *python != of_treatment) {
            let is_level = of_treatment != python;
            let one = if is_level {
                home.find_alone(engine.name, of_treatment.as_deref())
            } else {
                home.find(engine.name, of_treatment.as_deref())
            };
            found.push((of_treatment.clone(), one.map_err(app_error)?));
        }
        let is_first = |(python, _): &&(Option<PathBuf>, EngineInstallation)| *python == of_treatment;
        if let Some((_, other)) = found.iter().skip(1).find(is_first) {
            others.insert(treatment.name.clone(), worker(other));
        }
    }
    // After the engine itself: if both are missing, the user knows its name.
    let queries = Some(settings(&second(&home, engine, python.as_deref())?)?);
    let mut versions: Vec<String> = Vec::new();
    for (_, found) in &found {
        if !versions.contains(&found.version) {
            versions.push(found.version.clone());
        }
    }
    let Some((_, first)) = found.into_iter().next() else {
        return Err(AppError::Input("the study has no treatments".to_owned()));
    };
    Ok(Program { worker: worker(&first), others, check_args: Some(first.check_args()), queries, versions })
}

/// Properties of an engine; an external program reports its own.
///
/// # Errors
/// It is not an engine, or its worker fails.
pub fn properties(engine: &str) -> Result<Properties, AppError> {
    match engines::properties(engine) {
        Some(properties) => Ok(properties),
        None => hello(&worker_of(engine)?).map(|hello| hello.properties),
    }
}

/// Starts a worker to ask for its engine's properties.
///
/// # Errors
/// It fails.
pub fn hello(worker: &Worker) -> Result<Hello, AppError> {
    threadwise_runner::hello(&Settings::new(worker.clone())).map_err(|error| runner_error(&error))
}

/// The worker of an engine that is built in or on PATH.
fn worker_of(engine: &str) -> Result<Worker, AppError> {
    if let Some(apart) = engines::in_program(engine) {
        return apart.worker().map_err(AppError::Refused);
    }
    let program = std::env::current_exe()
        .map_err(|error| AppError::Failed(format!("cannot find the threadwise program: {error}")))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_worker(engine, engines::all(), &program, &path).map_err(|error| meant(runner_error(&error), engine))
}

/// Adds the most similar name to the error of an unknown engine.
fn meant(error: AppError, engine: &str) -> AppError {
    match (error, suggest::nearest(engine, &engines::names())) {
        (AppError::Input(why), Some(name)) => AppError::Input(format!("{why}; did you mean {name}?")),
        (error, _) => error,
    }
}

/// Refuses unknown engine options of these engines. The engines check options of the workload
/// ([`Program::check_args`]).
fn check_engine_options(study: &Study, options: &Options) -> Result<(), AppError> {
    let Some(name) = options.keys().find(|name| *name != "python") else { return Ok(()) };
    let why = "python is the only one; give the engine's own as --set settings.NAME=VALUE";
    Err(AppError::Input(format!("engine {} has no engine option {name}: {why}", study.engine)))
}

/// The reference engine for answers: of the same environment, or of threadwise's own if it belongs to another.
fn second(
    home: &Engines,
    engine: &AnalyticsEngine,
    python: Option<&Path>,
) -> Result<EngineInstallation, AppError> {
    let referee = threadwise_python::engine(engine.referee).map_err(app_error)?;
    let python = python.filter(|_| referee.requirements == engine.requirements);
    home.find(referee.name, python).map_err(app_error)
}

/// The needs of other engines: the data, and a second engine's answers.
fn referee(study: &Study) -> Result<QuerySettings, AppError> {
    let found = engines_of_user()?.find(REFEREE, None).map_err(|error| {
        let what = "generates the data and the answers to compare with";
        let why = format!("tpch on {} needs engine {REFEREE}, which {what}: {error}", study.engine);
        match app_error(error) {
            AppError::Input(_) => AppError::Input(why),
            _ => AppError::Refused(why),
        }
    })?;
    settings(&found)
}

fn settings(second: &EngineInstallation) -> Result<QuerySettings, AppError> {
    let value = |name: &str| std::env::var_os(name);
    let cache_root = dataset::cache_root(value("XDG_CACHE_HOME").as_deref(), value("HOME").as_deref());
    let cache_root = cache_root.ok_or_else(|| {
        AppError::Input(
            "there is no folder for data sets: set XDG_CACHE_HOME (or HOME) to an absolute path".to_owned(),
        )
    })?;
    let generator = second.generator.clone().ok_or_else(|| {
        let why = "has no data generator in its environment; report this";
        AppError::Failed(format!("engine {} {why}", second.engine.name))
    })?;
    let dialect = Dialect::named(second.engine.dialect);
    Ok(QuerySettings {
        cache_root,
        generator,
        python: second.python.clone(),
        cluster_script: second.tool(scripts::CLUSTER_BY_SHIPDATE),
        count_script: second.tool(scripts::COUNT_ROWS),
        referee: worker(second),
        referee_engine: second.engine.name.to_owned(),
        referee_dialect: dialect.unwrap_or(Dialect::DuckDb),
    })
}

fn worker(found: &EngineInstallation) -> Worker {
    Worker {
        program: found.python.clone(),
        args: found.args(),
        environment: Vec::new(),
        withheld: engines::variables(),
    }
}

/// The interpreter of the user's own environment, if given.
fn python(study: &Study, options: &Options) -> Result<Option<PathBuf>, AppError> {
    check_engine_options(study, options)?;
    python_of(&study.engine, options)
}
