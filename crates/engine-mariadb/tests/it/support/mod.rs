//! What the tests share: a folder that the server's user can pass through, requests, a run from load to
//! finish on bound threads.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

pub mod user_server;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use tempfile::TempDir;
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::worker::arrivals::Arrivals;
use threadwise_engine::workloads::rate;
use threadwise_engine::{Engine, EngineError, LoadRequest, Running, SessionRequest, StartRequest, Window};
use threadwise_engine_mariadb::Mariadb;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::current_affinity;
use threadwise_study::{Counters, OptionValue, Options, SessionSlice};

/// A folder for data.
pub fn folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("threadwise-mariadb-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

pub fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

pub fn whole(value: i64) -> OptionValue {
    OptionValue::Integer(value)
}

pub fn options(pairs: &[(&str, OptionValue)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// A request for a small amount of data.
pub fn request(folder: &Path, workload: &str, sessions: u32, pairs: &[(&str, OptionValue)]) -> LoadRequest {
    LoadRequest {
        workload: workload.into(),
        options: options(pairs),
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "test".into(),
        sessions,
        seed: 7,
    }
}

/// One logical CPU a session, round robin over those that there are, and all for the service threads.
pub fn start_request(load: &LoadRequest) -> StartRequest {
    let allowed = current_affinity().unwrap();
    let cpus: Vec<u32> = allowed.iter().collect();
    let one = |session: u32| -> CpuSet { [cpus[session as usize % cpus.len()]].into_iter().collect() };
    StartRequest {
        load: load.clone(),
        sessions: (0..load.sessions).map(one).collect(),
        service: [cpus[0]].into_iter().collect(),
        seed: 11,
        journal: None,
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
    pub slices: Vec<(Vec<SessionSlice>, Counters)>,
    pub notes: Vec<String>,
    pub placed: Vec<threadwise_engine::Placed>,
    pub finished: Result<(), EngineError>,
}

/// Slices of `window_ms` on a started engine, with `between` after each; then finish.
pub fn work(
    running: Box<dyn Running>,
    start: &StartRequest,
    slices: u64,
    window_ms: u64,
    mut between: impl FnMut(u64),
) -> Result<Ran, EngineError> {
    let running: Arc<dyn Running> = Arc::from(running);
    let (results, handed) = mpsc::channel();
    let mut orders = Vec::new();
    let mut threads = Vec::new();
    for session in 0..start.load.sessions {
        let request = SessionRequest {
            load: start.load.clone(),
            session,
            sessions: start.load.sessions,
            cpus: start.sessions[session as usize].clone(),
            seed: start.seed,
        };
        let (order, windows) = mpsc::channel::<Window>();
        orders.push(order);
        let (running, results) = (Arc::clone(&running), results.clone());
        threads.push(std::thread::spawn(move || {
            let opened = running.open(&request).and_then(|mut session| session.warm().map(|()| session));
            drop(running);
            let mut session = match opened {
                Ok(session) => session,
                Err(error) => return drop(results.send((request.session, Err(error)))),
            };
            results.send((request.session, Ok(SessionSlice::default()))).unwrap();
            while let Ok(window) = windows.recv() {
                results.send((request.session, session.slice(&window))).unwrap();
            }
        }));
    }
    drop(results);
    let collect = || -> Result<Vec<SessionSlice>, EngineError> {
        let mut all: Vec<_> = (0..start.load.sessions).map(|_| handed.recv().unwrap()).collect();
        all.sort_by_key(|(session, _)| *session);
        all.into_iter().map(|(_, slice)| slice).collect()
    };
    let mut inner = || -> Result<_, EngineError> {
        collect()?;
        let standing = running.standing()?;
        let mut all = Vec::new();
        for sequence in 0..slices {
            running.before()?;
            let start_ns = monotonic_ns() + 5_000_000;
            let end_ns = start_ns + window_ms * 1_000_000;
            let arrivals = |rate| Arc::new(Arrivals::new(rate, sequence, start_ns, [start_ns, end_ns]));
            let arrivals = rate::of(&start.load.options)?.map(arrivals);
            let window = Window { sequence, start_ns, end_ns, piece_ns: None, arrivals };
            orders.iter().for_each(|order| order.send(window.clone()).unwrap());
            let during = running.during(&window);
            let mut sessions = collect()?;
            during?;
            let mut counters = running.after(&mut sessions)?;
            counters.extend(window.arrivals.iter().filter_map(|arrivals| arrivals.counters()).flatten());
            all.push((sessions, counters));
            between(sequence);
        }
        Ok((standing, all))
    };
    let done = inner();
    drop(orders);
    for thread in threads {
        thread.join().unwrap();
    }
    let finished = running.finish();
    let (standing, slices) = done?;
    let notes = standing.notes.into_iter().map(|note| note.text).collect();
    Ok(Ran { slices, notes, placed: standing.placed, finished })
}

/// Load, start, slices, finish.
pub fn run(load: &LoadRequest, slices: u64, window_ms: u64) -> Result<Ran, EngineError> {
    Mariadb.check(load)?;
    Mariadb.load(load)?;
    let start = start_request(load);
    work(Mariadb.start(&start)?, &start, slices, window_ms, |_| {})
}

/// Processes that work in a folder.
pub fn living(folder: &Path) -> Vec<u32> {
    threadwise_process::folder_processes::in_folder(folder).unwrap()
}
