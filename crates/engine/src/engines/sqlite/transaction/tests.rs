//! Transactions on a file of the user's: read, refused, written.

use rusqlite::Connection;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::{OptionValue, Options, SessionSlice, Workload};

use super::super::Sqlite;
use super::super::settings::initialise;
use super::DATABASE;
use crate::{Engine, EngineError, LoadRequest, SessionRequest, StartRequest, Window, clock, latency};

fn text(name: &str, value: &str) -> (String, OptionValue) {
    (name.to_owned(), OptionValue::Text(value.to_owned()))
}

fn request(file: &Path, sql: &str, may_write: Option<&str>) -> LoadRequest {
    LoadRequest {
        workload: Workload::Transaction,
        options: std::iter::once(text(SQL, sql)).chain(may_write.map(|name| text(MAY_WRITE, name))).collect(),
        engine_options: Options::from([text(DATABASE, &file.display().to_string())]),
        data_dir: std::env::temp_dir(),
        treatment: "alone".into(),
        sessions: 1,
        seed: 1,
    }
}

/// A database with 100 rows.
fn shop(journal_mode: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    initialise().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let connection = Connection::open(&file).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode={journal_mode}; CREATE TABLE c(id INTEGER PRIMARY KEY, n INTEGER);
             WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 100)
             INSERT INTO c SELECT x, 0 FROM i"
        ))
        .unwrap();
    (folder, file)
}

fn measure(load: &LoadRequest) -> Result<SessionSlice, EngineError> {
    Sqlite.check(load)?;
    Sqlite.load(load)?;
    let cpus = CpuSet::new();
    let start = StartRequest {
        load: load.clone(),
        sessions: vec![cpus.clone()],
        service: cpus.clone(),
        seed: 1,
        journal: None,
    };
    let running = Sqlite.start(&start)?;
    let open = SessionRequest { load: load.clone(), session: 0, sessions: 1, cpus, seed: 1 };
    let mut session = running.open(&open)?;
    session.warm()?;
    let start_ns = clock::monotonic_ns();
    let slice = session.slice(&Window {
        sequence: 0,
        start_ns,
        end_ns: start_ns + 50_000_000,
        piece_ns: None,
        arrivals: None,
    })?;
    drop(session);
    running.finish()?;
    Ok(slice)
}

