//! What is left after a kill: no process, no folder. The test program starts itself again as the
//! process that is killed, and as its watchdog.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, is_running, live_topology, settings, study, versions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use threadwise_process::watchdog::Start;
use threadwise_runner::{Decision, Event, run, watch};
use threadwise_store::Store;

/// Names the folder of the test to its child.
const FOLDER: &str = "RUNNER_TEST_FOLDER";

/// Waits for something that happens in another process.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The watchdog, when the program is started as one: the folder is the last argument, and need not be
/// there yet. The last argument of others is the name of a test or this program's own path.
#[test]
fn as_watchdog() {
    let folder = std::env::args().next_back().map(PathBuf::from).unwrap();
    if folder.is_absolute() && !folder.is_file() {
        watch(&folder, &[], &mut std::io::stdin()).unwrap();
    }
}

/// The process that measures until it is killed, when the program is started as one.
#[test]
fn as_killed_process() {
    if !common::has_python() {
        return;
    }
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut settings = settings(&folder, &folder.join("data"), "environment");
    let args = ["--exact", "leftovers::as_watchdog", "--nocapture"];
    settings.watchdog = Some(Start::new(std::env::current_exe().unwrap(), args));
    let topology = live_topology();
    let mut study = study(&[], 64);
    // Rounds for minutes, and not so many that their plan takes minutes.
    study.design.rounds = 100_000;
    let mut store = Store::create(&folder.join("study.sqlite"), &study, &topology, &versions()).unwrap();
    let decide = &mut |_: &[_], _| Decision::Continue;
    let _ = run(&topology, &settings, &mut store, &mut |_| {}, decide, &Arc::new(AtomicBool::new(false)));
}

#[test]
fn after_a_kill_workers_and_folder_are_gone() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let pids_file = bench.folder.path().join("pids");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::as_killed_process"])
        .env(FOLDER, bench.folder.path())
        .env("PGPASSWORD", "secret")
        .env("MYSQL_PWD", "secret")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // One worker that loads, and two that measure.
    let count = || std::fs::read_to_string(&pids_file).unwrap_or_default().lines().count();
    wait_until("the start of three workers", || count() >= 3);
    assert_eq!(bench.left_behind().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let pids = bench.pids();
    wait_until("the end of the workers", || !pids.iter().any(|&pid| is_running(pid)));
    wait_until("the removal of the folder", || bench.left_behind().is_empty());
    let environment = std::fs::read_to_string(bench.folder.path().join("environment")).unwrap();
    assert!(environment.lines().any(|name| name == "THREADWISE_REPLY_FD"));
    assert!(!environment.contains("PGPASSWORD") && !environment.contains("MYSQL_PWD"), "{environment}");
}

#[test]
fn the_next_start_sweeps_what_a_killed_process_left() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let stale: &Path = &bench.settings.data_root.join("threadwise-8388608-1");
    std::fs::create_dir(stale).unwrap();
    let marker =
        "threadwise work folder: removed by threadwise when its process has ended\npid 8388608\nstart 1\n";
    std::fs::write(stale.join(".threadwise-folder"), marker).unwrap();
    bench.run(&mut bench.create(&study(&[], 1))).unwrap();
    assert!(bench.left_behind().is_empty());
}

/// The same folder by a relative path with `..` in it.
fn relative(folder: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| "..").collect::<PathBuf>();
    up.join(folder.strip_prefix("/").unwrap())
}

#[test]
fn a_relative_data_folder_is_cleaned_and_swept() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    let stale = bench.settings.data_root.join("threadwise-8388608-1");
    std::fs::create_dir_all(stale.join("data")).unwrap();
    let marker =
        "threadwise work folder: removed by threadwise when its process has ended\npid 8388608\nstart 1\n";
    std::fs::write(stale.join(".threadwise-folder"), marker).unwrap();
    bench.settings.data_root = relative(&bench.settings.data_root);
    bench.run(&mut bench.create(&study(&[], 1))).unwrap();
    assert_eq!(bench.left_behind(), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_that_cannot_be_removed_is_named_and_noted() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&[], 1));
    let mut said = Vec::new();
    let observer = &mut |event: &Event<'_>, _: &AtomicBool| match event {
        // Without its marker the folder is not taken for one of threadwise's.
        Event::BlockStarted { .. } => {
            std::fs::remove_file(bench.left_behind()[0].join(".threadwise-folder")).unwrap();
        }
        Event::LeftBehind(text) => said.push((*text).to_owned()),
        _ => {}
    };
    bench.observe(&mut store, observer).unwrap();
    let [said] = &said[..] else { panic!("{said:?}") };
    let path = bench.left_behind().remove(0).display().to_string();
    assert!(said.contains(&path) && said.contains("marker"), "{said}");
    assert!(store.notes().unwrap().iter().any(|note| note.text == *said), "{said}");
}

#[test]
fn daemons_of_a_worker_end_with_the_block() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&["daemon"], 2));
    bench.run(&mut store).unwrap();
    let read = |name: &str| -> Vec<u32> {
        let text = std::fs::read_to_string(bench.folder.path().join(name)).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let daemons = read("daemons");
    let left: Vec<&u32> = daemons.iter().filter(|&&pid| is_running(pid)).collect();
    for pid in &left {
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap();
    }
    assert_eq!(daemons.len(), 6, "one in each of three rounds of two blocks");
    assert_eq!(left, Vec::<&u32>::new(), "they outlived the study");
    assert_eq!(read("alive"), Vec::<u32>::new(), "the second block ran beside those of the first");
    let notes = store.notes().unwrap();
    let about =
        notes.iter().filter(|note| note.text == "workers left processes behind, which were ended: sleep");
    assert_eq!(about.count(), 1, "{notes:?}");
}
