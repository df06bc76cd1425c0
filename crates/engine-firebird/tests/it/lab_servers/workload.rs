//! The workloads on the installed Firebird.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{folder, living, named, options, request, run, start_request, text, whole};
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::{Engine, EngineError, SessionRequest, Window};
use threadwise_engine_firebird::Firebird;
use threadwise_study::OptionValue;

#[test]
#[ignore = "laboratory: servers"]
fn blocks_are_read_from_memory_one_a_row() {
    let folder = folder();
    let load = request(folder.path(), "logical-io", 2, &[("blocks", whole(3000)), ("work_unit", whole(16))]);
    let loaded = Firebird.load(&load).unwrap();
    assert_eq!((loaded.rows_per_session, loaded.bytes_per_session), (3000, 3000 * 8192));
    assert!(loaded.notes[0].contains("one on each page"), "{:?}", loaded.notes);
    // Twice: the second run takes the copy that the first one left in order.
    for _ in 0..2 {
        let ran = run(&load, 3, 400).unwrap();
        ran.finished.unwrap();
        assert!(ran.notes.iter().any(|note| note.contains("INDEX (BY_K_BLOCKS_0)")), "{:?}", ran.notes);
        let names: Vec<&str> = ran.placed.iter().map(|placed| placed.name.as_str()).collect();
        assert!(
            names.starts_with(&["session 0", "session 1"]) && names.contains(&"control session"),
            "{names:?}"
        );
        for (sessions, _) in &ran.slices {
            for session in sessions {
                assert!(session.steps > 0 && session.rows == session.steps * 16, "{session:?}");
                let reads = session.counters["logical_reads"];
                assert!((2 * session.rows..5 * session.rows).contains(&reads), "{session:?}");
                assert!(session.counters["physical_reads"] * 100 <= reads, "{session:?}");
                assert!(session.cpu_ns > 0 && session.latency.is_empty());
                assert_eq!((session.answers_checked, session.answers_wrong), (session.steps, 0));
            }
        }
        assert!(living(folder.path()).is_empty());
    }
    assert_eq!(named(folder.path(), "firebird-run-").len(), 1);
}

