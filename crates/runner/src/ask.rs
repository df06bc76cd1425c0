//! Workers that are only queried: properties of their engine, facts of the user's server.

use crate::RunnerError;
use crate::settings::Settings;
use crate::workdir::Workdir;
use crate::worker_process::{Failure, Hello, WorkerLaunch, WorkerProcess};
use std::sync::atomic::AtomicBool;
use threadwise_engine::Point;
use threadwise_engine::connections::Limit;
use threadwise_engine::protocol::{Reply, Request, VERSION};
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::Options;

/// The user's server, as its client describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSays {
    /// Product and version.
    pub version: String,
    /// Its limits of connections.
    pub limits: Vec<Limit>,
    /// The login's rights, if requested.
    pub points: Vec<Point>,
    /// Its logical CPUs, if requested and if it is bound as a whole.
    pub cpus: Option<ServerCpus>,
}

/// What to ask a server beside its version and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Also {
    /// The login's rights.
    pub points: bool,
    /// The server's logical CPUs.
    pub cpus: bool,
}

/// Starts a worker only for its engine's properties, which a study needs before it is planned.
///
/// # Errors
/// The worker cannot be started, speaks another protocol, or does not answer in time.
pub fn hello(settings: &Settings) -> Result<Hello, RunnerError> {
    asked(settings, |_, hello, _| Ok(hello))
}

/// Starts a worker only for the facts of these options' server, and those in `also`.
///
/// # Errors
/// As [`hello`]; or the server cannot be asked, a failure of the kind `engine` or `option`.
pub fn server(settings: &Settings, engine_options: &Options, also: Also) -> Result<ServerSays, RunnerError> {
    asked(settings, |worker, _, never| {
        let Also { points, cpus } = also;
        let request =
            Request::Server { protocol: VERSION, engine_options: engine_options.clone(), points, cpus };
        worker.send(&request, never)?;
        match worker.receive("server", settings.deadlines.prepare, Some(never))? {
            Reply::Server { version, limits, points, cpus } => {
                let cpus = cpus.map(ServerCpus::try_from).transpose();
                Ok(ServerSays {
                    version: threadwise_machine::text::one_line(&version, 200),
                    limits: limits.into_iter().map(Limit::from).collect(),
                    points: points.into_iter().map(Point::from).collect(),
                    cpus: cpus.map_err(|error| Failure::new("protocol", error.to_string()))?,
                })
            }
            other => Err(worker.unexpected("server", &other)),
        }
    })
}

fn asked<T>(
    settings: &Settings,
    ask: impl FnOnce(&mut WorkerProcess, Hello, &AtomicBool) -> Result<T, Failure>,
) -> Result<T, RunnerError> {
    let workdir = Workdir::of(settings)?;
    let log = workdir.path().join("asked.log");
    let (everywhere, memory) = (CpuSet::new(), MemoryBinding::default());
    let launch =
        WorkerLaunch { cpus: &everywhere, memory: &memory, folder: workdir.path(), log: &log, mark: &log };
    let conversation = || {
        let mut worker = WorkerProcess::start(&settings.worker, launch, settings.deadlines)?;
        let never = AtomicBool::new(false);
        let hello = worker.hello(&never)?;
        let answer = ask(&mut worker, hello, &never)?;
        worker.ask_to_stop();
        worker.stopped(&never)?;
        Ok(answer)
    };
    let answer = conversation()
        .map_err(|failure| RunnerError::Worker { program: settings.worker.program.clone(), failure })?;
    workdir.close().map(|()| answer)
}
