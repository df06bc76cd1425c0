//! The engine `command`: any command of the user as a whole run, under the placement of its treatment.
//!
//! The worker starts the process itself, so that it inherits the placement and the memory policy, and
//! is the reaper of all its descendants: waiting for every process tells what a run used, and none is
//! left when it ends. docs/ENGINES.md, "Commands".

mod error;
mod extract;
mod group;
mod output;
pub mod pin_server;
mod progress;
mod result;
mod running;
mod session;
mod side;
mod spawn;
mod tree;

use std::path::Path;
use threadwise_study::command::{CommandOptions, Extract, FAILS_PREFIX, Fault, METRIC_PREFIX};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use super::super::workloads::options::refuse;
use crate::{Engine, EngineError, LoadRequest, Loaded, Running, StartRequest};
pub use error::NAME;
pub use extract::{extract, mark};
pub use group::remove_stale_groups;
pub use output::last_words;
use running::RunningCommand;
pub use running::interrupted;
pub use side::how as ended;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Command;

impl Engine for Command {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }

    fn about(&self) -> &'static str {
        "your own command as a whole run, with metrics from its output"
    }

    fn workloads(&self) -> &'static [Workload] {
        &[Workload::Command]
    }

    /// Every variable: commands are the user's own, and get passwords this way.
    fn properties(&self) -> Properties {
        Properties { service_threads: false, ..Properties::default() }
    }

    fn environment(&self) -> &'static [&'static str] {
        &[""]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        read(request).map(drop)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        read(request).map(|_| Loaded::default())
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        self::start(read(&request.load)?, request)
    }
}

/// Starts a command for a treatment, also for engines that build a command themselves. The caller has checked
/// the options.
///
/// # Errors
/// `setup` or `warmup` failed, or its folders cannot be made.
pub fn start(options: CommandOptions, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
    Ok(Box::new(RunningCommand::start(options, request)?))
}

/// The options of a treatment, checked as far as is possible before anything runs.
fn read(request: &LoadRequest) -> Result<CommandOptions, EngineError> {
    if request.workload != Workload::Command {
        return Err(refuse(
            "workload",
            format!("{NAME} cannot do '{}'; it can do: {}", request.workload, Workload::Command),
        ));
    }
    if let Some(name) = request.engine_options.keys().next() {
        return Err(refuse(name, format!("engine {NAME} has no options; --set sets the workload's")));
    }
    let options =
        CommandOptions::read(&request.options).map_err(|Fault { option, why }| refuse(&option, why))?;
    for metric in &options.metrics {
        if let Extract::Regex(pattern) = &metric.extract {
            extract::expression(pattern)
                .map_err(|why| refuse(&format!("{METRIC_PREFIX}{}", metric.name), why))?;
        }
    }
    for (name, pattern) in &options.fails {
        extract::expression(pattern).map_err(|why| refuse(&format!("{FAILS_PREFIX}{name}"), why))?;
    }
    if let Some(folder) = options.folder.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(refuse("folder", format!("{} is not a folder", folder.display())));
    }
    if let Some(name) = &options.pin_server {
        pin_server::find(name)?;
    }
    for (name, words) in options.commands() {
        // `setup` may make it later.
        if name == "setup" || options.words("setup").is_none() {
            find(name, words, options.folder.as_deref())?;
        }
    }
    Ok(options)
}

/// Refuses a program that does not exist.
fn find(name: &str, words: &[String], folder: Option<&Path>) -> Result<(), EngineError> {
    let Some(program) = words.first().filter(|word| !word.contains(['{', '}'])) else { return Ok(()) };
    if program.contains('/') {
        let path = folder.map_or_else(|| Path::new(program).to_owned(), |folder| folder.join(program));
        // Without a folder of the user it is the run's own, which is empty now.
        let is_known = folder.is_some() || path.is_absolute();
        return match is_known {
            true if !path.is_file() => Err(refuse(name, format!("there is no program {}", path.display()))),
            true if !may_run(&path) => {
                let what =
                    format!("{} is not executable: chmod +x it, or name its interpreter", path.display());
                Err(refuse(name, what))
            }
            _ => Ok(()),
        };
    }
    if program.is_empty() {
        return Err(refuse(name, "its first word, the program, is empty".to_owned()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|entry| entry.join(program))
        .any(|found| found.is_file() && may_run(&found));
    match found {
        true => Ok(()),
        false => Err(refuse(
            name,
            format!("there is no program '{program}' on PATH: install it, or give its path"),
        )),
    }
}

fn may_run(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use threadwise_study::OptionValue;

    fn refused(pairs: &[(&str, &str)]) -> String {
        let options = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), OptionValue::Text((*value).to_owned())))
            .collect();
        let request = LoadRequest {
            workload: Workload::Command,
            options,
            engine_options: Options::new(),
            data_dir: PathBuf::new(),
            treatment: "x".into(),
            sessions: 1,
            seed: 1,
        };
        match Command.check(&request) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_run_is_refused_before_anything_does() {
        assert_eq!(refused(&[("command", "sh -c 'exit 0'"), ("folder", "/")]), "");
        assert!(refused(&[("command", "no-such-program-here")]).contains("on PATH"));
        assert!(
            refused(&[("command", "true"), ("check", "/proc/no/such/program")]).contains("option 'check'")
        );
        assert!(refused(&[("command", "/etc/passwd")]).contains("is not executable"));
        assert!(refused(&[("command", "''")]).contains("is empty"));
        assert_eq!(refused(&[("setup", "true"), ("command", "/made/by/setup")]), "");
        assert!(refused(&[("command", "bin/none"), ("folder", "/")]).contains("/bin/none"));
        assert!(
            refused(&[("command", "true"), ("folder", "/proc/no/such/folder")]).contains("is not a folder")
        );
        let bad = refused(&[("command", "true"), ("metric.tps", "tx/s higher regex:tps = (")]);
        assert!(bad.contains("metric.tps") && bad.contains("unclosed group"), "{bad}");
    }

    #[test]
    fn other_workloads_and_engine_options_are_refused() {
        let request = |workload: &str, engine_options: Options| LoadRequest {
            workload: workload.into(),
            options: Options::from([("command".into(), OptionValue::Text("true".into()))]),
            engine_options,
            data_dir: PathBuf::new(),
            treatment: "x".into(),
            sessions: 1,
            seed: 1,
        };
        let error = Command.check(&request("insert", Options::new())).unwrap_err();
        assert!(error.to_string().contains("cannot do 'insert'"), "{error}");
        let with = Options::from([("url".to_owned(), OptionValue::Flag(true))]);
        assert!(Command.check(&request("command", with)).is_err());
    }
}
