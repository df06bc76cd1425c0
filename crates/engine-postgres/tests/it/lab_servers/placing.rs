//! Two treatments on one server at once, with service processes in different places.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{cpus, engine, folder, load, session, start};
use threadwise_engine::{Placed, Running, Session, StartRequest};
use threadwise_machine::{CpuSet, pin};

/// A treatment with its sessions open.
struct AtWork {
    running: Box<dyn Running>,
    sessions: Vec<Box<dyn Session>>,
    start: StartRequest,
    placed: Vec<Placed>,
}

fn at_work(start: StartRequest) -> AtWork {
    let running = engine().start(&start).unwrap();
    let open = |number: u32| {
        let mut opened = running.open(&session(&start, number)).unwrap();
        opened.warm().unwrap();
        opened
    };
    let sessions = (0..start.load.sessions).map(open).collect();
    let placed = running.standing().unwrap().placed;
    AtWork { running, sessions, start, placed }
}

fn mask(placed: &Placed) -> CpuSet {
    pin::thread_affinity(placed.pid, placed.tid).unwrap()
}

impl AtWork {
    /// What is ours alone stays where it was put, whoever's turn it is.
    fn own_processes_are_right(&self) {
        let pinned = self.placed.iter().filter(|placed| !placed.cpus.is_empty());
        let names: Vec<&str> = pinned.clone().map(|placed| placed.name.as_str()).collect();
        assert_eq!(names, ["session 0", "session 1", "control"]);
        pinned.for_each(|placed| assert_eq!(mask(placed), placed.cpus, "{placed:?}"));
        for (placed, cpus) in self.placed.iter().zip(&self.start.sessions) {
            assert_eq!(&placed.cpus, cpus);
        }
    }

    /// The service processes are where this treatment wants them.
    fn service_processes_are_right(&self) {
        let shared: Vec<&Placed> = self.placed.iter().filter(|placed| placed.cpus.is_empty()).collect();
        assert!(shared.iter().any(|placed| placed.name == "walwriter"), "{:?}", self.placed);
        shared.iter().for_each(|placed| assert_eq!(mask(placed), self.start.service, "{placed:?}"));
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn treatments_of_one_server_place_its_service_processes_in_turn() {
    let folder = folder();
    let request_of = |workload: &str, given: &[(&str, &str)], first: usize| {
        let mut request = load(folder.path(), workload, given, &[("restart", "study")]);
        request.treatment = workload.to_owned();
        let all: Vec<u32> = cpus().iter().collect();
        let mut start = start(&request);
        start.service = [all[first % all.len()]].into_iter().collect();
        start.sessions.rotate_left(first);
        start
    };
    let reads = request_of("logical-io", &[("blocks", "200"), ("work_unit", "8")], 0);
    let inserts = request_of("insert", &[("seed_rows", "100")], 1);
    let kept = engine().keep(&reads.load, 0).unwrap().unwrap();
    engine().load(&reads.load).unwrap();
    engine().load(&inserts.load).unwrap();
    let (first, second) = (at_work(reads), at_work(inserts));
    for turn in [&first, &second, &first, &second] {
        turn.running.before().unwrap();
        turn.service_processes_are_right();
        first.own_processes_are_right();
        second.own_processes_are_right();
    }
    for AtWork { running, sessions, .. } in [first, second] {
        drop(sessions);
        running.finish().unwrap();
    }
    kept.end().unwrap();
}
