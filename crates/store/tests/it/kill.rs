//! A writer that is killed with SIGKILL loses nothing that it was reported is stored.

use crate::made::{self, Random};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use threadwise_store::{Expectation, Problem, Store, StoreError};
use threadwise_study::RunStatus;

/// Tells the test binary, started once more, that it is the writer, and on which file.
const WRITER: &str = "THREADWISE_STORE_TEST_WRITER";
const RUNS_PER_BLOCK: u64 = 3;

/// The run that is stored as number `id`: the same for whoever asks, so that it can be compared.
fn run(id: u64, block: u32, attempt: u32) -> threadwise_study::Run {
    made::run(id, block, attempt, 10, 2, 2)
}

fn resume(path: &Path) -> Result<Store, StoreError> {
    let (topology, study, versions) = (made::topology(), made::study(), made::versions());
    let expected = Expectation {
        topology: &topology,
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: Some(&study),
    };
    Store::resume(path, &expected)
}

/// Appends runs for ever, block after block, and says after each that it is stored.
fn write_until_killed(path: &Path) {
    let mut store = match resume(path) {
        Err(StoreError { problem: Problem::Missing, .. }) => {
            Store::create(path, &made::study(), &made::topology(), &made::versions()).unwrap()
        }
        other => other.unwrap(),
    };
    store.supersede_incomplete_blocks().unwrap();
    let mut id = store.runs().unwrap().len() as u64;
    // One call: a kill between two would leave a part of a line.
    let say = |line: String| std::io::stderr().write_all(line.as_bytes()).unwrap();
    for block in store.complete_blocks().unwrap().last().map_or(0, |last| last + 1).. {
        let attempt = store.next_attempt(block).unwrap();
        store.block_started(block, attempt, 1.0).unwrap();
        for _ in 0..RUNS_PER_BLOCK {
            id += 1;
            assert_eq!(store.append_run(&run(id, block, attempt)).unwrap(), id);
            say(format!("stored {id}\n"));
        }
        store.block_complete(block, attempt, 2.0).unwrap();
        say(format!("complete {block}\n"));
    }
}

/// Starts a writer, kills it after the delay, and gives the last run and the number of blocks that
/// it said were stored. `wait` lets it store one run before the delay begins.
fn kill_one(path: &Path, wait: bool, delay: Duration) -> (Option<u64>, Option<u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::killed_writers_lose_nothing", "--nocapture"])
        .env(WRITER, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    if wait {
        said.push(lines.next().unwrap().unwrap());
    }
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    said.extend(lines.map(Result::unwrap));
    let last = |word: &str| {
        let acknowledged = said.iter().filter_map(|line| line.strip_prefix(word));
        acknowledged.map(|number| number.trim().parse().unwrap()).next_back()
    };
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
    (last("stored "), last("complete "))
}

#[test]
fn killed_writers_lose_nothing() {
    match std::env::var_os(WRITER) {
        Some(path) => write_until_killed(&PathBuf::from(path)),
        None => killed_often(8),
    }
}

mod lab_kills {
    use super::*;

    #[test]
    #[ignore = "laboratory: kills"]
    fn killed_writers_lose_nothing() {
        killed_often(500);
    }
}

fn killed_often(kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.tw");
    let mut random = Random(20_260_101);
    let (mut stored, mut blocks, mut hot) = (0, 0, 0);
    for kill in 0..kills {
        // Every other one is killed from its first moment on, in start and recovery too.
        let wait = kill % 2 == 0;
        let (last, block) = kill_one(&path, wait, Duration::from_micros(random.below(40_000)));
        stored = stored.max(last.unwrap_or(0));
        blocks = blocks.max(block.map_or(0, |last| last + 1));
        if matches!(Store::open(&path), Err(StoreError { problem: Problem::Interrupted, .. })) {
            hot += 1;
            // Undoing alone makes it readable; half of the time the resume below has to do it.
            if hot % 2 == 0 && Store::recover(&path).is_ok() {
                Store::open(&path).unwrap();
            }
        }
        let store = match resume(&path) {
            // Killed before its first transaction: nothing was said to be stored.
            Err(StoreError { problem: Problem::Missing | Problem::Empty, .. }) if stored == 0 => {
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::remove_file(folder.path().join("study.tw-journal"));
                continue;
            }
            other => other.unwrap(),
        };
        (stored, blocks) = check(&store, stored, blocks);
        drop(store);
        assert!(!folder.path().join("study.tw-journal").exists(), "a closed study is one file");
        check_integrity(&path);
    }
    println!("{stored} runs in {blocks} blocks survived {kills} kills, {hot} of them inside a transaction");
    assert!(stored >= kills / 2, "every other writer was given the time to store a run");
}

/// What was there before and what was said since is there, whole, and at most one run and one block
/// that there was no time to say. Gives what is there now.
fn check(store: &Store, stored: u64, blocks: u64) -> (u64, u64) {
    let runs = store.runs().unwrap();
    let complete = store.complete_blocks().unwrap();
    assert!((stored..=stored + 1).contains(&(runs.len() as u64)), "{} of {stored}", runs.len());
    let whole = complete.len() as u64;
    assert!((blocks..=blocks + 1).contains(&whole) && complete.iter().copied().eq(0..whole as u32));
    for found in &runs {
        let mut expected = run(found.id, found.block, found.attempt);
        expected.id = found.id;
        if found.status == RunStatus::Superseded {
            expected.status = RunStatus::Superseded;
        }
        assert_eq!(*found, expected);
    }
    for &block in &complete {
        let valid = runs.iter().filter(|run| run.block == block && run.status.is_valid()).count();
        assert_eq!(valid as u64, RUNS_PER_BLOCK);
    }
    (runs.len() as u64, whole)
}

/// SQLite's own full check.
fn check_integrity(path: &Path) {
    let plain = rusqlite::Connection::open(path).unwrap();
    let verdict: String = plain.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let dangling = "SELECT count(*) FROM pragma_foreign_key_check";
    assert_eq!(plain.query_row(dangling, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
