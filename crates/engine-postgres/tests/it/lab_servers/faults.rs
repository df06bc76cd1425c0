//! What goes wrong with servers: each is one clear error of a run, and leaves no process and no object.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

mod external;
use crate::support;

use crate::support::{engine, eventually, folder, load, processes_in, session, start, window};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_engine::{EngineError, LoadRequest, Running, Session};
use threadwise_process::{Signal, users};

const SMALL: [(&str, &str); 2] = [("blocks", "64"), ("work_unit", "8")];

/// A started managed server with one open session.
fn at_work(folder: &Path) -> (LoadRequest, Box<dyn Running>, Box<dyn Session>) {
    let mut request = load(folder, "logical-io", &SMALL, &[]);
    request.sessions = 1;
    engine().load(&request).unwrap();
    let start = start(&request);
    let running = engine().start(&start).unwrap();
    let mut session = running.open(&session(&start, 0)).unwrap();
    session.warm().unwrap();
    (request, running, session)
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

fn postmaster(standing: &threadwise_engine::Standing) -> u32 {
    standing.placed.iter().find(|placed| placed.name == "postmaster").unwrap().pid
}

#[test]
#[ignore = "laboratory: servers"]
fn a_killed_server_fails_the_run_and_leaves_nothing() {
    for whom in ["postmaster", "session 0"] {
        let folder = folder();
        let (_, running, mut session) = at_work(folder.path());
        let standing = running.standing().unwrap();
        let pid = standing.placed.iter().find(|placed| placed.name == whom).unwrap().pid;
        // While the session works: its call outlives the kill by far if it is not ended by it.
        let window = window(20_000);
        let worker = std::thread::scope(|scope| {
            scope.spawn(|| {
                while threadwise_engine::clock::monotonic_ns() < window.start_ns {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                kill(pid);
                // The backend of a killed postmaster ends only when it looks; end it as the watchdog would.
                if whom == "postmaster" {
                    threadwise_process::folder_processes::end_in_folder(
                        folder.path(),
                        std::time::Duration::from_secs(10),
                    )
                    .unwrap();
                }
            });
            session.slice(&window)
        });
        let error = worker.unwrap_err();
        assert_eq!(error.kind(), "engine", "{error}");
        let text = error.to_string();
        assert!(text.contains("closed") || text.contains("crash"), "{text}");
        drop(session);
        let error = running.finish().unwrap_err();
        assert_eq!(error.kind(), "engine", "{error}");
        drop(running);
        eventually("processes are left", || processes_in(folder.path()).is_empty());
        // Its lock in shared memory goes with its folder, which is the runner's to remove.
        let segments = threadwise_process::segments::remove_in_folder(folder.path());
        assert_eq!(segments, usize::from(whom == "postmaster"), "{whom}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn after_a_killed_server_the_next_block_has_a_good_copy_again() {
    let folder = folder();
    let (request, running, session) = at_work(folder.path());
    kill(postmaster(&running.standing().unwrap()));
    drop(session);
    assert!(running.finish().is_err());
    drop(running);
    eventually("processes are left", || processes_in(folder.path()).is_empty());
    let start = start(&request);
    let running = engine().start(&start).unwrap();
    let mut again = running.open(&support::session(&start, 0)).unwrap();
    again.warm().unwrap();
    drop(again);
    running.finish().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_dropped_treatment_takes_its_server_along() {
    let folder = folder();
    let (_, running, session) = at_work(folder.path());
    assert!(!processes_in(folder.path()).is_empty());
    drop((running, session));
    assert!(processes_in(folder.path()).is_empty());
}

/// What the process that is going to be killed does, see the next test.
const VICTIM: &str = "THREADWISE_TEST_VICTIM";

#[test]
#[ignore = "laboratory: servers"]
fn no_server_outlives_a_killed_worker() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        let (_request, _running, mut session) = at_work(Path::new(&folder));
        std::fs::write(Path::new(&folder).join("ready"), "").unwrap();
        // Killed inside.
        let _ = session.slice(&window(600_000));
        return;
    }
    let folder = folder();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lab_servers::faults::no_server_outlives_a_killed_worker", "--include-ignored"])
        .env(VICTIM, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the worker does not start", || folder.path().join("ready").exists());
    assert!(processes_in(folder.path()).len() > 3, "the server is at work");
    kill(victim.id());
    victim.wait().unwrap();
    eventually("the server outlives its worker", || processes_in(folder.path()).is_empty());
    // It had time to end in order: no shared memory of it is left behind.
    let log = find(folder.path(), "log");
    assert!(log.contains("immediate shutdown"), "{log}");
    // What it left is not used again.
    let mut request = load(folder.path(), "logical-io", &SMALL, &[]);
    request.sessions = 1;
    let running = engine().start(&start(&request)).unwrap();
    let log = find(folder.path(), "log");
    assert!(!log.contains("recovery") && !log.contains("immediate"), "a fresh copy: {log}");
    running.finish().unwrap();
}

/// The text of the first file of this name below a run's folder.
fn find(folder: &Path, name: &str) -> String {
    let run = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("postgres-run-"));
    std::fs::read_to_string(run.unwrap().join(name)).unwrap()
}

#[test]
#[ignore = "laboratory: servers"]
fn programs_that_are_too_old_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["postgres", "initdb"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "#!/bin/sh\necho 'postgres (PostgreSQL) 9.2.24'\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let bin = folder.path().to_str().unwrap();
    let request = load(folder.path(), "logical-io", &SMALL, &[("bin", bin)]);
    for error in
        [engine().load(&request).unwrap_err(), engine().version(&request.engine_options).unwrap_err()]
    {
        let text = error.to_string();
        assert!(text.contains("PostgreSQL 9.2.24") && text.contains("older than 11"), "{text}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_setting_that_the_server_does_not_know_is_reported_in_its_words() {
    let folder = folder();
    let request = load(folder.path(), "logical-io", &SMALL, &[("settings.no_such_setting", "1")]);
    let text = engine().load(&request).unwrap_err().to_string();
    assert!(text.contains("no_such_setting") && text.contains("start the server"), "{text}");
    assert!(processes_in(folder.path()).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing half made is left");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_full_disk_is_reported_and_nothing_is_left_running() {
    // In the middle of initdb, and in the middle of loading 128 MB.
    for megabytes in [20, 96] {
        let folder = folder();
        let Some(disk) = SmallDisk::mount(folder.path(), megabytes) else {
            let line = "SKIPPED: a server on a full disk: a small file system needs root and mount(8)\n";
            std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
            return;
        };
        let request = load(&disk.0, "logical-io", &[("blocks", "16384")], &[]);
        let error = engine().load(&request).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), "engine", "{text}");
        let reasons = ["No space left on device", "Check free disk space"];
        assert!(reasons.iter().any(|reason| text.contains(reason)), "{text}");
        assert!(!text.contains('\n'), "{text}");
        assert!(processes_in(&disk.0).is_empty());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_file_that_may_not_grow_is_reported_like_a_full_disk() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        let request = load(Path::new(&folder), "logical-io", &SMALL, &[]);
        let error = engine().load(&request).unwrap_err();
        std::fs::write(Path::new(&folder).join("error"), error.to_string()).unwrap();
        return;
    }
    let folder = folder();
    // 4096 blocks of 512 bytes (sh(1)); a log segment has 16 MB. The limit is inherited by the server.
    let status = Command::new("sh")
        .args([
            "-c",
            "ulimit -f 4096; exec \"$0\" --include-ignored --exact lab_servers::faults::a_file_that_may_not_grow_is_reported_like_a_full_disk",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(VICTIM, folder.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(folder.path().join("error")).unwrap();
    assert!(text.contains("create the data directory") && text.contains("initdb"), "{text}");
    assert!(text.contains("File too large") || text.contains("File size limit exceeded"), "{text}");
    assert!(processes_in(folder.path()).is_empty());
}

/// A small file system in memory.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(folder: &Path, megabytes: u32) -> Option<Self> {
        let path = folder.join("disk");
        std::fs::create_dir(&path).unwrap();
        let mounted = users::is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=0711"), "none"])
                .arg(&path)
                .status()
                .is_ok_and(|status| status.success());
        mounted.then(|| Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_start_without_load_says_so() {
    let folder = folder();
    let request = load(folder.path(), "logical-io", &SMALL, &[]);
    let error: EngineError = engine().start(&start(&request)).map(drop).unwrap_err();
    assert!(error.to_string().contains("load it first"), "{error}");
}
