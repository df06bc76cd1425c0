//! `threadwise engine`: adds, lists and removes engines that come as Python packages.

use crate::commands;
use crate::error::AppError;
use crate::output;
use clap::{Args, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use threadwise_python::engine::ANALYTICS;
use threadwise_python::folder::{Status, data_home};
use threadwise_python::requirements::Requirements;
use threadwise_python::{Add, Added, AnalyticsEngine, AnalyticsError, Complete, Engines, EnvironmentState};
use threadwise_python::{engine, environments, known, programs};
use threadwise_report::json::{self, EngineEntry};
use threadwise_study::{OptionValue, Options};

/// Arguments of `engine`.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// The command
    #[command(subcommand)]
    pub action: EngineAction,
}

/// The subcommands of `engine`.
#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Install an analytics engine for this user: pinned Python packages in an environment of their own
    Add(EngineAddArgs),
    /// Show which of these engines are installed, and programs threadwise-engine-NAME on PATH
    List(EngineListArgs),
    /// Remove these environments and everything in them
    Remove(EngineRemoveArgs),
}

/// Arguments of `engine add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise engine add duckdb
  threadwise engine add duckdb --python /opt/python3.13/bin/python3
  threadwise engine add --print-requirements > requirements.txt
  threadwise engine add duckdb --wheels wheels      without internet

One environment serves duckdb and datafusion, since each checks the other's answers, and it holds the
generator of all data. It is in $XDG_DATA_HOME/threadwise/engines/analytics (default ~/.local/share)
and takes about 400 MiB. Other engines have an environment of their own beside it, and need that one
too, for their data and the answers to compare with: both are created. Nothing outside threadwise's
folder is touched. Every file is checked against a pinned SHA-256 before it is installed.
pip's settings (PIP_*, pip.conf, https_proxy) are respected.

Without internet: print the requirements, and on a machine with internet run
  pip download --require-hashes --only-binary=:all: --no-deps -r requirements.txt -d wheels
with the same Python version and processor architecture, or with those in the printed text.")]
pub struct EngineAddArgs {
    /// The engine, such as duckdb; `threadwise engine list` shows all
    #[arg(value_name = "NAME", required_unless_present = "print_requirements")]
    pub name: Option<String>,
    /// Python to create the environment with, as a path or a name on PATH [default: the first suitable one
    /// of python3, python3.14, … python3.11]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<OsString>,
    /// Use only packages from this folder, and no network
    #[arg(long, value_name = "DIR")]
    pub wheels: Option<PathBuf>,
    /// Create the environment again if it exists
    #[arg(long)]
    pub force: bool,
    /// Print the pinned packages of the engine's environment (without NAME: of the shared one) with their
    /// hashes and how to download them for --wheels, and stop
    #[arg(long, conflicts_with_all = ["python", "wheels", "force"])]
    pub print_requirements: bool,
}

