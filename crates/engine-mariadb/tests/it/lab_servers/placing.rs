//! Two treatments on one server at once, with service threads in different places.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::user_server::UserServer;
use crate::support::{folder, options, request, start_request, text, whole};
use mysql::prelude::Queryable;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use threadwise_engine::{Engine, LoadRequest, Placed, Running, Session, SessionRequest, StartRequest};
use threadwise_engine_mariadb::Mariadb;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_affinity, thread_affinity};
use threadwise_process::{masks, proc};
use threadwise_study::Options;

/// A treatment with its sessions open.
struct AtWork {
    running: Box<dyn Running>,
    sessions: Vec<Box<dyn Session>>,
    start: StartRequest,
    placed: Vec<Placed>,
}

fn at_work(start: StartRequest) -> AtWork {
    let running = Mariadb.start(&start).unwrap();
    let open = |session: u32| {
        let request = SessionRequest {
            load: start.load.clone(),
            session,
            sessions: start.load.sessions,
            cpus: start.sessions[session as usize].clone(),
            seed: start.seed,
        };
        let mut session = running.open(&request).unwrap();
        session.warm().unwrap();
        session
    };
    let sessions = (0..start.load.sessions).map(open).collect();
    let placed = running.standing().unwrap().placed;
    AtWork { running, sessions, start, placed }
}

fn mask(placed: &Placed) -> CpuSet {
    thread_affinity(placed.pid, placed.tid).unwrap()
}

impl AtWork {
    /// What is ours alone stays where it was put, whoever's turn it is.
    fn own_threads_are_right(&self) {
        let pinned = self.placed.iter().filter(|placed| !placed.cpus.is_empty());
        let names: Vec<&str> = pinned.clone().map(|placed| placed.name.as_str()).collect();
        assert_eq!(names, ["session 0", "session 1", "control connection"]);
        pinned.for_each(|placed| assert_eq!(mask(placed), placed.cpus, "{placed:?}"));
        for (placed, cpus) in self.placed.iter().zip(&self.start.sessions) {
            assert_eq!(&placed.cpus, cpus);
        }
    }

    /// The service threads are where this treatment wants them. Threads of InnoDB's pool may have ended.
    fn service_threads_are_right(&self) {
        let still = |placed: &&Placed| thread_affinity(placed.pid, placed.tid).is_ok();
        let shared: Vec<&Placed> =
            self.placed.iter().filter(|placed| placed.cpus.is_empty()).filter(still).collect();
        assert!(shared.len() > 3, "{:?}", self.placed);
        shared.iter().for_each(|placed| assert_eq!(mask(placed), self.start.service, "{placed:?}"));
    }
}

/// Two treatments of the same server, each with its service threads on another logical CPU.
fn two_treatments(folder: &Path, engine_options: &Options, journal: Option<&Path>) {
    let load_of = |workload: &str, pairs: &[(&str, i64)], first: usize| {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, whole(*value))).collect();
        let mut load: LoadRequest = request(folder, workload, 2, &pairs);
        load.engine_options = engine_options.clone();
        load.treatment = workload.to_owned();
        Mariadb.load(&load).unwrap();
        let mut start = start_request(&load);
        let cpus: Vec<u32> = current_affinity().unwrap().iter().collect();
        start.service = [cpus[first % cpus.len()]].into_iter().collect();
        start.sessions.rotate_left(first);
        start.journal = journal.map(Path::to_owned);
        start
    };
    let first = at_work(load_of("logical-io", &[("blocks", 200), ("work_unit", 8)], 0));
    let second = at_work(load_of("insert", &[("seed_rows", 100)], 1));
    for turn in [&first, &second, &first, &second] {
        turn.running.before().unwrap();
        turn.service_threads_are_right();
        first.own_threads_are_right();
        second.own_threads_are_right();
    }
    for AtWork { running, sessions, .. } in [first, second] {
        drop(sessions);
        running.finish().unwrap();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn treatments_of_one_server_of_ours_place_its_service_threads_in_turn() {
    let folder = folder();
    let engine_options = options(&[("restart", text("study"))]);
    let mut load = request(folder.path(), "logical-io", 2, &[("blocks", whole(200))]);
    load.engine_options = engine_options.clone();
    let keeper = Mariadb.keep(&load, 0).unwrap().unwrap();
    two_treatments(folder.path(), &engine_options, None);
    keeper.end().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn treatments_of_the_users_server_place_its_service_threads_in_turn() {
    let (server, folder, private) = (UserServer::start(&[]), folder(), tempfile::tempdir().unwrap());
    std::fs::set_permissions(private.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let engine_options = server.options("root");
    let mut load = request(folder.path(), "logical-io", 2, &[("blocks", whole(200))]);
    load.engine_options = engine_options.clone();
    let keeper = Mariadb.keep(&load, 0).unwrap().unwrap();
    let journal = private.path().join("masks");
    two_treatments(folder.path(), &engine_options, Some(&journal));
    let restored = threadwise_process::journal::restore(&journal).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
    keeper.end().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_service_thread_that_starts_later_is_found_before_the_next_slice() {
    let folder = folder();
    let load = request(folder.path(), "insert", 2, &[("seed_rows", whole(10))]);
    Mariadb.load(&load).unwrap();
    let mut start = start_request(&load);
    let cpus: Vec<u32> = current_affinity().unwrap().iter().collect();
    let elsewhere: CpuSet = [cpus[0]].into_iter().collect();
    start.service = cpus.iter().copied().skip(cpus.len() - 1).collect();
    let at_work = at_work(start);
    let pid = at_work.placed[0].pid;
    let socket = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap().join("mariadbd.sock");
    let opts = mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket.to_string_lossy()));
    let mut connection = mysql::Conn::new(opts).unwrap();
    let connection_tid: u32 = connection
        .query_first("SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")
        .unwrap()
        .unwrap();
    // The events' thread inherits the mask of the one that asks for it.
    masks::set_thread(connection_tid, &elsewhere).unwrap();
    let before = proc::threads(pid);
    connection.query_drop("SET GLOBAL event_scheduler = ON").unwrap();
    let new: Vec<u32> = proc::threads(pid)
        .into_iter()
        .filter(|thread| !before.contains(thread))
        .map(|(tid, _)| tid)
        .collect();
    assert!(!new.is_empty());
    at_work.running.before().unwrap();
    // InnoDB's pool may have ended one of its own meanwhile.
    let masks: Vec<CpuSet> = new.iter().filter_map(|tid| thread_affinity(pid, *tid).ok()).collect();
    assert!(!masks.is_empty() && masks.iter().all(|mask| *mask == at_work.start.service), "{masks:?}");
    assert_eq!(
        thread_affinity(pid, connection_tid).unwrap(),
        elsewhere,
        "others' connections are left alone"
    );
    let AtWork { running, sessions, .. } = at_work;
    drop(sessions);
    running.finish().unwrap();
}
