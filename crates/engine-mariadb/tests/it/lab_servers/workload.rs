//! The workloads on a private server.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{Ran, folder, living, options, request, run, start_request, text, whole, work};
use mysql::prelude::Queryable;
use threadwise_engine::{Engine, EngineError};
use threadwise_engine_mariadb::Mariadb;
use threadwise_study::OptionValue;

#[test]
#[ignore = "laboratory: servers"]
fn blocks_are_read_from_memory_one_a_row() {
    let folder = folder();
    let load = request(folder.path(), "logical-io", 2, &[("blocks", whole(512)), ("work_unit", whole(16))]);
    let loaded = Mariadb.load(&load).unwrap();
    assert_eq!((loaded.rows_per_session, loaded.bytes_per_session), (512, 512 * 16384));
    assert!(loaded.notes[0].contains("leaf pages in mysql.innodb_index_stats"), "{:?}", loaded.notes);
    let ran = run(&load, 3, 100).unwrap();
    ran.finished.unwrap();
    assert!(
        ran.notes.iter().any(|note| note.contains("plan of a step: type range, key by_k")),
        "{:?}",
        ran.notes
    );
    let names: Vec<&str> = ran.placed.iter().map(|placed| placed.name.as_str()).collect();
    assert!(names.starts_with(&["session 0", "session 1", "control connection"]), "{names:?}");
    let others = names.iter().filter(|name| !name.starts_with("session")).count();
    assert!(names.contains(&"main") && others > 3, "{names:?}");
    for (sessions, counters) in &ran.slices {
        for session in sessions {
            assert!(session.steps > 0 && session.rows == session.steps * 16, "{session:?}");
            let reads = session.counters["logical_reads"];
            assert!((2 * session.rows..6 * session.rows).contains(&reads), "{session:?}");
            assert!(session.counters["physical_reads"] * 1000 <= reads, "{session:?}");
            assert!(session.cpu_ns > 0 && session.latency.is_empty());
        }
        assert!(counters["waits_sampled"] >= 2, "{counters:?}");
    }
    assert!(living(folder.path()).is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn the_client_loop_gives_latencies() {
    let folder = folder();
    let pairs = [
        ("blocks", whole(256)),
        ("work_unit", whole(8)),
        ("update_pct", OptionValue::Number(20.0)),
        ("loop", text("client")),
    ];
    let ran = run(&request(folder.path(), "logical-io", 1, &pairs), 2, 100).unwrap();
    ran.finished.unwrap();
    let session = &ran.slices[1].0[0];
    assert!(session.steps > 0 && !session.latency.is_empty() && session.counters["client_cpu_ns"] > 0);
    assert!(session.cpu_ns > 0, "{session:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn rows_are_inserted_as_the_sessions_say() {
    for (key, table, place) in [
        ("sequential", "durable", "server"),
        ("random", "durable", "server"),
        ("random", "unlogged", "server"),
        ("sequential", "durable", "client"),
        ("random", "durable", "client"),
    ] {
        let folder = folder();
        let pairs = [
            ("key", text(key)),
            ("table", text(table)),
            ("loop", text(place)),
            ("durability", text("relaxed")),
            ("seed_rows", whole(3000)),
        ];
        let ran = run(&request(folder.path(), "insert", 2, &pairs), 2, 100).unwrap();
        assert_eq!(ran.finished, Ok(()), "{key} {table} {place}");
        for (sessions, _) in &ran.slices {
            assert!(sessions.iter().all(|session| session.rows == 2 * session.steps));
            assert!(sessions.iter().map(|session| session.rows).sum::<u64>() > 0);
        }
        assert!(living(folder.path()).is_empty());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_fixed_amount_of_work_is_done_to_the_row() {
    let folder = folder();
    let pairs = [("rows_per_session", whole(400)), ("seed_rows", whole(10)), ("rows_per_tx", whole(4))];
    let load = request(folder.path(), "insert", 2, &pairs);
    let ran = run(&load, 1, 60_000).unwrap();
    ran.finished.unwrap();
    for session in &ran.slices[0].0 {
        assert_eq!((session.rows, session.steps), (400, 100));
        assert!(session.finished_ns.is_some_and(|ns| ns > 0 && ns < 60_000_000_000));
    }
    for (key, place) in [("sequential", "server"), ("random", "server"), ("random", "client")] {
        let pairs = [
            ("rows_per_session", whole(3000)),
            ("rows_per_tx", whole(1000)),
            ("seed_rows", whole(0)),
            ("key", text(key)),
            ("loop", text(place)),
        ];
        let ran = run(&request(folder.path(), "insert", 2, &pairs), 1, 60_000).unwrap();
        let session = &ran.slices[0].0[1];
        assert_eq!((&ran.finished, session.steps, session.rows), (&Ok(()), 3, 3000), "{key} {place}");
        assert!(session.finished_ns.is_some() && session.cpu_ns > 0, "{session:?}");
        assert_eq!(session.latency.is_empty(), place == "server");
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
    for (workload, pairs, part) in [
        ("tpc-c", vec![], "has no 'tpc-c'"),
        ("insert", vec![("rows_per_tx", whole(0)), ("rows_per_session", whole(5))], "mariadb"),
        ("logical-io", vec![("key", text("random"))], "key"),
    ] {
        let error = Mariadb.check(&request(folder.path(), workload, 1, &pairs)).unwrap_err();
        assert!(matches!(error, EngineError::Option { .. }) && error.to_string().contains(part), "{error}");
    }
    let mut load = request(folder.path(), "insert", 1, &[]);
    load.engine_options = options(&[("url", text("mariadb://me:hush@host/"))]);
    let error = Mariadb.check(&load).unwrap_err().to_string();
    assert!(error.contains("MYSQL_PWD") && !error.contains("hush"), "{error}");
}

#[test]
#[ignore = "laboratory: servers"]
fn one_server_for_the_study_serves_all_treatments() {
    let folder = folder();
    let load_of = |workload: &str, pairs: &[(&str, OptionValue)]| {
        let mut load = request(folder.path(), workload, 2, pairs);
        load.engine_options = options(&[("restart", text("study"))]);
        load
    };
    let blocks = load_of(
        "logical-io",
        &[
            ("blocks", whole(300)),
            ("update_pct", OptionValue::Number(10.0)),
            ("shared", OptionValue::Flag(true)),
        ],
    );
    let keeper = Mariadb.keep(&blocks, 0).unwrap().unwrap();
    for load in [
        &blocks,
        &load_of("insert", &[("seed_rows", whole(500)), ("key", text("random"))]),
        &load_of("insert", &[("seed_rows", whole(500)), ("table", text("unlogged"))]),
    ] {
        // Twice: what the first run changed has been put back.
        for _ in 0..2 {
            let ran = run(load, 1, 50).unwrap();
            assert_eq!(ran.finished, Ok(()));
            assert!(ran.notes.iter().any(|note| note.contains("restart=study")), "{:?}", ran.notes);
        }
    }
    // What a killed run left in the table is taken out before the next one.
    let load = load_of("insert", &[("seed_rows", whole(500)), ("key", text("random"))]);
    let home = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let home = home.into_iter().find(|path| path.to_string_lossy().contains("mariadb-study-")).unwrap();
    let socket = home.join("data/mariadbd.sock").to_string_lossy().into_owned();
    let opts = mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket));
    let mut connection = mysql::Conn::new(opts).unwrap();
    let table: String = connection
        .query_first(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'inserted%' AND ENGINE = 'InnoDB'",
        )
        .unwrap()
        .unwrap();
    let left = format!("INSERT INTO threadwise.{table} (c1, c4, c6) VALUES (3, 1, 3), (5, 2, 5)");
    connection.query_drop(left).unwrap();
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
    assert_eq!(living(folder.path()).len(), 1);
    keeper.end().unwrap();
    assert!(living(folder.path()).is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_session_that_waits_for_a_lock_is_seen_waiting() {
    for (waits, names, noted) in [
        ("states", Some("waits/Waiting for table"), false),
        ("instruments", Some("waits/synch/cond/"), true),
        ("none", None, false),
    ] {
        let ran = locked_out(waits);
        assert_eq!(ran.finished, Ok(()));
        let (counters, notes) = (&ran.slices[1].1, &ran.notes);
        assert_eq!(notes.iter().any(|note| note.contains("1.165 times the CPU time")), noted, "{notes:?}");
        assert_eq!(counters.contains_key("waits_sampled"), names.is_some(), "{waits}: {counters:?}");
        let seen = counters.keys().any(|name| names.is_some_and(|names| name.starts_with(names)));
        assert_eq!(seen, names.is_some(), "{waits}: {counters:?}");
    }
}

/// Two slices of inserts; during the second one another session holds a lock on the table for a while.
fn locked_out(waits: &str) -> Ran {
    let folder = folder();
    let pairs = [("seed_rows", whole(10)), ("table", text("unlogged"))];
    let mut load = request(folder.path(), "insert", 1, &pairs);
    load.engine_options = options(&[("waits", text(waits))]);
    Mariadb.load(&load).unwrap();
    let start = start_request(&load);
    let running = Mariadb.start(&start).unwrap();
    let run_folder = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("mariadb-run"))
        .unwrap();
    let socket = run_folder.join("data/mariadbd.sock").to_string_lossy().into_owned();
    let mut locker: Option<mysql::Conn> = None;
    work(running, &start, 2, 300, |slice| {
        if slice == 0 {
            let opts = mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket.clone()));
            let mut connection = mysql::Conn::new(opts).unwrap();
            connection.query_drop("LOCK TABLES threadwise.inserted READ").unwrap();
            let id = connection.connection_id();
            let opts = mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket.clone()));
            // Lets go after the second window has begun and most of it is over.
            std::thread::spawn(move || {
                let mut other = mysql::Conn::new(opts).unwrap();
                other.query_drop("DO SLEEP(0.25)").unwrap();
                other.query_drop(format!("KILL {id}")).unwrap();
            });
            locker = Some(connection);
        }
    })
    .unwrap()
}
