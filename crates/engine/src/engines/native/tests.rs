//! Tests of the engine's checks: what is wrong is found, and nothing is left behind.

use super::*;
use std::io::{Seek, SeekFrom, Write};
use threadwise_machine::pin::current_affinity;
use threadwise_study::OptionValue;

use crate::workloads::insert;
use crate::{Window, clock};

fn request(folder: &tempfile::TempDir, workload: &str, options: &[(&str, OptionValue)]) -> StartRequest {
    let given = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let cpus = current_affinity().unwrap();
    StartRequest {
        load: LoadRequest {
            workload: workload.into(),
            options: given.collect(),
            engine_options: Options::new(),
            data_dir: folder.path().to_owned(),
            treatment: "x".into(),
            sessions: 1,
            seed: 1,
        },
        sessions: vec![cpus.clone()],
        service: cpus,
        seed: 2,
        journal: None,
    }
}

fn fixed(rows: i64, per_tx: i64) -> Vec<(&'static str, OptionValue)> {
    vec![
        ("seed_rows", OptionValue::Integer(1000)),
        ("rows_per_session", OptionValue::Integer(rows)),
        ("rows_per_tx", OptionValue::Integer(per_tx)),
        ("durability", OptionValue::Text("relaxed".into())),
    ]
}

/// One slice of the only session, before anything is checked.
fn work(running: &RunningNative, start: &StartRequest) -> SessionSlice {
    let request = SessionRequest {
        load: start.load.clone(),
        session: 0,
        sessions: 1,
        cpus: start.sessions[0].clone(),
        seed: start.seed,
    };
    let mut session = running.open(&request).unwrap();
    session.warm().unwrap();
    running.standing().unwrap();
    let start_ns = clock::monotonic_ns() + 1_000_000;
    session
        .slice(&Window {
            sequence: 0,
            start_ns,
            end_ns: start_ns + 60_000_000_000,
            piece_ns: None,
            arrivals: None,
        })
        .unwrap()
}

fn is_empty(folder: &tempfile::TempDir) -> bool {
    std::fs::read_dir(folder.path()).unwrap().next().is_none()
}

#[test]
fn a_run_that_is_right_leaves_nothing_behind() {
    for per_tx in [0, 1, 2, 250] {
        let folder = tempfile::tempdir().unwrap();
        let start = request(&folder, "insert", &fixed(1000, per_tx));
        let running = RunningNative::begin(&start).unwrap();
        let mut slice = work(&running, &start);
        let rows = if per_tx == 0 { 1000 } else { per_tx as u64 };
        assert_eq!((slice.rows, slice.steps), (1000, 1000 / rows));
        assert!(!is_empty(&folder));
        let counters = running.after(std::slice::from_mut(&mut slice)).unwrap();
        // A record has 32 bytes and 144 for each of its rows, at most 100, and is padded to 64.
        let record = |rows: u64| (32 + 144 * rows).next_multiple_of(64);
        let bytes = rows / 100 * record(100) + if rows % 100 > 0 { record(rows % 100) } else { 0 };
        assert_eq!(counters["log_written_bytes"], 1000 / rows * bytes);
        assert_eq!(slice.counters["log_bytes"], 1000 / rows * bytes);
        assert_eq!(slice.counters["lock_acquisitions"], 1000 / rows * rows.div_ceil(100));
        assert_eq!(running.finish(), Ok(()));
        assert!(is_empty(&folder));
    }
}

#[test]
fn a_session_that_says_too_much_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (rows, key) in [(1, 0), (0, 1)] {
        let start = request(&folder, "insert", &fixed(10, 2));
        let running = RunningNative::begin(&start).unwrap();
        work(&running, &start);
        running.shared.report(0, Content { rows, key_sum: key });
        let error = running.finish().unwrap_err();
        assert!(matches!(&error, EngineError::WrongAnswer(why) if why.contains("added rows")), "{error}");
        assert!(is_empty(&folder));
    }
}

#[test]
fn a_log_that_differs_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    type Damage = fn(&mut std::fs::File) -> std::io::Result<()>;
    let damages: [Damage; 3] = [
        |file| file.set_len(4 * 320),
        |file| file.seek(SeekFrom::Start(700)).and_then(|_| file.write_all(&[0xff])),
        |file| file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(&[0; 64])),
    ];
    for damage in damages {
        let start = request(&folder, "insert", &fixed(10, 2));
        let running = RunningNative::begin(&start).unwrap();
        work(&running, &start);
        running.with_writer(LogWriter::settle).unwrap();
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        damage(&mut std::fs::OpenOptions::new().write(true).open(path).unwrap()).unwrap();
        let error = running.finish().unwrap_err();
        assert!(matches!(&error, EngineError::WrongAnswer(why) if why.contains("the log")), "{error}");
        assert!(is_empty(&folder));
    }
}

#[test]
fn a_key_that_is_there_already_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let start = request(&folder, "insert", &fixed(10, 2));
    let running = RunningNative::begin(&start).unwrap();
    let taken = row::Row::new(insert::first_key(0) + 3, 0, 0, 0, 0);
    assert!(running.shared.table().insert(table::RowOrigin::Seed, 0, taken, &mut table::Walked::default()));
    let request = SessionRequest {
        load: start.load.clone(),
        session: 0,
        sessions: 1,
        cpus: start.sessions[0].clone(),
        seed: 2,
    };
    let mut session = running.open(&request).unwrap();
    session.warm().unwrap();
    // The table holds a row more than the seed put there.
    assert!(running.standing().unwrap_err().to_string().contains("1001 rows"));
    let window = Window { sequence: 0, start_ns: 0, end_ns: u64::MAX, piece_ns: None, arrivals: None };
    let error = session.slice(&window).unwrap_err();
    assert!(error.to_string().contains("10000000003"), "{error}");
}

#[test]
fn work_that_takes_longer_than_the_window_is_an_error() {
    for per_tx in [0, 2] {
        let folder = tempfile::tempdir().unwrap();
        let start = request(&folder, "insert", &fixed(100_000, per_tx));
        let running = RunningNative::begin(&start).unwrap();
        let load = start.load.clone();
        let cpus = start.sessions[0].clone();
        let request = SessionRequest { load, session: 0, sessions: 1, cpus, seed: 2 };
        let mut session = running.open(&request).unwrap();
        session.warm().unwrap();
        let error = session
            .slice(&Window { sequence: 0, start_ns: 1, end_ns: 2, piece_ns: None, arrivals: None })
            .unwrap_err();
        assert!(error.to_string().contains("of 100000 rows"), "{error}");
    }
}
