//! Transactions of a user's own statements on a server of the user's.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::theirs::Theirs;
use crate::support::{engine, eventually, folder, programs, session, start, window};
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_engine::{EngineError, LoadRequest, latency};
use threadwise_engine_sql::fill;
use threadwise_process::{Signal, stopping};
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::{OptionValue, Options, SessionSlice};

const TABLES: &str = "CREATE SCHEMA shop; SET search_path = shop;
    CREATE TABLE c(id integer PRIMARY KEY, small smallint, price numeric, name text, n bigint);
    INSERT INTO c SELECT i, i % 10, i / 4.0, i::text, 0 FROM generate_series(1, 1000) AS i;
    CREATE FUNCTION bump(which integer) RETURNS bigint LANGUAGE sql
        AS 'UPDATE shop.c SET n = n + 1 WHERE id = which RETURNING n';
    ALTER DATABASE postgres SET search_path = shop";

const READS: &str = "-- Each type that a whole number can stand for.
-- :id 1..1000
-- :small 0..9
SELECT * FROM c WHERE id = :id AND n >= :small;
SELECT count(*) FROM c WHERE small = :small AND price < :id AND name <> :id;
SELECT ':id', :id::text";

fn request(url: &str, folder: &Path, sql: &str, may_write: Option<&str>) -> LoadRequest {
    let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
    LoadRequest {
        options: std::iter::once(text(SQL, sql)).chain(may_write.map(|name| text(MAY_WRITE, name))).collect(),
        engine_options: Options::from([text("url", url)]),
        ..support::load(folder, "transaction", &[], &[])
    }
}

/// What two sessions do in a window, with the notes.
fn measure(load: &LoadRequest) -> Result<(Vec<SessionSlice>, Vec<String>), EngineError> {
    engine().check(load)?;
    assert!(engine().keep(load, 0)?.is_none(), "something is kept in the user's server");
    let loaded = engine().load(load)?;
    let start = start(load);
    let running = engine().start(&start)?;
    let mut sessions = Vec::new();
    for number in 0..2 {
        let mut opened = running.open(&session(&start, number))?;
        opened.warm()?;
        sessions.push(opened);
    }
    running.standing()?;
    running.before()?;
    let slices: Result<Vec<_>, _> = sessions.iter_mut().map(|session| session.slice(&window(60))).collect();
    let mut slices = slices?;
    running.after(&mut slices)?;
    drop(sessions);
    running.finish()?;
    Ok((slices, loaded.notes))
}

