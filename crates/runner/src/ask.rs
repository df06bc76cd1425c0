//! Workers that are only asked something: what their engine is like, what the user's server is.

use crate::RunnerError;
use crate::settings::Settings;
use crate::workdir::Workdir;
use crate::worker_process::{Failure, Hello, Place, WorkerProcess};
use std::sync::atomic::AtomicBool;
use threadwise_engine::Point;
use threadwise_engine::connections::Limit;
use threadwise_engine::protocol::{Reply, Request, VERSION};
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::Options;

/// What the user's server is, by the words of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSays {
    /// Product and version.
    pub version: String,
    /// Its limits of connections.
    pub limits: Vec<Limit>,
    /// What the login may do, where that was asked for.
    pub points: Vec<Point>,
    /// Its logical CPUs, where they were asked for and it is bound as a whole.
    pub cpus: Option<ServerCpus>,
}

/// What there is to ask a server beside its version and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Also {
    /// What the login may do.
    pub points: bool,
    /// The server's logical CPUs.
    pub cpus: bool,
}

/// Starts a worker only to ask what its engine is like, which a study has to know before it is planned.
///
/// # Errors
/// The worker cannot be started, speaks another protocol, or says nothing in time.
pub fn hello(settings: &Settings) -> Result<Hello, RunnerError> {
    asked(settings, |_, hello, _| Ok(hello))
}

/// Starts a worker only to ask what the server of these options is, and what else is wanted.
///
/// # Errors
/// As [`hello`]; or the server cannot be asked, which is a failure of the kind `engine` or `option`.
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
    let place = Place { cpus: &everywhere, memory: &memory, folder: workdir.path(), log: &log, mark: &log };
    let conversation = || {
        let mut worker = WorkerProcess::start(&settings.worker, place, settings.deadlines)?;
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
