//! Statistics of statements by a worker program, which keeps its connection between looks.

use crate::RunnerError;
use crate::settings::Settings;
use crate::workdir::Workdir;
use crate::worker_process::{Failure, WorkerLaunch, WorkerProcess};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireStatements};
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::Options;

/// A worker that reads statistics of statements until it is dropped.
pub struct StatementWorker {
    worker: Option<WorkerProcess>,
    workdir: Option<Workdir>,
    program: std::path::PathBuf,
    options: Options,
    patience: Duration,
}

impl StatementWorker {
    /// Starts it. The server is asked by the first [`StatementWorker::read`].
    ///
    /// # Errors
    /// It cannot be started, or speaks another protocol.
    pub fn start(settings: &Settings, engine_options: &Options) -> Result<Self, RunnerError> {
        let workdir = Workdir::of(settings)?;
        let log = workdir.path().join("asked.log");
        let (everywhere, memory) = (CpuSet::new(), MemoryBinding::default());
        let launch = WorkerLaunch {
            cpus: &everywhere,
            memory: &memory,
            folder: workdir.path(),
            log: &log,
            mark: &log,
        };
        let program = settings.worker.program.clone();
        let begin = || {
            let mut worker = WorkerProcess::start(&settings.worker, launch, settings.deadlines)?;
            worker.hello(&AtomicBool::new(false))?;
            Ok(worker)
        };
        let worker: Result<WorkerProcess, Failure> = begin();
        let worker = worker.map_err(|failure| RunnerError::Worker { program: program.clone(), failure })?;
        Ok(Self {
            worker: Some(worker),
            workdir: Some(workdir),
            program,
            options: engine_options.clone(),
            patience: settings.deadlines.prepare,
        })
    }

    /// Counters now, without keys; otherwise what these statements are.
    ///
    /// # Errors
    /// The server cannot be asked, a failure of the kind `engine`; the worker has ended then.
    pub fn read(&mut self, keys: &[String], wants_text: bool) -> Result<WireStatements, RunnerError> {
        let failed = |failure| RunnerError::Worker { program: self.program.clone(), failure };
        let Some(worker) = &mut self.worker else {
            return Err(failed(Failure::new("engine", "its worker has ended")));
        };
        let request = Request::Statements {
            protocol: VERSION,
            engine_options: self.options.clone(),
            keys: keys.to_vec(),
            wants_text,
        };
        let never = AtomicBool::new(false);
        let sent = worker.send(&request, &never);
        let reply = sent.and_then(|()| worker.receive("statements", self.patience, Some(&never)));
        match reply {
            Ok(Reply::Statements { statements }) => Ok(*statements),
            Ok(other) => Err(failed(worker.unexpected("statements", &other))),
            Err(failure) => Err(failed(failure)),
        }
    }
}

impl Drop for StatementWorker {
    fn drop(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.ask_to_stop();
            // Nothing is left that its end could spoil.
            let _ = worker.stopped(&AtomicBool::new(false));
        }
        if let Some(workdir) = self.workdir.take() {
            // What cannot be removed now is removed by the next command.
            let _ = workdir.close();
        }
    }
}
