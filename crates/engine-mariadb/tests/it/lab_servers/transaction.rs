//! Transactions of a user's own statements on a server of the user's.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::user_server::UserServer;
use crate::support::{Ran, folder, request, run, start_request, text, work};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use threadwise_engine::{Engine, EngineError, LoadRequest, latency};
use threadwise_engine_mariadb::Mariadb;
use threadwise_process::{Signal, stopping};
use threadwise_study::SessionSlice;
use threadwise_study::transaction::{MAY_WRITE, SQL};

const READS: &str = "-- What a page of the shop reads.
-- :id 1..1000
-- :near -5..5
SELECT name, n FROM c WHERE id = :id;
SELECT COUNT(*), ':id' FROM c WHERE id BETWEEN :id + :near AND :id + 9 # ; :id
;
WITH few AS (SELECT * FROM c ORDER BY id LIMIT 20) SELECT * FROM few";

/// Tables and a function that writes, in two databases.
const SHOP: [&str; 9] = [
    "CREATE DATABASE shop",
    "CREATE DATABASE shop2",
    "CREATE TABLE shop.c (id INT PRIMARY KEY, name VARCHAR(20), n BIGINT NOT NULL) ENGINE=InnoDB",
    "INSERT INTO shop.c SELECT seq, CONCAT('name ', seq), 0 FROM shop.seq_1_to_1000",
    "CREATE TABLE shop2.c LIKE shop.c",
    "INSERT INTO shop2.c SELECT * FROM shop.c",
    "CREATE SEQUENCE shop.s",
    "CREATE FUNCTION shop.bump(which INT) RETURNS INT MODIFIES SQL DATA
     BEGIN UPDATE shop.c SET n = n + 1 WHERE id = which; RETURN 1; END",
    "CREATE USER reader",
];

/// All databases and tables, as a number that changes with them.
const OBJECTS: &str =
    "SELECT COUNT(*) * 1000000 + SUM(CRC32(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME))) % 1000000
     + (SELECT COUNT(*) FROM information_schema.SCHEMATA) * 1000000000
     FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')";

const WRITTEN: &str = "SELECT (SELECT SUM(n) FROM shop.c) + (SELECT SUM(n) FROM shop2.c)";

struct Shop {
    server: UserServer,
    folder: tempfile::TempDir,
}

impl Shop {
    fn open(settings: &[&str]) -> Self {
        let (server, folder) = (UserServer::start(settings), folder());
        server.administer(&SHOP);
        Self { server, folder }
    }

    fn request(&self, sql: &str, may_write: Option<&str>) -> LoadRequest {
        let mut load = transaction(self.folder.path(), sql, may_write);
        load.engine_options = self.server.options_in("root", "shop");
        load
    }

    fn measure(&self, sql: &str, may_write: Option<&str>) -> Result<Ran, EngineError> {
        let load = self.request(sql, may_write);
        assert!(Mariadb.keep(&load, 0)?.is_none(), "something is kept in the user's server");
        run(&load, 2, 100)
    }

    /// What was measured in windows in which every session got somewhere: on a busy machine one may pass without CPU time,
    /// and another one will do.
    fn measured(&self, sql: &str, may_write: Option<&str>, least: u64) -> Ran {
        let is_busy = |slice: &SessionSlice| {
            slice.steps > least && slice.counters.get("rows_first_half").is_some_and(|rows| *rows > 0)
        };
        let mut tries = (0..20).map(|_| self.measure(sql, may_write).unwrap());
        tries.find(|ran| ran.slices.iter().all(|(sessions, _)| sessions.iter().all(is_busy))).unwrap()
    }

    fn refusal(&self, sql: &str, may_write: Option<&str>) -> String {
        self.measure(sql, may_write).unwrap_err().to_string()
    }
}

fn transaction(folder: &Path, sql: &str, may_write: Option<&str>) -> LoadRequest {
    let mut load = request(folder, "transaction", 2, &[(SQL, text(sql))]);
    load.options.extend(may_write.map(|name| (MAY_WRITE.to_owned(), text(name))));
    load
}

