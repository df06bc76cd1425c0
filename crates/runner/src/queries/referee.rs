//! Answers of a second engine on the same data, made once and kept with the data.
//!
//! A second engine is the only check for every scale and every parameter; the specification's
//! own answers are for one scale and one set of parameters.

use super::questions::{Questions, failed, link};
use crate::RunnerError;
use crate::event::Event;
use crate::places::Folders;
use crate::settings::{Deadlines, QuerySettings};
use crate::worker_process::{Failure, WorkerLaunch, WorkerProcess};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::{Answer, OptionValue, Workload, tpch};
use threadwise_tpch::Reference;
use threadwise_tpch::dataset::Dataset;

/// Answers of the second engine by stream and query.
pub(super) type References = BTreeMap<(u32, u8), Reference>;

/// Every answer by stream and query: those kept with the data, the others from the second engine now; and why
/// those were not kept, if they could not be.
pub(super) fn answers(
    questions: &Questions,
    data: &Dataset,
    settings: &QuerySettings,
    allowed: &CpuSet,
    folders: Folders<'_>,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<(References, Option<String>), RunnerError> {
    let (mut found, mut unkept) = (References::new(), None);
    // An engine must not be compared with itself: each has its own folder for answers.
    let folder = data.answers().join(&settings.referee_engine);
    for stream in 0..questions.streams {
        let mut missing = Vec::new();
        for &query in &questions.queries {
            match Reference::read(&folder, &questions.parameters[&(stream, query)]).map_err(failed)? {
                Some(kept) => drop(found.insert((stream, query), kept)),
                None => missing.push(query),
            }
        }
        if missing.is_empty() {
            continue;
        }
        let mut referee = Referee::start(questions, stream, data, settings, allowed, folders, stop)?;
        for (number, &query) in missing.iter().enumerate() {
            let share = number as f64 / missing.len() as f64;
            observer(Event::Making {
                what: &format!("asking {} for answers to compare with", settings.referee_engine),
                share,
            });
            let reference = referee.ask(query, stop).map_err(|failure| referee_failed(settings, &failure))?;
            // Without a place to keep them (a read-only cache) they are computed again.
            if let Err(error) = reference.write(&folder, &questions.parameters[&(stream, query)]) {
                unkept.get_or_insert(format!("answers are not kept: {error}"));
            }
            found.insert((stream, query), reference);
        }
    }
    Ok((found, unkept))
}

fn referee_failed(settings: &QuerySettings, failure: &Failure) -> RunnerError {
    if failure.is_stop() {
        return RunnerError::Stopped;
    }
    failed(format!("{}, whose answers others are compared with: {failure}", settings.referee_engine))
}

/// The running second engine.
struct Referee {
    worker: WorkerProcess,
    engine: String,
    version: String,
    asked: u64,
}

impl Referee {
    fn start(
        questions: &Questions,
        stream: u32,
        data: &Dataset,
        settings: &QuerySettings,
        allowed: &CpuSet,
        folders: Folders<'_>,
        stop: &AtomicBool,
    ) -> Result<Self, RunnerError> {
        let home = folders.data.join("referee").join(stream.to_string());
        questions.write(settings.referee_dialect, stream, &home.join("queries").join("0"))?;
        link(&data.folder, &home.join("tpch"))?;
        let log = folders.logs.join(format!("referee-{stream}.log"));
        let memory = MemoryBinding::default();
        let launch = WorkerLaunch { cpus: allowed, memory: &memory, folder: &home, log: &log, mark: &log };
        let begin = || {
            let mut worker = WorkerProcess::start(&settings.referee, launch, Deadlines::default())?;
            let version = worker.hello(stop)?.version;
            worker.send(&prepare(&home, &questions.queries, allowed), stop)?;
            match worker.receive("prepare", Deadlines::default().prepare, Some(stop))? {
                Reply::Ready { .. } => {}
                other => return Err(worker.unexpected("ready", &other)),
            }
            Ok(Self { worker, engine: settings.referee_engine.clone(), version, asked: 0 })
        };
        begin().map_err(|failure| referee_failed(settings, &failure))
    }

    fn ask(&mut self, query: u8, stop: &AtomicBool) -> Result<Reference, Failure> {
        let window_ns = (tpch::LIMIT_MS * 1e6) as u64;
        let (sequence, queries) = (self.asked, vec![vec![query]]);
        self.asked += 1;
        self.worker
            .send(&Request::Go { sequence, warmup_ns: 0, window_ns, queries, piece_ns: None }, stop)?;
        let deadline = Duration::from_nanos(window_ns) + Deadlines::default().slice;
        match self.worker.receive("slice", deadline, Some(stop))? {
            Reply::Slice { mut sessions, .. } => {
                let execution = sessions.pop().and_then(|mut session| session.queries.pop());
                let answer: Option<Answer> =
                    execution.filter(|one| one.query == query).and_then(|one| one.answer);
                let answer =
                    answer.ok_or_else(|| Failure::new("protocol", format!("query {query}: no answer")))?;
                Ok(Reference { engine: self.engine.clone(), version: self.version.clone(), answer })
            }
            other => Err(self.worker.unexpected("slice", &other)),
        }
    }
}

/// One stream on all logical CPUs that this process may use, with the engine's own defaults.
fn prepare(home: &Path, queries: &[u8], allowed: &CpuSet) -> Request {
    let queries: Vec<String> = queries.iter().map(ToString::to_string).collect();
    let load = WireLoad {
        workload: Workload::Tpch.to_string(),
        options: BTreeMap::from([("queries".to_owned(), OptionValue::Text(queries.join(",")))]),
        engine_options: BTreeMap::new(),
        data_dir: PathBuf::from(home).display().to_string(),
        treatment: "referee".to_owned(),
        sessions: 1,
        seed: 0,
    };
    let sessions = vec![WireSession { cpus: allowed.to_string() }];
    Request::Prepare { protocol: VERSION, load, sessions, seed: 0, service: None, journal: None }
}
