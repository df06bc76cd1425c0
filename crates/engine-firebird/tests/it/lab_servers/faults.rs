//! What goes wrong: killed programs and workers, wrong data, too small a cache; and nothing is left behind.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{
    administer, folder, living, named, options, request, run, start_request, text, whole, work,
};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use threadwise_engine::{Engine, EngineError, LoadRequest};
use threadwise_engine_firebird::Firebird;

fn small(folder: &Path) -> LoadRequest {
    request(folder, "logical-io", 2, &[("blocks", whole(200)), ("work_unit", whole(8))])
}

fn signal(name: &str, pid: u32) {
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args([name, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Until no process works in the folder; false when some still do after a minute.
fn gone(folder: &Path) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while !living(folder).is_empty() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
#[ignore = "laboratory: servers"]
fn a_program_that_is_killed_fails_the_run_and_the_next_one_works() {
    let folder = folder();
    let load = small(folder.path());
    Firebird.load(&load).unwrap();
    let start = start_request(&load);
    let running = Firebird.start(&start).unwrap();
    let error = work(running, &start, 50, 50, |slice| {
        if slice == 1 {
            living(folder.path()).iter().for_each(|pid| signal("-KILL", *pid));
        }
    })
    .unwrap_err();
    assert_eq!(error.kind(), "engine");
    assert!(error.to_string().contains("isql ended with signal: 9"), "{error}");
    assert!(gone(folder.path()));
    // Its copy is made again.
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
}

/// In a process of its own: starts a session, says so, and waits to be killed.
#[test]
#[ignore = "laboratory: servers"]
fn inner_worker() {
    let Ok(folder) = std::env::var("THREADWISE_TEST_FOLDER") else { return };
    let load = request(Path::new(&folder), "insert", 1, &[("durability", text("relaxed"))]);
    Firebird.load(&load).unwrap();
    let start = start_request(&load);
    // Not to be outlived by the loop of a slice either.
    let _ = work(Firebird.start(&start).unwrap(), &start, 1000, 500, |slice| {
        if slice == 0 {
            println!("STARTED");
        }
    });
}

#[test]
#[ignore = "laboratory: servers"]
fn no_program_outlives_a_worker_that_is_killed() {
    let folder = folder();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lab_servers::faults::inner_worker", "--include-ignored", "--nocapture"])
        .env("THREADWISE_TEST_FOLDER", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.contains("STARTED")), "no session was started");
    assert_eq!(living(folder.path()).len(), 2);
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(gone(folder.path()), "{:?}", living(folder.path()));
    // What it left is put aside by the next one.
    let load = request(folder.path(), "insert", 1, &[("durability", text("relaxed"))]);
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
    assert!(named(folder.path(), "firebird-run-").is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn wrong_answers_fail_the_run() {
    let folder = folder();
    let load = small(folder.path());
    Firebird.load(&load).unwrap();
    let start = start_request(&load);
    let error = work(Firebird.start(&start).unwrap(), &start, 50, 100, |slice| {
        if slice == 0 {
            administer(folder.path(), "update blocks_1 set twin = twin + 1 where k between 50 and 150");
        }
    })
    .unwrap_err();
    assert!(
        matches!(error, EngineError::WrongAnswer(_)) && error.to_string().contains("blocks_1"),
        "{error}"
    );
    // Its copy is not used again.
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
    for sql in [
        "delete from inserted where c4 = 1 rows 1",
        "insert into inserted values (77, current_timestamp, '', 1, 0, 77)",
        "update inserted set c1 = -5 where c4 = 0 rows 1",
    ] {
        let mut load = request(
            folder.path(),
            "insert",
            2,
            &[("seed_rows", whole(100)), ("durability", text("relaxed"))],
        );
        load.treatment = "wrong".into();
        named(folder.path(), "firebird-run-").iter().for_each(|home| std::fs::remove_dir_all(home).unwrap());
        Firebird.load(&load).unwrap();
        let start = start_request(&load);
        let ran =
            work(Firebird.start(&start).unwrap(), &start, 1, 50, |_| administer(folder.path(), sql)).unwrap();
        let error = ran.finished.unwrap_err();
        let part = "after the run the table holds";
        assert!(error.to_string().contains(part) && error.kind() == "wrong-answer", "{sql}: {error}");
        assert!(gone(folder.path()));
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn data_that_does_not_fit_in_the_cache_is_not_cached() {
    let folder = folder();
    let mut load = request(folder.path(), "logical-io", 1, &[("blocks", whole(1500))]);
    load.engine_options = options(&[("cache_pages", whole(500))]);
    let error = run(&load, 1, 50).unwrap_err().to_string();
    assert!(error.contains("not cached") && error.contains("cache_pages"), "{error}");
    assert!(gone(folder.path()));
}

#[test]
#[ignore = "laboratory: servers"]
fn a_folder_that_firebird_would_misread_is_refused() {
    let folder = folder();
    let colon = folder.path().join("a:b");
    std::fs::create_dir(&colon).unwrap();
    let error = Firebird.load(&small(&colon)).unwrap_err().to_string();
    assert!(error.contains("expects a host"), "{error}");
    assert!(std::fs::read_dir(&colon).unwrap().next().is_none());
}
