//! What the tests share: requests, a run from load to finish on bound threads, isql beside it.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use tempfile::TempDir;
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::{Engine, EngineError, LoadRequest, Running, SessionRequest, StartRequest, Window};
use threadwise_engine_firebird::Firebird;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_affinity, pin_current_thread};
use threadwise_study::{Counters, OptionValue, Options, SessionSlice};

/// A folder for data.
pub fn folder() -> TempDir {
    tempfile::Builder::new().prefix("threadwise-firebird-").tempdir().unwrap()
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

/// One logical CPU a session, round robin over those that there are, and the first for the rest.
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

/// The longest window that is tried for a step of each session.
const LONGEST_WINDOW_NS: u64 = 10_000_000_000;

/// Slices of `window_ms` on a started engine, longer ones where a session has no step in it, with `between` after each;
/// then finish.
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
            pin_current_thread(&request.cpus).unwrap();
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
        for placed in &standing.placed {
            let mask = threadwise_machine::pin::thread_affinity(placed.pid, placed.tid).unwrap();
            assert_eq!(mask, placed.cpus, "{placed:?}");
        }
        let mut all = Vec::new();
        let (mut sequence, mut window_ns) = (0, window_ms * 1_000_000);
        while (all.len() as u64) < slices {
            running.before()?;
            let start_ns = monotonic_ns() + 5_000_000;
            let end_ns = start_ns + window_ns;
            let window = Window { sequence, start_ns, end_ns, piece_ns: None, arrivals: None };
            orders.iter().for_each(|order| order.send(window.clone()).unwrap());
            let during = running.during(&window);
            let mut sessions = collect()?;
            during?;
            let counters = running.after(&mut sessions)?;
            // On a machine that others keep busy a step can take longer than the window.
            match sessions.iter().all(|session| session.steps > 0) || window_ns >= LONGEST_WINDOW_NS {
                true => all.push((sessions, counters)),
                false => window_ns *= 2,
            }
            between(sequence);
            sequence += 1;
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
    Firebird.check(load)?;
    Firebird.load(load)?;
    let start = start_request(load);
    work(Firebird.start(&start)?, &start, slices, window_ms, |_| {})
}

/// Processes that work in a folder.
pub fn living(folder: &Path) -> Vec<u32> {
    threadwise_process::folder_processes::in_folder(folder).unwrap()
}

/// Names in a folder that begin so.
pub fn named(folder: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).collect()
}

/// Runs another user's statement on the run's copy of the database.
pub fn administer(folder: &Path, sql: &str) {
    let home = named(folder, "firebird-run-").pop().unwrap();
    let isql =
        ["/usr/bin/isql-fb", "/opt/firebird/bin/isql"].into_iter().find(|path| Path::new(path).exists());
    let mut isql = Command::new(isql.unwrap())
        .args(["-q", "-b", "-user", "SYSDBA", "./data.fdb"])
        .current_dir(home.join("data"))
        .env("FIREBIRD", home.join("root"))
        .env("FIREBIRD_LOCK", home.join("locks"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    isql.stdin.take().unwrap().write_all(format!("{sql};\ncommit;\n").as_bytes()).unwrap();
    assert!(isql.wait().unwrap().success(), "{sql}");
}