#[test]
#[ignore = "laboratory: servers"]
fn statements_of_the_user_are_measured_read_only_unless_the_database_is_named() {
    let (theirs, folder) = (Theirs::start(&programs()), folder());
    let mut admin = theirs.superuser();
    admin.batch_execute(TABLES).unwrap();
    let url = theirs.socket_url("threadwise");
    let schemas = |admin: &mut postgres::Client| -> Vec<String> {
        let rows = admin.query("SELECT nspname::text FROM pg_namespace ORDER BY 1", &[]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let count = |admin: &mut postgres::Client| -> i64 {
        admin.query_one("SELECT sum(n)::bigint FROM shop.c", &[]).unwrap().get(0)
    };
    let before = schemas(&mut admin);

    // On a busy machine a window may pass without CPU time: another one will do.
    let until = |least: u64, load: &LoadRequest| {
        let mut tries = (0..20).map(|_| measure(load).unwrap());
        tries.find(|(slices, _)| slices.iter().all(|slice| slice.steps > least)).unwrap()
    };
    let (slices, notes) = until(5, &request(&url, folder.path(), READS, None));
    for slice in &slices {
        assert!(slice.rows == slice.steps && slice.answers_checked == 0, "{slice:?}");
        assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
        assert!(slice.cpu_ns > 0 && slice.counters["client_cpu_ns"] > 0, "{slice:?}");
        // Three statements, BEGIN and ROLLBACK.
        assert_eq!(slice.counters["round_trips"], 5 * slice.steps);
    }
    assert!(notes.iter().any(|note| note.contains("not checked")), "{notes:?}");

    let why = |sql: &str, may_write: Option<&str>| {
        measure(&request(&url, folder.path(), sql, may_write)).unwrap_err().to_string()
    };
    let message = why("-- :id 1..5\nUPDATE c SET n = 1 WHERE id = :id", None);
    assert!(message.contains("UPDATE writes"), "{message}");
    // Words do not show it; the server does.
    let message = why("-- :id 1..5\n\nSELECT bump(:id)", None);
    assert!(message.contains("line 3") && message.contains("read-only transaction"), "{message}");
    assert!(message.contains("--may-write"), "{message}");
    let message = why("SELECT bump(1)", Some("shop"));
    assert!(message.contains("the database is 'postgres', not 'shop'"), "{message}");
    assert!(why("SELECT 1;\nSELECT * FROM nowhere", None).contains("line 2"));
    let message = why("-- :id 1..70000\nSELECT * FROM c WHERE small = :id", None);
    assert!(message.contains("smallint") || message.contains("int2"), "{message}");
    assert_eq!(count(&mut admin), 0);

    large_objects_are_kept(&mut admin, &|sql| measure(&request(&url, folder.path(), sql, None)).map(drop));

    let writing = request(&url, folder.path(), "-- :id 1..1000\nSELECT bump(:id)", Some("postgres"));
    let (slices, notes) = until(0, &writing);
    let counted: u64 = slices.iter().map(|slice| slice.steps).sum();
    // Those outside of the window are done as well.
    assert!(count(&mut admin) >= counted as i64, "{counted} of {}", count(&mut admin));
    assert!(notes.iter().any(|note| note.contains("wrote to the database 'postgres'")), "{notes:?}");
    assert_eq!(schemas(&mut admin), before);
}

/// What PostgreSQL 11 to 15 does not refuse in a read-only transaction: by its name, and hidden in a function.
fn large_objects_are_kept(admin: &mut postgres::Client, measure: &dyn Fn(&str) -> Result<(), EngineError>) {
    let hidden = "CREATE FUNCTION shop.destroy(which oid) RETURNS integer LANGUAGE plpgsql
                  AS 'BEGIN RETURN lo_unlink(which); END'";
    admin.batch_execute(hidden).unwrap();
    let large: u32 = admin.query_one("SELECT lo_from_bytea(0, 'kept')", &[]).unwrap().get(0);
    let kept = |admin: &mut postgres::Client| -> Vec<u8> {
        admin.query_one("SELECT lo_get($1)", &[&large]).unwrap().get(0)
    };
    let message = measure(&format!("SELECT lo_unlink({large})")).unwrap_err().to_string();
    assert!(message.contains("line 1: lo_unlink() destroys a large object"), "{message}");
    assert_eq!(kept(admin), b"kept");
    // Rolled back where the server lets it pass, refused by it from 16 on.
    if let Err(message) = measure(&format!("SELECT shop.destroy({large})")) {
        assert!(message.to_string().contains("read-only transaction"), "{message}");
    }
    assert_eq!(kept(admin), b"kept");
    let message = measure("SELECT pg_reload_conf()").unwrap_err().to_string();
    assert!(message.contains("no ROLLBACK undoes"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_mix_draws_values_from_the_server_and_counts_its_transactions() {
    let (theirs, folder) = (Theirs::start(&programs()), folder());
    let mut admin = theirs.superuser();
    admin.batch_execute(TABLES).unwrap();
    admin.batch_execute("ALTER TABLE shop.c ADD day date DEFAULT '2026-01-01', ADD real_price real").unwrap();
    let url = theirs.socket_url("threadwise");
    let csv = folder.path().join("names.csv");
    std::fs::write(&csv, "name\n7\nit's\nMüller\n").unwrap();
    let mix = format!(
        "-- :transaction one weight 2\n-- :id from SELECT id FROM c WHERE id > 995\n-- :name in {} column name\n\
         -- :day from SELECT DISTINCT day::text FROM c\n\
         SELECT n FROM c WHERE id = :id AND 1 / (:id - 995) >= 0 AND price > :id AND small < :id;\n\
         SELECT n FROM c WHERE name = :name AND day = :day;\n\
         -- :transaction two\n\\set id random(1, 5) * 2.5\nSELECT n FROM c WHERE price = :id OR real_price > :id;\n\
         \\sleep 1 ms\nBEGIN;\nSELECT :client_id + n, :id::text FROM c WHERE id < 5;\nEND;\n",
        csv.display()
    );
    let load = request(&url, folder.path(), &mix, None);
    let mut tries = (0..20).map(|_| measure(&load).unwrap().0);
    let slices = tries.find(|slices| slices.iter().all(|slice| slice.steps > 20)).unwrap();
    for slice in &slices {
        let counted = ["one", "two"].map(|name| slice.counters[&format!("script/{name}")]);
        assert_eq!(counted.iter().sum::<u64>(), slice.steps, "{slice:?}");
    }
    for (sql, part) in [
        ("-- :n from SELECT n FROM nowhere\nSELECT :n::int", "line 1"),
        ("-- :n from SELECT n FROM c WHERE id < 0\nSELECT :n::int", "line 1: it has no values"),
        ("-- :n from SELECT NULL::int FROM c\nSELECT :n::int", "is NULL"),
        ("-- :n from SELECT price FROM c\nSELECT :n::int", "neither a whole number nor text"),
        ("-- :n from SELECT generate_series(1, 100000000)\nSELECT :n::int", "more than 1000000 values"),
        ("-- :n from SELECT name || 'x' FROM c\nSELECT 1 WHERE 1 = :n", "line 2: invalid input syntax"),
        ("-- :n from SELECT bump(1)\nSELECT :n::int", "read-only transaction"),
    ] {
        let why = measure(&request(&url, folder.path(), sql, None)).unwrap_err().to_string();
        assert!(why.contains(part), "{sql}: {why}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_draft_says_what_is_missing() {
    use threadwise_engine::workloads::transaction::draft::DraftRequest;
    let theirs = Theirs::start(&programs());
    let draft = |user: &str, source| {
        let options = Options::from([("url".to_owned(), OptionValue::Text(theirs.socket_url(user)))]);
        engine()
            .draft(&options, &DraftRequest { source, top: 10, may_write: None })
            .map_err(|why| why.to_string())
    };
    let why = draft("threadwise", "pg_stat_statements").unwrap_err();
    assert!(why.contains("not in the database 'postgres': CREATE EXTENSION"), "{why}");
    let mut admin = theirs.superuser();
    if admin.batch_execute("CREATE EXTENSION pg_stat_statements").is_ok() {
        let why = draft("threadwise", "pg_stat_statements").unwrap_err();
        assert!(why.contains("shared_preload_libraries") && why.contains("restart the server"), "{why}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn statements_with_comments_before_them_are_in_a_draft() {
    let theirs = Theirs::start(&programs());
    let mut admin = theirs.superuser();
    // What the query reads of the extension, which this server need not have.
    admin
        .batch_execute(
            "CREATE TEMP TABLE seen(queryid bigint, query text, calls bigint, total_exec_time float8, dbid oid)",
        )
        .unwrap();
    let taken = [
        "SELECT $1",
        "\n (select 1)",
        "/* checkout */ SELECT * FROM t",
        "/**/ -- one\n/* a * b ** / **/ (\t/* two */update t set n = $1",
        "-- name: GetUser :one\nSELECT * FROM users",
        "-- a\r\n-- b\n\nwith x as (select 1) table x",
    ];
    let left = [
        "/* select 1 */ VACUUM t",
        "-- select 1\nSET x = 1",
        "-- select 1",
        "/* open select 1",
        "selected",
        "CREATE TABLE t AS SELECT 1",
        "- select 1",
        "/ select 1",
    ];
    for text in taken.iter().chain(&left) {
        let sql =
            "INSERT INTO seen SELECT 1, $1, 2, 3, oid FROM pg_database WHERE datname = current_database()";
        admin.execute(sql, &[text]).unwrap();
    }
    let places = [("view", "seen"), ("total", "total_exec_time"), ("toplevel", "")];
    let sql = fill(include_str!("../../../src/sql/statements_top.sql"), &places);
    let rows = admin.query(&sql, &[]).unwrap();
    let mut found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut wanted = taken.map(str::to_owned).to_vec();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert_eq!(rows[0].get::<_, f64>(3), 3.0 * taken.len() as f64);
}

/// The URL for the client that the test below starts.
const CLIENT: &str = "THREADWISE_TEST_CLIENT";

/// The client of the next test, which starts it; by itself it has nothing to test.
#[test]
#[ignore = "laboratory: servers"]
fn a_client_that_waits() {
    let Ok(url) = std::env::var(CLIENT) else { return };
    let folder = folder();
    let load = request(&url, folder.path(), "SELECT pg_sleep(600)", None);
    let start = start(&load);
    engine().start(&start).unwrap().open(&session(&start, 0)).unwrap().warm().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_statement_ends_with_its_client() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let mut admin = theirs.superuser();
    let mut running = || -> bool {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active'
                   AND pid <> pg_backend_pid()";
        admin.query_one(sql, &[]).unwrap().get::<_, i64>(0) > 0
    };
    let cancelled =
        || std::fs::read_to_string(theirs.data.with_file_name("log")).unwrap().contains("user request");
    for signal in [Signal::TERM, Signal::KILL] {
        if signal == Signal::KILL && programs.major < 14 {
            continue;
        }
        let mut client = Command::new(std::env::current_exe().unwrap());
        client
            .args(["--exact", "lab_servers::transaction::a_client_that_waits", "--include-ignored"])
            .stdout(Stdio::null());
        client.env(CLIENT, theirs.socket_url("threadwise"));
        let mut client = client.spawn().unwrap();
        eventually("the statement does not run", &mut running);
        stopping::signal(&mut client, signal).unwrap();
        client.wait().unwrap();
        eventually("the statement goes on", || !running());
        assert!(cancelled(), "it was not the client that ended it");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_large_answer_is_not_read_to_its_end() {
    let programs = programs();
    let (theirs, folder) = (Theirs::start(&programs), folder());
    let url = theirs.socket_url("threadwise");
    // 100 GB, and 100 million rows without values.
    for sql in [
        "SELECT repeat('x', 1000000) FROM generate_series(1, 100000)",
        "SELECT FROM generate_series(1, 10000) AS a, generate_series(1, 10000) AS b",
    ] {
        let message = engine().load(&request(&url, folder.path(), sql, None)).unwrap_err().to_string();
        assert!(message.contains("line 1") && message.contains("more than 64 MiB"), "{message}");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 1 << 20, "{peak}");
    }
    assert!(measure(&request(&url, folder.path(), "SELECT repeat('x', 60000000)", None)).is_ok());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_of_ours_has_no_data_of_the_users() {
    let folder = folder();
    let mut load = request("", folder.path(), "SELECT 1", None);
    load.engine_options.clear();
    let message = engine().check(&load).unwrap_err().to_string();
    assert!(message.contains("--engine postgres://USER@HOST/DATABASE"), "{message}");
}