#[test]
#[ignore = "laboratory: servers"]
fn statements_that_read_are_measured_and_leave_the_server_as_it_was() {
    let shop = Shop::open(&[]);
    let before = shop.server.number(OBJECTS);
    let loaded = Mariadb.load(&shop.request(READS, None)).unwrap();
    assert!(loaded.notes.iter().any(|note| note.contains("not checked")), "{:?}", loaded.notes);
    let ran = shop.measured(READS, None, 5);
    assert_eq!(ran.finished, Ok(()));
    for (sessions, counters) in &ran.slices {
        for slice in sessions {
            assert!(slice.rows == slice.steps && slice.answers_checked == 0, "{slice:?}");
            assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
            assert!(slice.cpu_ns > 0 && slice.counters["client_cpu_ns"] > 0, "{slice:?}");
            assert!(slice.counters["logical_reads"] > 0);
        }
        assert!(counters.keys().any(|name| name.starts_with("waits/")), "{counters:?}");
    }
    for part in ["server not pinned: ", "memory placed earlier: ", "other clients"] {
        assert!(ran.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", ran.notes);
    }
    // Placed as the sessions of other workloads are, where masks can be written down.
    let private = tempfile::tempdir().unwrap();
    std::fs::set_permissions(private.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut start = start_request(&shop.request(READS, None));
    start.journal = Some(private.path().join("masks"));
    let pinned = work(Mariadb.start(&start).unwrap(), &start, 1, 100, |_| {}).unwrap();
    let place = |name: &str| pinned.placed.iter().find(|placed| placed.name == name).unwrap().cpus.clone();
    assert_eq!(
        (place("session 0"), place("session 1")),
        (start.sessions[0].clone(), start.sessions[1].clone())
    );
    assert!(!pinned.notes.iter().any(|note| note.starts_with("server not pinned")), "{:?}", pinned.notes);
    assert!(pinned.slices[0].0.iter().all(|slice| slice.steps > 0 && slice.cpu_ns > 0));
    assert_eq!(shop.server.number(OBJECTS), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn nothing_is_written_unless_the_database_was_named() {
    let shop = Shop::open(&[]);
    let before = shop.server.number(OBJECTS);
    let update = "-- :id 1..1000\nUPDATE c SET n = n + 1 WHERE id = :id";
    assert!(shop.refusal(update, None).contains("UPDATE writes"));
    // Words do not show it; the server does.
    for sql in ["-- :id 1..5\n\nSELECT bump(:id)", "SELECT 1;\n\nSELECT NEXTVAL(s)"] {
        let message = shop.refusal(sql, None);
        assert!(message.contains("line 3") && message.contains("READ ONLY transaction"), "{sql}: {message}");
        assert!(message.contains("--may-write DATABASE"), "{message}");
    }
    for sql in [update, "SELECT bump(1)"] {
        let message = shop.refusal(sql, Some("shop2"));
        assert!(message.contains("the database is 'shop', not 'shop2'"), "{message}");
    }
    for sql in ["UPDATE shop2.c SET n = 1", "INSERT INTO `shop2` . c VALUES (0, '', 1)"] {
        let message = shop.refusal(sql, Some("shop"));
        assert!(message.contains("line 1 names the database 'shop2'"), "{message}");
    }
    assert_eq!((shop.server.number(WRITTEN), shop.server.number(OBJECTS)), (0, before));

    let ran = shop.measured(&format!("{update};\nSELECT shop.bump(:id)"), Some("shop"), 0);
    assert_eq!(ran.finished, Ok(()));
    let steps: u64 = ran.slices.iter().flat_map(|(sessions, _)| sessions).map(|slice| slice.steps).sum();
    // Those outside of the window are done as well.
    let written = shop.server.number(WRITTEN);
    assert!(written >= 2 * steps as i64 && written % 2 == 0, "{written} by {steps}");
    assert_eq!(shop.server.number(OBJECTS), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn what_is_wrong_with_a_statement_is_told_with_its_line_before_anything_is_measured() {
    let shop = Shop::open(&["--completion-type=CHAIN"]);
    for (sql, parts) in [
        ("SELECT 1;\n\nSELECT * FROM nowhere", ["line 3", "shop.nowhere"]),
        ("SELECT 1;\nSELECT ? + 1", ["line 2", "write :NAME"]),
        ("SELECT 1;\nTABLE c", ["line 2", "syntax"]),
        // An error in the middle of an answer.
        ("SELECT 1;\nSELECT id, (SELECT id FROM c WHERE id < o.id) FROM c o", ["line 2", "more than 1 row"]),
    ] {
        let message = shop.refusal(sql, None);
        assert!(parts.iter().all(|part| message.contains(part)), "{sql}: {message}");
    }
    let mut reader = shop.request("SELECT * FROM c", None);
    reader.engine_options = shop.server.options_in("reader", "shop");
    let message = run(&reader, 1, 50).unwrap_err().to_string();
    assert!(message.contains("'reader'") && message.contains("lacks the right"), "{message}");
    shop.server.administer(&["GRANT SELECT ON shop.* TO reader"]);
    let ran = run(&reader, 1, 50).unwrap();
    assert!(ran.slices[0].0.iter().all(|slice| slice.steps > 0), "{:?}", ran.slices);
    reader.engine_options = shop.server.options_in("root", "nowhere");
    let message = run(&reader, 1, 50).unwrap_err().to_string();
    assert!(message.contains("no such database"), "{message}");
    // More statements than the library keeps by itself.
    let many: String = (0..100).map(|number| format!("SELECT {number};\n")).collect();
    assert!(shop.measure(&many, None).unwrap().slices[0].0[0].steps > 0);
    shop.server.administer(&["SET GLOBAL sql_mode = 'ANSI_QUOTES'"]);
    let message = shop.refusal("SELECT '\\''", None);
    assert!(message.contains("ANSI_QUOTES") && message.contains("line 1"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_transaction_that_fails_while_it_is_measured_ends_the_run_with_its_words() {
    let shop = Shop::open(&[]);
    let load = shop.request("SELECT 1;\nSELECT COUNT(*) FROM c", None);
    Mariadb.load(&load).unwrap();
    let start = start_request(&load);
    let running = Mariadb.start(&start).unwrap();
    let error = work(running, &start, 3, 100, |slice| {
        if slice == 0 {
            shop.server.administer(&["DROP TABLE shop.c"]);
        }
    })
    .unwrap_err();
    assert!(error.to_string().contains("line 2") && error.to_string().contains("shop.c"), "{error}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_mix_draws_values_from_the_server_and_counts_its_transactions() {
    let shop = Shop::open(&[]);
    let before = shop.server.number(OBJECTS);
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("names.csv");
    std::fs::write(&csv, "name\nname 7\nit's\nMüller\n").unwrap();
    let mix = format!(
        "-- :transaction one weight 2\n-- :id from SELECT id FROM c WHERE id > 995 # the last\n-- :name in {} column name\n\
         SELECT n FROM c WHERE id = :id AND :id > 995;\nSELECT n FROM c WHERE name = :name;\n\
         -- :transaction two\n\\set id random(1, 5) * 2.0\nSELECT n FROM c WHERE id = :id;\n\\sleep 1 ms\nBEGIN;\n\
         SELECT n FROM c WHERE id < :id;\nEND;\n",
        csv.display()
    );
    let ran = shop.measured(&mix, None, 20);
    for slice in ran.slices.iter().flat_map(|(sessions, _)| sessions) {
        let counted = ["one", "two"].map(|name| slice.counters[&format!("script/{name}")]);
        assert_eq!(counted.iter().sum::<u64>(), slice.steps, "{slice:?}");
    }
    for (sql, part) in [
        ("-- :n from SELECT n FROM nowhere\nSELECT :n", "line 1"),
        ("-- :n from SELECT n FROM c WHERE id < 0\nSELECT :n", "line 1: it has no values"),
        ("-- :n from SELECT NULL FROM c\nSELECT :n", "is NULL"),
        ("-- :n from SELECT a.id FROM c AS a, c AS b, c AS d\nSELECT :n", "more than 1000000 values"),
    ] {
        let why = shop.refusal(sql, None);
        assert!(why.contains(part), "{sql}: {why}");
    }
    let script = "-- :define scale 100\n\\set id random(1, 10 * :scale)\nBEGIN;\nUPDATE c SET n = n + 1 WHERE id = :id;\n\
                  END;\nUPDATE c SET n = n + 1 WHERE id = :id;\n";
    assert!(shop.refusal(script, None).contains("UPDATE writes"));
    let ran = shop.measured(script, Some("shop"), 0);
    let steps: u64 = ran.slices.iter().flat_map(|(sessions, _)| sessions).map(|slice| slice.steps).sum();
    assert!(shop.server.number(WRITTEN) >= 2 * steps as i64);
    assert_eq!(shop.server.number(OBJECTS), before);
}

/// The socket of the server, for the client that the test below starts.
const CLIENT: &str = "THREADWISE_TEST_CLIENT";

/// It takes hours, and looks whether it was cancelled.
const LONG: &str = "SELECT BENCHMARK(1000000000000, MD5('a'))";

/// The client of the next test, which starts it; by itself it has nothing to test.
#[test]
#[ignore = "laboratory: servers"]
fn a_client_that_waits() {
    let Ok(url) = std::env::var(CLIENT) else { return };
    let folder = folder();
    let mut load = transaction(folder.path(), LONG, None);
    load.engine_options = support::options(&[("url", text(&url))]);
    Mariadb.load(&load).unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_statement_ends_with_its_client() {
    let shop = Shop::open(&[]);
    let url = shop.server.options_in("root", "shop")["url"].to_string();
    let mut client = Command::new(std::env::current_exe().unwrap());
    client
        .args(["--exact", "lab_servers::transaction::a_client_that_waits", "--include-ignored"])
        .env(CLIENT, url)
        .stdout(Stdio::null());
    let mut client = client.spawn().unwrap();
    let bounded = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%BENCHMARK%'
                   AND ID <> CONNECTION_ID()";
    let until = |what: &str, number: i64| {
        let end = Instant::now() + Duration::from_secs(60);
        while shop.server.number(bounded) != number {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("the statement does not run", 1);
    stopping::signal(&mut client, Signal::TERM).unwrap();
    client.wait().unwrap();
    until("the statement goes on", 0);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_large_answer_is_not_read_to_its_end() {
    let shop = Shop::open(&[]);
    // 100 GB.
    let sql = "SELECT REPEAT('x', 1000000) FROM shop.c a, shop.c b";
    let message = Mariadb.load(&shop.request(sql, None)).unwrap_err().to_string();
    assert!(message.contains("line 1") && message.contains("more than 64 MiB"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_of_ours_has_no_data_of_the_users() {
    let folder = folder();
    let message = Mariadb.check(&transaction(folder.path(), "SELECT 1", None)).unwrap_err().to_string();
    assert!(message.contains("--engine mariadb://USER@HOST/DATABASE"), "{message}");
}