/// Arguments of `engine list`.
#[derive(Debug, Args)]
pub struct EngineListArgs {
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `engine remove`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise engine remove
  threadwise engine remove duckdb      and engines that share its environment

Remove them while no study runs on these engines: their workers need the environment.")]
pub struct EngineRemoveArgs {
    /// The engine whose environment to remove, with all engines that share it [default: all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

pub fn engine_command(args: &EngineArgs) -> Result<(), AppError> {
    match &args.action {
        EngineAction::Add(args) => add(args),
        EngineAction::List(args) => list(args),
        EngineAction::Remove(args) => remove(args),
    }
}

/// The engines in this user's data folder.
pub fn engines_of_user() -> Result<Engines, AppError> {
    let home = data_home(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME")).map_err(app_error)?;
    Engines::open(&home).map_err(app_error)
}

/// The interpreter in an engine option: that of an environment of the user's own.
pub fn python_of(engine: &str, options: &Options) -> Result<Option<PathBuf>, AppError> {
    match options.get("python") {
        None => Ok(None),
        Some(OptionValue::Text(path)) if Path::new(path).is_absolute() => Ok(Some(PathBuf::from(path))),
        Some(other) => {
            let why = "give the absolute path of an environment's Python, such as /opt/venv/bin/python";
            Err(AppError::Input(format!("engine {engine}, option python={other}: {why}")))
        }
    }
}

/// The program error for an error of these engines.
pub fn app_error(error: AnalyticsError) -> AppError {
    match error {
        AnalyticsError::Unknown { .. } | AnalyticsError::Input(_) => AppError::input(error),
        AnalyticsError::Stopped => AppError::Interrupted(error.to_string()),
        AnalyticsError::Install(_) | AnalyticsError::Io { .. } => AppError::failed(error),
        _ => AppError::refused(error),
    }
}

fn add(args: &EngineAddArgs) -> Result<(), AppError> {
    let named = args.name.as_deref().map(engine).transpose().map_err(app_error)?;
    let Some(engine) = named.filter(|_| !args.print_requirements) else {
        return output::print(named.map_or(&ANALYTICS, |engine| engine.requirements).text);
    };
    let engines = engines_of_user()?;
    let stop = commands::stop_flag()?;
    let path = path();
    let how = Add {
        python: args.python.as_deref(),
        wheels: args.wheels.as_deref(),
        force: args.force,
        path: &path,
    };
    let added = engines.add(engine.name, &how, &stop, &mut output::tell).map_err(app_error)?;
    output::print(&added.iter().map(line).collect::<String>())
}

/// The message about an environment after `add`.
fn line(added: &Added) -> String {
    let (versions, folder) = (versions(&added.complete), added.folder.display());
    match added.was_there {
        true => format!("{versions}: already in {folder} (--force creates it again)\n"),
        false => format!("{versions}: ready in {folder}\n"),
    }
}

/// `duckdb 2.0.0, datafusion 55.0.0, … (Python 3.12.1)`: engines first.
fn versions(complete: &Complete) -> String {
    let is_engine = |name: &str| known().iter().any(|engine| engine.package == name);
    let engines = known().iter().filter_map(|one| Some((one.package, complete.version(one.package)?)));
    let others = complete.packages.iter().map(|(name, version)| (name.as_str(), version.as_str()));
    let all = engines.chain(others.filter(|(name, _)| !is_engine(name)));
    let list = all.map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ");
    format!("{list} (Python {})", complete.python)
}

fn list(args: &EngineListArgs) -> Result<(), AppError> {
    let engines = engines_of_user()?;
    let look = |one| Ok((engines.status(one)?, serves(one)));
    let ours: Result<Vec<(Status, Vec<&AnalyticsEngine>)>, AnalyticsError> =
        environments().map(look).collect();
    let ours = ours.map_err(app_error)?;
    let others: Vec<EngineEntry> = programs::external(&path()).into_iter().map(external).collect();
    if args.json {
        let entries_of = |(status, engines): &(Status, Vec<&AnalyticsEngine>)| {
            engines.iter().map(|engine| entry(engine, status)).collect::<Vec<_>>()
        };
        let entries: Vec<EngineEntry> = ours.iter().flat_map(entries_of).chain(others).collect();
        return output::print(&format!("{}\n", json::engines(&entries)));
    }
    let mut text = "engines on Python packages\n".to_owned();
    for (status, engines) in &ours {
        text.push_str(&environment_text(status, engines));
    }
    if !others.is_empty() {
        text.push_str("\nprograms threadwise-engine-NAME on PATH\n");
    }
    for entry in others {
        text.push_str(&format!("  {:<16} {}\n", entry.name, entry.path));
    }
    output::print(&text)
}

/// The engines of an environment.
fn serves(environment: &Requirements) -> Vec<&'static AnalyticsEngine> {
    known().iter().filter(|engine| engine.requirements == environment).collect()
}

fn external((name, program): (String, PathBuf)) -> EngineEntry {
    EngineEntry {
        name,
        kind: "program".to_owned(),
        state: "ready".to_owned(),
        path: program.display().to_string(),
        ..EngineEntry::default()
    }
}

fn entry(engine: &AnalyticsEngine, status: &Status) -> EngineEntry {
    let (state, why, complete) = match &status.state {
        EnvironmentState::Ready(complete) => ("ready", None, Some(complete)),
        EnvironmentState::Absent => ("not installed", None, None),
        EnvironmentState::Incomplete(why) => ("incomplete", Some(why.clone()), None),
        EnvironmentState::Outdated(complete) => {
            ("outdated", Some("this threadwise pins other packages".to_owned()), Some(complete))
        }
        EnvironmentState::Foreign => {
            let error = AnalyticsError::Foreign { folder: status.folder.clone() };
            ("foreign", Some(error.to_string()), None)
        }
    };
    let can_add = !matches!(status.state, EnvironmentState::Ready(_) | EnvironmentState::Foreign);
    EngineEntry {
        name: engine.name.to_owned(),
        kind: "environment".to_owned(),
        state: state.to_owned(),
        why,
        remedy: can_add.then(|| format!("threadwise engine add {}", engine.name)),
        version: complete.and_then(|complete| complete.version(engine.package)).map(str::to_owned),
        python: complete.map(|complete| complete.python.clone()),
        packages: complete.into_iter().flat_map(|complete| complete.packages.clone()).collect(),
        path: status.folder.display().to_string(),
        size_bytes: status.size_bytes,
    }
}

fn environment_text(status: &Status, engines: &[&AnalyticsEngine]) -> String {
    let mut text = String::new();
    for entry in engines.iter().map(|engine| entry(engine, status)) {
        let parts = [
            Some(entry.state.clone()),
            entry.version.clone(),
            entry.why.as_ref().map(|why| format!("({why})")),
        ];
        let state = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let remedy = entry.remedy.as_ref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
        text.push_str(&format!("  {:<16} {state}{remedy}\n", entry.name));
    }
    if let Some(bytes) = status.size_bytes {
        text.push_str(&format!("  {:<16} {}, {} MiB\n", "in", status.folder.display(), bytes >> 20));
    }
    if let EnvironmentState::Ready(complete) | EnvironmentState::Outdated(complete) = &status.state {
        text.push_str(&format!("  {:<16} {}\n", "with", versions(complete)));
    }
    text
}

fn remove(args: &EngineRemoveArgs) -> Result<(), AppError> {
    let named = args.name.as_deref().map(engine).transpose().map_err(app_error)?;
    let engines = engines_of_user()?;
    let (mut removed, mut absent) = (String::new(), String::new());
    for one in environments().filter(|one| named.is_none_or(|engine| engine.requirements == *one)) {
        let folder = engines.status(one).map_err(app_error)?.folder;
        let names: Vec<&str> = serves(one).iter().map(|engine| engine.name).collect();
        match engines.remove(one).map_err(app_error)? {
            true => {
                removed += &format!("removed {}, which served {}\n", folder.display(), names.join(" and "))
            }
            false => absent += &format!("nothing to remove: {} does not exist\n", folder.display()),
        }
    }
    output::print(if removed.is_empty() { &absent } else { &removed })
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("").to_owned())
}