#[test]
#[ignore = "laboratory: servers"]
fn hot_spots_shared_tables_and_updates_give_right_answers() {
    let number = OptionValue::Number;
    for pairs in [
        vec![("shared", OptionValue::Flag(true))],
        vec![("hot_pct", number(90.0)), ("hot_blocks", whole(40)), ("work_unit", whole(8))],
        vec![("update_pct", number(30.0)), ("work_unit", whole(8))],
        vec![("update_pct", number(100.0)), ("hot_pct", number(50.0)), ("hot_blocks", whole(64))],
    ] {
        let folder = folder();
        let pairs = [&[("blocks", whole(400))], pairs.as_slice()].concat();
        let ran = run(&request(folder.path(), "logical-io", 2, &pairs), 2, 400).unwrap();
        assert_eq!(ran.finished, Ok(()), "{pairs:?}");
        for (sessions, _) in &ran.slices {
            assert!(sessions.iter().all(|session| session.steps > 0), "{pairs:?} {sessions:?}");
            let updates = pairs.iter().any(|(name, _)| *name == "update_pct");
            let count = |name: &str| sessions.iter().map(|session| session.counters[name]).sum::<u64>();
            let rows: u64 = sessions.iter().map(|session| session.rows).sum();
            // To change a row takes more accesses than to read it.
            assert_eq!(count("logical_reads") > 3 * rows, updates, "{pairs:?} {sessions:?}");
        }
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn rows_are_inserted_as_the_sessions_say() {
    for (key, durability, rows_per_tx) in [
        ("sequential", "relaxed", 2),
        ("random", "relaxed", 2),
        ("random", "full", 1),
        ("sequential", "full", 50),
    ] {
        let folder = folder();
        let pairs = [
            ("key", text(key)),
            ("durability", text(durability)),
            ("rows_per_tx", whole(rows_per_tx)),
            ("seed_rows", whole(30_000)),
        ];
        let ran = run(&request(folder.path(), "insert", 2, &pairs), 3, 200).unwrap();
        assert_eq!(ran.finished, Ok(()), "{key} {durability}");
        let slices = ran.slices.iter().flat_map(|(sessions, _)| sessions);
        assert!(slices.clone().all(|session| session.rows == rows_per_tx as u64 * session.steps));
        assert!(slices.map(|session| session.rows).sum::<u64>() > 0);
        // A commit that waits for the disk has to write first.
        assert!(
            ran.slices
                .iter()
                .flat_map(|(sessions, _)| sessions)
                .any(|session| session.counters["pages_written"] > 0),
            "{:?}",
            ran.slices
        );
        assert!(living(folder.path()).is_empty() && named(folder.path(), "firebird-run-").is_empty());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_fixed_amount_of_work_is_done_to_the_row() {
    let folder = folder();
    for key in ["sequential", "random"] {
        let pairs = [
            ("rows_per_session", whole(400)),
            ("seed_rows", whole(10)),
            ("rows_per_tx", whole(4)),
            ("key", text(key)),
        ];
        let ran = run(&request(folder.path(), "insert", 2, &pairs), 1, 60_000).unwrap();
        ran.finished.unwrap();
        for session in &ran.slices[0].0 {
            assert_eq!((session.rows, session.steps), (400, 100));
            assert!(session.finished_ns.is_some_and(|ns| ns > 0 && ns < 60_000_000_000));
        }
    }
    let much = request(
        folder.path(),
        "insert",
        1,
        &[("rows_per_session", whole(100_000_000)), ("seed_rows", whole(0))],
    );
    let error = run(&much, 1, 50).unwrap_err().to_string();
    assert!(error.contains("of 100000000 rows were inserted when the time was up"), "{error}");
}

#[test]
#[ignore = "laboratory: servers"]
fn impossible_requests_are_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let number = OptionValue::Number;
    for (workload, pairs, part) in [
        ("tpc-c", vec![], "has no 'tpc-c'"),
        ("insert", vec![("rows_per_tx", whole(0)), ("rows_per_session", whole(5))], "firebird"),
        ("insert", vec![("table", text("unlogged"))], "durability=relaxed"),
        ("insert", vec![("loop", text("client"))], "leave it and --rate out"),
        ("logical-io", vec![("key", text("random"))], "key"),
        ("logical-io", vec![("think_time_us", whole(5))], "no pause"),
        (
            "logical-io",
            vec![("shared", OptionValue::Flag(true)), ("update_pct", number(1.0))],
            "update conflict",
        ),
    ] {
        let error = Firebird.check(&request(folder.path(), workload, 1, &pairs)).unwrap_err();
        assert!(matches!(error, EngineError::Option { .. }) && error.to_string().contains(part), "{error}");
    }
    let mut load = request(folder.path(), "insert", 1, &[]);
    load.engine_options = options(&[("url", text("firebird://me@host/x"))]);
    assert!(Firebird.check(&load).unwrap_err().to_string().contains("not measured"));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_missing_firebird_names_the_packages() {
    let folder = folder();
    let mut load = request(folder.path(), "insert", 1, &[]);
    load.engine_options = options(&[("bin", text(folder.path().to_str().unwrap()))]);
    let message = Firebird.load(&load).unwrap_err().to_string();
    assert!(
        message.contains("firebird3.0-utils") && message.contains("firebird3.0-server-core"),
        "{message}"
    );
    assert_eq!(Firebird.version(&load.engine_options).unwrap_err().to_string(), message);
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
    let error = Firebird.start(&start_request(&load)).err().unwrap().to_string();
    assert!(error.contains("load it first"), "{error}");
}

#[test]
#[ignore = "laboratory: servers"]
fn what_ends_outside_of_the_window_is_not_counted() {
    let folder = folder();
    for (workload, pairs) in [
        ("logical-io", vec![("blocks", whole(400)), ("work_unit", whole(1))]),
        ("insert", vec![("seed_rows", whole(10)), ("durability", text("relaxed"))]),
    ] {
        let load = request(folder.path(), workload, 1, &pairs);
        Firebird.load(&load).unwrap();
        let start = start_request(&load);
        let running = Firebird.start(&start).unwrap();
        let cpus = start.sessions[0].clone();
        let opened = SessionRequest { load, session: 0, sessions: 1, cpus, seed: 3 };
        let mut session = running.open(&opened).unwrap();
        session.warm().unwrap();
        let now_ns = monotonic_ns();
        let past = Window {
            sequence: 0,
            start_ns: now_ns - 60_000_000,
            end_ns: now_ns - 10_000_000,
            piece_ns: None,
            arrivals: None,
        };
        let slice = session.slice(&past).unwrap();
        assert_eq!((slice.steps, slice.rows), (0, 0), "{workload}");
        let begun_ns = monotonic_ns() + 40_000_000;
        let coming = Window {
            sequence: 1,
            start_ns: begun_ns,
            end_ns: begun_ns + 200_000_000,
            piece_ns: None,
            arrivals: None,
        };
        assert!(session.slice(&coming).unwrap().steps > 0, "{workload}");
        assert!(
            monotonic_ns() >= coming.end_ns - 1_000_000,
            "{workload}: it came back before the window's end"
        );
        drop(session);
        running.finish().unwrap();
    }
}