fn changed(file: &Path) -> i64 {
    Connection::open(file).unwrap().query_row("SELECT sum(n) FROM c", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_file_that_reads_is_measured_and_leaves_the_database_as_it_is() {
    for mode in ["delete", "wal"] {
        let (folder, file) = shop(mode);
        let before = std::fs::read(&file).unwrap();
        let sql = "-- :id 1..100\nSELECT n FROM c WHERE id = :id;\nSELECT count(*) FROM c WHERE id < :id";
        // On a busy machine a window may pass without CPU time: another one will do.
        let mut tries = (0..20).map(|_| measure(&request(&file, sql, None)).unwrap());
        let slice = tries.find(|slice| slice.steps > 10).unwrap();
        assert!(slice.rows == slice.steps && slice.answers_checked == 0, "{slice:?}");
        assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
        assert!(slice.cpu_ns > 0 && slice.counters["logical_reads"] > 0);
        assert_eq!(std::fs::read(&file).unwrap(), before, "{mode}");
        drop(folder);
    }
}

#[test]
fn what_writes_is_refused_unless_the_database_was_named() {
    let (_folder, file) = shop("delete");
    let sql = "-- :id 1..100\nUPDATE c SET n = n + 1 WHERE id = :id";
    let message = measure(&request(&file, sql, None)).unwrap_err().to_string();
    assert!(message.contains("UPDATE writes"), "{message}");
    let message = measure(&request(&file, sql, Some("/other.db"))).unwrap_err().to_string();
    assert!(message.contains("not '/other.db': nothing was written"), "{message}");
    assert_eq!(changed(&file), 0);
    let named = request(&file, sql, Some(file.to_str().unwrap()));
    let slice = (0..20).map(|_| measure(&named).unwrap()).find(|slice| slice.steps > 0).unwrap();
    // The step that is under way at the end is done and not counted.
    assert!(changed(&file) >= slice.steps as i64, "{slice:?}");
}

#[test]
fn what_is_wrong_with_a_statement_is_told_with_its_line_before_anything_is_measured() {
    let (folder, file) = shop("delete");
    let why = |sql: &str| measure(&request(&file, sql, None)).unwrap_err().to_string();
    let message = why("SELECT 1;\n\nSELECT * FROM nowhere");
    assert!(message.contains("line 3") && message.contains("no such table: nowhere"), "{message}");
    let message = why("SELECT [Load_Extension] ('x')");
    assert!(message.contains("line 1: load_extension() loads a library"), "{message}");
    // It would never end.
    let message = why("WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i) SELECT x FROM i");
    assert!(message.contains("line 1") && message.contains("more than 64 MiB"), "{message}");
    let missing =
        measure(&request(&folder.path().join("none.db"), "SELECT 1", None)).unwrap_err().to_string();
    assert!(missing.contains("none.db") && !folder.path().join("none.db").exists(), "{missing}");
    std::fs::write(folder.path().join("text.db"), "no database at all, but a text".repeat(50)).unwrap();
    let message =
        measure(&request(&folder.path().join("text.db"), "SELECT 1", None)).unwrap_err().to_string();
    assert!(message.contains("not a database"), "{message}");
    let mut no_file = request(&file, "SELECT 1", None);
    no_file.engine_options.clear();
    let message = Sqlite.check(&no_file).unwrap_err().to_string();
    assert!(message.contains("--engine-option database="), "{message}");
    no_file.engine_options.extend([text("database", "shop.db")]);
    assert!(Sqlite.check(&no_file).unwrap_err().to_string().contains("absolute path"));
}

#[test]
fn a_mix_of_transactions_is_counted_by_their_names() {
    let (folder, file) = shop("delete");
    let csv = folder.path().join("ids.csv");
    std::fs::write(&csv, "id\n1\n2\n").unwrap();
    let sql = format!(
        "-- :transaction look weight 9\n-- :id from SELECT id FROM c WHERE id > 98\nSELECT 1/(:id > 98) FROM c;\n\
         -- :transaction page weight 1\n-- :id in {} column id as text\n-- :n 1..100 zipf 1.5\n\
         -- :think 1 us\nSELECT n FROM c WHERE id = :id AND typeof(:id) = 'text' AND :n > 0;\n\
         -- :transaction bench\n\\set x random(1, 5) * 1.5\nSELECT typeof(:x);\n\\sleep 1 us\nBEGIN;\n\
         SELECT :client_id;\nEND;\n",
        csv.display()
    );
    let load = request(&file, &sql, None);
    let mut tries = (0..40).map(|_| measure(&load).unwrap());
    let slice =
        tries.find(|slice| ["look", "page", "bench"].iter().all(|name| count(slice, name) > 0)).unwrap();
    let all: u64 = ["look", "page", "bench"].iter().map(|name| count(&slice, name)).sum();
    assert_eq!(all, slice.steps, "{:?}", slice.counters);
    assert_eq!(changed(&file), 0);
    // One transaction has no counter of its own.
    let alone = measure(&request(&file, "SELECT 1", None)).unwrap();
    assert!(alone.counters.keys().all(|name| !name.starts_with("script/")), "{:?}", alone.counters);

    let why = |sql: &str| measure(&request(&file, sql, None)).unwrap_err().to_string();
    let none = why("-- :n from SELECT n FROM c WHERE id > 1000\nSELECT :n");
    assert!(none.contains("line 1: it has no values"), "{none}");
    let null = why("-- :n from SELECT NULL FROM c\nSELECT :n");
    assert!(null.contains("execute line 1") && null.contains("is NULL"), "{null}");
    // As text they would be other values, which no row has.
    for binary in ["x'ff00ff'", "x'41'", "CAST(x'ff' AS TEXT)"] {
        let why = why(&format!("-- :n from SELECT {binary} FROM c\nSELECT :n"));
        assert!(why.contains("execute line 1") && why.contains("neither a whole number nor text"), "{why}");
    }
    let table = why("-- :n from SELECT n FROM nowhere\nSELECT :n");
    assert!(table.contains("execute line 1") && table.contains("no such table"), "{table}");
    let zero = why("\\set x 1 / (1 - 1)\nSELECT :x");
    assert!(zero.contains("line 1: division by zero"), "{zero}");
}

fn count(slice: &SessionSlice, name: &str) -> u64 {
    slice.counters.get(&format!("script/{name}")).copied().unwrap_or(0)
}

#[test]
fn a_script_of_pgbench_writes_where_it_may() {
    let (_folder, file) = shop("wal");
    let script = "-- :define scale 10\n\\set id random(1, 10 * :scale)\nBEGIN;\nUPDATE c SET n = n + 1 WHERE id = \
                  :id;\nEND;\nUPDATE c SET n = n + 1 WHERE id = :id;\n";
    let named = request(&file, script, Some(file.to_str().unwrap()));
    let slice = (0..20).map(|_| measure(&named).unwrap()).find(|slice| slice.steps > 0).unwrap();
    assert!(changed(&file) >= 2 * slice.steps as i64, "{slice:?}");
    let why = measure(&request(&file, script, None)).unwrap_err().to_string();
    assert!(why.contains("line 4: UPDATE writes") && why.contains("--may-write"), "{why}");
}
