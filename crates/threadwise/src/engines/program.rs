//! Engines of this project whose client is a worker program, beside this one or on PATH.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use threadwise_engine::connections::Limit;
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_engine::statements::SourceFacts;
use threadwise_engine::{
    Engine, EngineError, KnownBy, LoadRequest, Loaded, Point, Running, StartRequest, StatementSource, Trial,
};
use threadwise_observed::{Snapshot, StatementText};
use threadwise_runner::{Also, RunnerError, ServerSays, Settings, StatementWorker, Worker};
use threadwise_study::engine::{Properties, URL};
use threadwise_study::{Options, Workload};

/// An engine as this program knows it; its worker program answers what needs a server.
pub struct InProgram {
    known: &'static dyn Engine,
}

impl InProgram {
    /// An engine with a program beside this one or on PATH.
    pub const fn beside(known: &'static dyn Engine) -> Self {
        Self { known }
    }

    /// Its worker.
    ///
    /// # Errors
    /// It is not installed; one line with what to do.
    pub fn worker(&self) -> Result<Worker, String> {
        let environment = self.known.environment().iter().map(|&prefix| prefix.to_owned()).collect();
        let program = self.beside_or_on_path()?;
        Ok(Worker { program, args: Vec::new(), environment, withheld: super::variables() })
    }

    fn beside_or_on_path(&self) -> Result<PathBuf, String> {
        let this = std::env::current_exe()
            .map_err(|error| format!("cannot find the threadwise program: {error}"))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let name = self.known.name();
        find(name, &this, &path).ok_or_else(|| {
            format!(
                "engine {name} is not installed here: its program threadwise-engine-{name} is neither in {} nor on \
                 PATH: put it there (from source: cargo build --release -p threadwise-engine-{name})",
                this.parent().unwrap_or(Path::new("/")).display()
            )
        })
    }

    fn ask(&self, engine_options: &Options, also: Also) -> Result<ServerSays, EngineError> {
        let worker = self.worker().map_err(EngineError::Missing)?;
        threadwise_runner::server(&Settings::new(worker), engine_options, also)
            .map_err(|error| explained(self.known.name(), error))
    }
}

/// An error of a worker as one of its engine.
fn explained(name: &str, error: RunnerError) -> EngineError {
    match error {
        RunnerError::Worker { failure, .. } if failure.kind == "option" => option(&failure.message),
        RunnerError::Worker { failure, .. } if failure.kind == "engine" => {
            EngineError::Message(failure.message)
        }
        other => EngineError::Failed {
            engine: name.to_owned(),
            action: "ask its server".to_owned(),
            why: other.to_string(),
        },
    }
}

/// Statistics of statements by the engine's worker program.
struct Statements {
    name: &'static str,
    worker: StatementWorker,
    facts: SourceFacts,
    /// That of the start.
    first: Option<Snapshot>,
}

impl Statements {
    /// Reads once, so that the server's refusal is known.
    fn open(name: &'static str, mut worker: StatementWorker) -> Result<Self, EngineError> {
        let found = worker.read(&[], false).map_err(|error| explained(name, error))?;
        Ok(Self { name, worker, facts: found.facts(), first: Some(found.snapshot()) })
    }
}

impl StatementSource for Statements {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn snapshot(&mut self) -> Result<Snapshot, EngineError> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let found = self.worker.read(&[], false).map_err(|error| explained(self.name, error))?;
        Ok(found.snapshot())
    }

    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError> {
        let found = self.worker.read(keys, wants_text).map_err(|error| explained(self.name, error))?;
        Ok(found.texts())
    }
}

/// Splits a worker's refusal of an option, `option 'NAME': why`.
fn option(message: &str) -> EngineError {
    let parts = message.strip_prefix("option '").and_then(|rest| rest.split_once("': "));
    let (option, why) = parts.unwrap_or(("engine-option", message));
    EngineError::Option { option: option.to_owned(), why: why.to_owned() }
}

/// The program of an engine.
fn find(name: &str, this: &Path, path: &OsStr) -> Option<PathBuf> {
    let program = format!("threadwise-engine-{name}");
    let suffix = this.file_name().and_then(OsStr::to_str).and_then(|file| file.strip_prefix("threadwise"));
    let beside = |file: String| this.parent().map(|folder| folder.join(file));
    let first = [beside(format!("{program}{}", suffix.unwrap_or_default())), beside(program.clone())];
    let on_path =
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|one| one.join(&program));
    first.into_iter().flatten().chain(on_path).find(|file| threadwise_runner::is_program(file))
}

impl Engine for InProgram {
    fn name(&self) -> &'static str {
        self.known.name()
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        if !engine_options.contains_key(URL) {
            // Without a server, report whether the program is installed.
            return self.worker().map(|_| "ready".to_owned()).map_err(EngineError::Missing);
        }
        Ok(self.ask(engine_options, Also::default())?.version)
    }

    fn about(&self) -> &'static str {
        self.known.about()
    }

    fn workloads(&self) -> &'static [Workload] {
        self.known.workloads()
    }

    fn properties(&self) -> Properties {
        self.known.properties()
    }

    fn known_by(&self) -> KnownBy {
        self.known.known_by()
    }

    fn environment(&self) -> &'static [&'static str] {
        self.known.environment()
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        self.known.check(request)
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        Ok(self.ask(engine_options, Also::default())?.limits)
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        Ok(self.ask(engine_options, Also { points: true, cpus: false })?.points)
    }

    fn binds_whole(&self) -> bool {
        self.known.binds_whole()
    }

    fn server_cpus(&self, engine_options: &Options) -> Result<Option<ServerCpus>, EngineError> {
        match self.binds_whole() {
            true => Ok(self.ask(engine_options, Also { points: false, cpus: true })?.cpus),
            false => Ok(None),
        }
    }

    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        let worker = self.worker().map_err(EngineError::Missing)?;
        let started = StatementWorker::start(&Settings::new(worker), engine_options);
        let name = self.known.name();
        Statements::open(name, started.map_err(|error| explained(name, error))?)
            .map(|source| Some(Box::new(source) as Box<dyn StatementSource>))
    }

    fn trials(&self) -> &'static [Trial] {
        self.known.trials()
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        self.known.load(request)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        self.known.start(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_program_beside_this_one_comes_first_and_has_the_same_suffix() {
        let (beside, on_path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |folder: &Path, name: &str| {
            let file = folder.join(name);
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
            file
        };
        let this = beside.path().join("threadwise-0.1.0-x86_64-linux");
        let path = std::env::join_paths([Path::new("relative"), on_path.path()]).unwrap();
        assert_eq!(find("mine", &this, &path), None);
        let far = put(on_path.path(), "threadwise-engine-mine");
        assert_eq!(find("mine", &this, &path), Some(far));
        let plain = put(beside.path(), "threadwise-engine-mine");
        assert_eq!(find("mine", &this, &path), Some(plain));
        let released = put(beside.path(), "threadwise-engine-mine-0.1.0-x86_64-linux");
        assert_eq!(find("mine", &this, &path), Some(released));
        assert_eq!(find("mine", Path::new("/proc/nowhere/x"), OsStr::new("")), None);
    }
}
