//! `parallel-scan` on a private PostgreSQL: who scanned how much, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::{cpus, engine, session};
use std::path::Path;
use threadwise_engine::{EngineError, LoadRequest, StartRequest, Window};
use threadwise_study::parallel::Parts;

const ROWS: &str = "400000";

fn request(folder: &Path, given: &[(&str, &str)]) -> LoadRequest {
    let options = [&[("rows", ROWS)], given].concat();
    LoadRequest { sessions: 1, ..support::load(folder, "parallel-scan", &options, &[]) }
}

/// A start whose one session has all logical CPUs.
fn start(load: &LoadRequest) -> StartRequest {
    StartRequest { sessions: vec![cpus()], ..support::start(load) }
}

/// One slice of two scans of a treatment.
fn slice(load: &LoadRequest) -> (threadwise_study::SessionSlice, Parts) {
    let start = start(load);
    let running = engine().start(&start).unwrap();
    let mut open = running.open(&session(&start, 0)).unwrap();
    open.warm().unwrap();
    running.standing().unwrap();
    running.before().unwrap();
    let window: Window = support::window(60_000);
    let slice = std::thread::scope(|scope| {
        let during = scope.spawn(|| running.during(&window));
        let slice = open.slice(&window).unwrap();
        during.join().unwrap().unwrap();
        slice
    });
    let mut sessions = [slice];
    let counters = running.after(&mut sessions).unwrap();
    drop(open);
    running.finish().unwrap();
    let [slice] = sessions;
    (slice, Parts::read(&counters).unwrap())
}

#[test]
#[ignore = "laboratory: servers"]
fn every_process_says_its_rows_and_all_of_them_are_the_tables() {
    let folder = support::folder();
    let load = |dop: &str| request(folder.path(), &[("dop", dop), ("rows_per_session", "800000")]);
    let keeper = engine().keep(&load("1"), 4).unwrap().unwrap();
    assert_eq!(engine().load(&load("1")).unwrap().rows_per_session, 400_000);
    // Found, and not made again: nothing is new on the disk.
    assert_eq!(engine().load(&load("2")).unwrap().bytes_per_session, 0);
    for dop in [1_u64, 2] {
        // On a busy machine whoever looks may get no CPU for a whole scan: another slice will do.
        let mut tries = (0..20).map(|_| slice(&load(&dop.to_string())));
        let (slice, parts) = tries.find(|(_, parts)| parts.unsampled_scans == 0).unwrap();
        assert_eq!((slice.steps, slice.rows), (2, 800_000), "{slice:?}");
        assert_eq!((slice.answers_checked, slice.answers_wrong), (2, 0));
        assert!(slice.finished_ns.unwrap() > 0 && slice.cpu_ns > 0);
        assert_eq!((parts.scans, parts.unsampled_scans), (2, 0), "{parts:?}");
        assert!(parts.processes <= 2 * dop && parts.processes >= 2, "{parts:?}");
        assert_eq!(parts.by_process.iter().map(|one| one.rows).sum::<u64>(), 800_000);
        for one in &parts.by_process {
            assert!(one.running_ns > 0 && one.running_ns <= parts.span_ns, "{parts:?}");
            assert!(one.sibling_busy_ns <= one.running_ns);
        }
        // Parts by rate are never slower than equal ones; of one process both are its own time.
        assert!(parts.equal_ns >= parts.by_rate_ns.saturating_sub(2), "{parts:?}");
        assert!(dop > 1 || (parts.tail_ns == 0 && parts.processes == 2), "{parts:?}");
        let looking = parts.looking_ns as f64 / parts.span_ns as f64;
        assert!(parts.looking_ns > 0 && parts.samples >= 6, "{parts:?}: {looking}");
    }
    keeper.end().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn what_cannot_be_watched_or_told_apart_is_refused() {
    let folder = support::folder();
    let refused = |load: LoadRequest| match engine().check(&load).unwrap_err() {
        EngineError::Option { option, why } => (option, why),
        other => panic!("{other}"),
    };
    let alone = request(folder.path(), &[]);
    let (option, why) = refused(LoadRequest { sessions: 2, ..alone.clone() });
    assert!(option == "sessions" && why.contains("dop"), "{option}: {why}");
    let url = support::options(&[("url", "postgres://app@127.0.0.1:1/none")]);
    let (option, why) = refused(LoadRequest { engine_options: url, ..alone.clone() });
    assert!(option == "workload" && why.contains("private server"), "{option}: {why}");
    let (option, _) = refused(request(folder.path(), &[("rows_per_session", "600000")]));
    assert_eq!(option, "rows_per_session");
}
