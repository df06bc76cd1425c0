//! Private clusters: made, filled, copied, placed, stopped; nothing of them stays.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{engine, folder, load, processes_in, programs, session, start, window};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use threadwise_engine::{LoadRequest, Running, Session};
use threadwise_engine_postgres::cluster;
use threadwise_engine_postgres::options::Managed;
use threadwise_machine::pin;
use threadwise_process::folder_processes;

const SMALL: [(&str, &str); 2] = [("blocks", "64"), ("work_unit", "8")];

/// Opens all sessions, one after the other on this thread.
fn open(running: &dyn Running, request: &LoadRequest) -> Vec<Box<dyn Session>> {
    let start = start(request);
    let open = |number| {
        let mut session = running.open(&session(&start, number)).unwrap();
        session.warm().unwrap();
        session
    };
    (0..request.sessions).map(open).collect()
}

#[test]
#[ignore = "laboratory: servers"]
fn a_treatment_runs_on_a_cluster_of_its_own_and_leaves_no_process() {
    let programs = programs();
    let folder = folder();
    let request = load(folder.path(), "logical-io", &SMALL, &[]);
    engine().check(&request).unwrap();
    assert!(engine().keep(&request, 0).unwrap().is_none());
    assert_eq!(engine().version(&request.engine_options).unwrap(), programs.version);

    let loaded = engine().load(&request).unwrap();
    assert_eq!(loaded.rows_per_session, 64);
    assert_eq!(engine().load(&request).unwrap(), loaded, "found again");
    assert!(processes_in(folder.path()).is_empty(), "the loader's server has been stopped");

    let running = engine().start(&start(&request)).unwrap();
    let mut sessions = open(&*running, &request);
    let standing = running.standing().unwrap();
    let names: BTreeSet<&str> = standing.placed.iter().map(|placed| placed.name.as_str()).collect();
    for name in ["session 0", "session 1", "checkpointer", "walwriter", "background writer", "postmaster"] {
        assert!(names.contains(name), "{name} is missing: {names:?}");
    }
    assert!(!names.contains("autovacuum launcher") && !names.contains("logical replication launcher"));
    for placed in &standing.placed {
        assert_eq!(pin::thread_affinity(placed.pid, placed.tid).unwrap(), placed.cpus, "{placed:?}");
    }
    assert_eq!(standing.placed[0].name, "session 0");
    assert_eq!(standing.placed[1].cpus, start(&request).sessions[1]);

    let living: BTreeSet<u32> = processes_in(folder.path()).into_iter().collect();
    let placed: BTreeSet<u32> = standing.placed.iter().map(|placed| placed.pid).collect();
    assert_eq!(living, placed, "every process of the server is placed and reported");

    running.before().unwrap();
    let window = window(50);
    let mut slices = vec![sessions[0].slice(&window).unwrap()];
    running.after(&mut slices).unwrap();
    assert!(slices[0].rows > 0 && slices[0].answers_wrong == 0);
    drop(sessions);
    running.finish().unwrap();
    assert!(processes_in(folder.path()).is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn the_cluster_is_private_and_listens_on_no_network() {
    let folder = folder();
    let request = load(folder.path(), "logical-io", &SMALL, &[("settings.wal_buffers", "1MB")]);
    engine().load(&request).unwrap();
    let running = engine().start(&start(&request)).unwrap();
    let run = only(folder.path(), "postgres-run-");
    let data = run.join("data");
    let entry = std::fs::metadata(&data).unwrap();
    assert_eq!(entry.permissions().mode() & 0o777, 0o700);
    let socket = std::fs::symlink_metadata(data.join(".s.PGSQL.5432")).unwrap();
    assert_eq!((socket.permissions().mode() & 0o777, socket.uid()), (0o700, entry.uid()));
    assert_ne!(entry.uid(), 0, "a server never runs as root");
    let server = threadwise_engine_postgres::cluster::connect(&data).unwrap();
    let mut client = server.connect("test").unwrap();
    let mut show = |name: &str| client.query_one(&format!("SHOW {name}"), &[]).unwrap().get::<_, String>(0);
    assert_eq!(show("listen_addresses"), "");
    assert_eq!(show("wal_buffers"), "1MB");
    assert_eq!(show("fsync"), "on");
    assert_eq!(show("synchronous_commit"), "on");
    assert!(server.is_local() && server.version_num() >= 110_000);
    let postmaster = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let postmaster: u32 = postmaster.lines().next().unwrap().parse().unwrap();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{postmaster}/net/{table}")).unwrap_or_default();
        let inodes = sockets(postmaster);
        let ours =
            text.lines().filter(|line| line.split_whitespace().nth(9).is_some_and(|it| inodes.contains(it)));
        assert_eq!(ours.count(), 0, "a TCP socket");
    }
    drop(client);
    running.finish().unwrap();
}

/// Socket numbers that a process has open (proc_pid_fd(5)).
fn sockets(pid: u32) -> BTreeSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect()
}

/// The one folder of this kind.
fn only(folder: &std::path::Path, prefix: &str) -> std::path::PathBuf {
    let found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// The folder for the client that the test below starts.
const FOLDER: &str = "THREADWISE_TEST_FOLDER";

/// What the next test starts and kills; by itself it has nothing to test.
#[test]
#[ignore = "laboratory: servers"]
fn a_cluster_is_made() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let home = cluster::home(Path::new(&folder), "made", "");
    cluster::prepare(&home, &programs(), &Managed::default(), 0, 1).unwrap();
}

/// System V segments that this process made, and its files in /dev/shm.
fn shared_memory(pid: u32) -> (Vec<String>, BTreeSet<String>) {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let made = rows.filter(|row| row[4] == pid.to_string()).map(|row| row[1].to_owned()).collect();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let files =
        maps.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("/dev/shm/")));
    (made, files.map(str::to_owned).collect())
}

#[test]
#[ignore = "laboratory: servers"]
fn an_initdb_whose_starter_was_killed_leaves_no_shared_memory() {
    // From the servers that it tries settings with, to those that fill the catalogues.
    for skipped in [0, 1, 3, 5] {
        let folder = folder();
        let mut maker = Command::new(std::env::current_exe().unwrap());
        maker
            .args(["--exact", "lab_servers::cluster::a_cluster_is_made", "--include-ignored"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut maker = maker.env(FOLDER, folder.path()).spawn().unwrap();
        let mut seen = BTreeSet::new();
        let found = loop {
            let has_memory = |pid: &u32| !seen.contains(pid) && !shared_memory(*pid).0.is_empty();
            match folder_processes::in_folder(folder.path()).unwrap().into_iter().find(has_memory) {
                Some(pid) if seen.len() == skipped => break Some((pid, shared_memory(pid))),
                Some(pid) => drop(seen.insert(pid)),
                None if maker.try_wait().unwrap().is_some() => break None,
                None => {}
            }
        };
        // initdb may be done before so many servers were seen.
        let Some((pid, (_, files))) = found else { continue };
        maker.kill().unwrap();
        maker.wait().unwrap();
        folder_processes::end_in_folder(folder.path(), Duration::from_secs(60)).unwrap();
        assert_eq!(shared_memory(pid).0, [] as [String; 0], "server {skipped}");
        assert!(!files.iter().any(|file| Path::new(file).exists()), "server {skipped}: {files:?}");
    }
}
