//! `threadwise engine`: adds, lists and removes engines that run on their own Python packages.

use crate::commands;
use crate::error::AppError;
use crate::output;
use clap::{Args, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use threadwise_python::folder::{Status, data_home};
use threadwise_python::{Add, AnalyticsEngine, AnalyticsError, Complete, Engines, State};
use threadwise_python::{engine, known, programs, requirements};
use threadwise_report::json::{self, EngineEntry};

/// Arguments of `engine`.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// What to do
    #[command(subcommand)]
    pub action: EngineAction,
}

/// The subcommands of `engine`.
#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Install DuckDB and DataFusion for this user: pinned Python packages in an environment of our own
    Add(EngineAddArgs),
    /// Show which of these engines are here, and programs threadwise-engine-NAME on PATH
    List(EngineListArgs),
    /// Remove that environment and everything in it
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

One environment serves both engines, since each checks the other's answers, and it holds the
generator of their data. It lies in $XDG_DATA_HOME/threadwise/engines/analytics (else in
~/.local/share), takes about 400 MiB, and nothing outside of threadwise's folder is touched. Every
file is checked against a pinned SHA-256 before it is installed. pip's settings (PIP_*, pip.conf,
https_proxy) are respected.

Without internet: print the requirements, and on a machine that has it
  pip download --require-hashes --only-binary=:all: --no-deps -r requirements.txt -d wheels
with the same Python version and kind of processor, or with those given as the printed text says.")]
pub struct EngineAddArgs {
    /// The engine: duckdb or datafusion
    #[arg(value_name = "NAME", required_unless_present = "print_requirements")]
    pub name: Option<String>,
    /// Python to make the environment with, as a path or a name on PATH [default: the first that fits
    /// of python3, python3.14, … python3.11]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<OsString>,
    /// Take the packages from this folder alone, and nothing from the network
    #[arg(long, value_name = "DIR")]
    pub wheels: Option<PathBuf>,
    /// Make the environment anew although it is there
    #[arg(long)]
    pub force: bool,
    /// Print the pinned packages with their hashes and how to fetch them for --wheels, and stop
    #[arg(long, conflicts_with_all = ["name", "python", "wheels", "force"])]
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

Do it while no study runs on these engines: their workers need the environment.")]
pub struct EngineRemoveArgs {
    /// The engine; all of them share one environment, which is removed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Adds, lists or removes.
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

/// The exit code class of an error of these engines.
pub fn app_error(error: AnalyticsError) -> AppError {
    match error {
        AnalyticsError::Unknown { .. } | AnalyticsError::Input(_) => AppError::input(error),
        AnalyticsError::Stopped => AppError::Interrupted(error.to_string()),
        AnalyticsError::Install(_) | AnalyticsError::Io { .. } => AppError::failed(error),
        _ => AppError::refused(error),
    }
}

fn add(args: &EngineAddArgs) -> Result<(), AppError> {
    let Some(name) = args.name.as_deref().filter(|_| !args.print_requirements) else {
        return output::print(requirements::TEXT);
    };
    engine(name).map_err(app_error)?;
    let engines = engines_of_user()?;
    let stop = commands::stop_flag()?;
    let path = path();
    let how = Add {
        python: args.python.as_deref(),
        wheels: args.wheels.as_deref(),
        force: args.force,
        path: &path,
    };
    let added = engines.add(name, &how, &stop, &mut output::tell).map_err(app_error)?;
    let folder = added.folder.display();
    let versions = versions(&added.complete);
    match added.was_there {
        true => output::print(&format!("{versions}: already in {folder} (--force makes it anew)\n")),
        false => output::print(&format!("{versions}: ready in {folder}\n")),
    }
}

/// `duckdb 2.0.0, datafusion 55.0.0, … (Python 3.12.1)`: engines first.
fn versions(complete: &Complete) -> String {
    let is_engine = |name: &str| known().iter().any(|engine| engine.name == name);
    let engines = known().iter().filter_map(|one| Some((one.name, complete.version(one.name)?)));
    let others = complete.packages.iter().map(|(name, version)| (name.as_str(), version.as_str()));
    let all = engines.chain(others.filter(|(name, _)| !is_engine(name)));
    let list = all.map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ");
    format!("{list} (Python {})", complete.python)
}

fn list(args: &EngineListArgs) -> Result<(), AppError> {
    let status = engines_of_user()?.status().map_err(app_error)?;
    let mut entries: Vec<EngineEntry> = known().iter().map(|one| entry(one, &status)).collect();
    let built_in = entries.len();
    entries.extend(programs::external(&path()).into_iter().map(|(name, program)| EngineEntry {
        name,
        kind: "program".to_owned(),
        state: "ready".to_owned(),
        why: None,
        remedy: None,
        version: None,
        python: None,
        packages: Vec::new(),
        path: program.display().to_string(),
        size_bytes: None,
    }));
    if args.json {
        return output::print(&format!("{}\n", json::engines(&entries)));
    }
    let (ours, others) = entries.split_at(built_in);
    output::print(&text(ours, &status, others))
}

fn entry(engine: &AnalyticsEngine, status: &Status) -> EngineEntry {
    let (state, why, complete) = match &status.state {
        State::Ready(complete) => ("ready", None, Some(complete)),
        State::Absent => ("not installed", None, None),
        State::Incomplete(why) => ("incomplete", Some(why.clone()), None),
        State::Outdated(complete) => {
            ("outdated", Some("this threadwise pins other packages".to_owned()), Some(complete))
        }
        State::Foreign => {
            let error = AnalyticsError::Foreign { folder: status.folder.clone() };
            ("foreign", Some(error.to_string()), None)
        }
    };
    let can_add = !matches!(status.state, State::Ready(_) | State::Foreign);
    EngineEntry {
        name: engine.name.to_owned(),
        kind: "environment".to_owned(),
        state: state.to_owned(),
        why,
        remedy: can_add.then(|| format!("threadwise engine add {}", engine.name)),
        version: complete.and_then(|complete| complete.version(engine.name)).map(str::to_owned),
        python: complete.map(|complete| complete.python.clone()),
        packages: complete.map(|complete| complete.packages.clone()).unwrap_or_default(),
        path: status.folder.display().to_string(),
        size_bytes: status.size_bytes,
    }
}

fn text(ours: &[EngineEntry], status: &Status, others: &[EngineEntry]) -> String {
    let mut text = "engines on Python packages\n".to_owned();
    for entry in ours {
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
    if let State::Ready(complete) | State::Outdated(complete) = &status.state {
        text.push_str(&format!("  {:<16} {}\n", "with", versions(complete)));
    }
    if !others.is_empty() {
        text.push_str("\nprograms threadwise-engine-NAME on PATH\n");
    }
    for entry in others {
        text.push_str(&format!("  {:<16} {}\n", entry.name, entry.path));
    }
    text
}

fn remove(args: &EngineRemoveArgs) -> Result<(), AppError> {
    if let Some(name) = &args.name {
        engine(name).map_err(app_error)?;
    }
    let engines = engines_of_user()?;
    let folder = engines.status().map_err(app_error)?.folder;
    match engines.remove().map_err(app_error)? {
        true => output::print(&format!("removed {}, which served {}\n", folder.display(), names())),
        false => output::print(&format!("nothing to remove: {} is not there\n", folder.display())),
    }
}

fn names() -> String {
    known().iter().map(|engine| engine.name).collect::<Vec<_>>().join(" and ")
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("").to_owned())
}
