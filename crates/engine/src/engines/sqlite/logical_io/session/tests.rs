//! Sessions on small files: reads per row, caching, checked answers, plans.

use super::*;
use crate::{Engine, LoadRequest, clock};
use threadwise_study::{OptionValue, Options, Workload};

fn request(folder: &Path, options: &[(&str, OptionValue)], sessions: u32) -> SessionRequest {
    let load = LoadRequest {
        workload: Workload::LogicalIo,
        options: options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "a/l2".into(),
        sessions,
        seed: 7,
    };
    SessionRequest { load, session: 0, sessions, cpus: threadwise_machine::CpuSet::new(), seed: 1 }
}

fn blocks(count: i64) -> (&'static str, OptionValue) {
    ("blocks", OptionValue::Integer(count))
}

fn warmed(request: &SessionRequest) -> SqliteSession {
    super::super::super::Sqlite.load(&request.load).unwrap();
    let mut session = SqliteSession::open(request).unwrap();
    session.warm().unwrap();
    session
}

/// The first slice with work in it: a busy machine may leave us without a CPU for a whole window.
fn work(session: &mut SqliteSession, window_ns: u64) -> Result<SessionSlice, EngineError> {
    for sequence in 0..100 {
        let start_ns = clock::monotonic_ns();
        let slice = session.slice(&Window {
            sequence,
            start_ns,
            end_ns: start_ns + window_ns,
            piece_ns: None,
            arrivals: None,
        })?;
        if slice.steps > 0 {
            return Ok(slice);
        }
    }
    panic!("no step ended in 100 windows of {window_ns} ns");
}

fn change(file: &Path, sql: &str) {
    initialise().unwrap();
    Connection::open(file).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_row_costs_two_reads_on_three_levels_and_one_on_two() {
    for (count, low, high) in [(20_000, 2.0, 2.1), (300, 1.0, 1.1)] {
        let folder = tempfile::tempdir().unwrap();
        let mut session = warmed(&request(folder.path(), &[blocks(count)], 1));
        let slice = work(&mut session, 50_000_000).unwrap();
        let per_row = slice.counters["logical_reads"] as f64 / slice.rows as f64;
        println!("{count} blocks: {per_row:.4} logical reads a row over {} rows", slice.rows);
        assert!((low..high).contains(&per_row), "{count} blocks: {per_row}");
        assert_eq!(slice.counters["physical_reads"], 0);
        assert_eq!((slice.rows, slice.answers_checked), (64 * slice.steps, slice.steps));
    }
}

#[test]
fn loading_again_finds_what_is_there_and_repairs_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[blocks(100)], 2);
    let loaded = super::super::super::Sqlite.load(&request.load).unwrap();
    let spec = spec(&request.load).unwrap();
    let files = [0, 1].map(|session| data::session_file(&request.load, &spec, session));
    let template = files[0].with_file_name("template.db");
    assert_eq!(std::fs::metadata(&files[1]).unwrap().len(), loaded.bytes_per_session);
    assert!((100 * 4096..130 * 4096).contains(&loaded.bytes_per_session));
    let made = std::fs::read(&template).unwrap();
    let when = std::fs::metadata(&template).unwrap().modified().unwrap();
    std::fs::write(&files[1], "cut short").unwrap();
    assert_eq!(super::super::super::Sqlite.load(&request.load).unwrap(), loaded);
    assert_eq!(std::fs::metadata(&template).unwrap().modified().unwrap(), when);
    assert_eq!(std::fs::read(&files[1]).unwrap(), made);
    std::fs::write(&template, "cut short").unwrap();
    assert_eq!(super::super::super::Sqlite.load(&request.load).unwrap(), loaded);
    assert_eq!(std::fs::read(&template).unwrap(), made, "the same seed makes the same file");
    assert!(!template.with_extension("db.tmp").exists());
}

#[test]
fn a_changed_row_is_found_by_the_warm_up() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[blocks(200)], 1);
    super::super::super::Sqlite.load(&request.load).unwrap();
    let file = data::session_file(&request.load, &spec(&request.load).unwrap(), 0);
    change(&file, "UPDATE blocks SET value = value + 5 WHERE k = 100");
    let error = SqliteSession::open(&request).unwrap().warm().unwrap_err();
    assert_eq!(error.kind(), "wrong-answer");
    assert!(error.to_string().contains("200 rows and sum"), "{error}");
}

#[test]
fn changed_rows_that_cancel_out_are_found_by_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[blocks(200)], 1);
    super::super::super::Sqlite.load(&request.load).unwrap();
    let file = data::session_file(&request.load, &spec(&request.load).unwrap(), 0);
    change(
        &file,
        "UPDATE blocks SET value = value + 5 WHERE k = 20; UPDATE blocks SET value = value - 5 WHERE k = 180",
    );
    let mut session = SqliteSession::open(&request).unwrap();
    session.warm().unwrap();
    let error = work(&mut session, 10_000_000_000).unwrap_err();
    assert_eq!(error.kind(), "wrong-answer");
    assert!(error.to_string().contains("instead of 64 rows"), "{error}");
}

#[test]
fn a_missing_row_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[blocks(200)], 1);
    super::super::super::Sqlite.load(&request.load).unwrap();
    let file = data::session_file(&request.load, &spec(&request.load).unwrap(), 0);
    change(&file, "DELETE FROM blocks WHERE k = 100");
    let error = SqliteSession::open(&request).unwrap().warm().unwrap_err();
    assert!(error.to_string().contains("199 rows"), "{error}");
}

#[test]
fn updates_change_rows_and_keep_every_answer() {
    let folder = tempfile::tempdir().unwrap();
    let options = [blocks(200), ("update_pct", OptionValue::Integer(50))];
    let request = request(folder.path(), &options, 1);
    let mut session = warmed(&request);
    let before: i64 =
        session.connection().query_row("SELECT sum(value) FROM blocks", [], |row| row.get(0)).unwrap();
    let slice = work(&mut session, 50_000_000).unwrap();
    assert!(slice.steps > 0 && slice.answers_checked == slice.steps);
    assert_eq!(slice.counters["physical_reads"], 0);
    let after: i64 =
        session.connection().query_row("SELECT sum(value) FROM blocks", [], |row| row.get(0)).unwrap();
    assert!(after > before && (after - before) % 64 == 0, "{before} {after}");
    session.warm().unwrap();
    let file = data::session_file(&request.load, &spec(&request.load).unwrap(), 0);
    assert!(file.parent().unwrap().ends_with("treatment-a_2fl2"));
    drop(session);
    SqliteSession::open(&request).unwrap().warm().unwrap();
}

#[test]
fn one_shared_table_serves_several_connections() {
    let folder = tempfile::tempdir().unwrap();
    let options = [blocks(200), ("shared", OptionValue::Flag(true))];
    let first = request(folder.path(), &options, 2);
    let second = SessionRequest { session: 1, ..first.clone() };
    let mut a = warmed(&first);
    let mut b = SqliteSession::open(&second).unwrap();
    b.warm().unwrap();
    assert!(work(&mut a, 5_000_000).is_ok() && work(&mut b, 5_000_000).is_ok());
    assert!(!a.file.with_file_name("session-1.db").exists());
}

#[test]
fn a_cache_that_is_too_small_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[blocks(500)], 1);
    let mut session = warmed(&request);
    session.connection.execute_batch("PRAGMA cache_size=50").unwrap();
    let error = session.warm().unwrap_err();
    assert!(error.to_string().contains("not cached"), "{error}");
}

#[test]
fn another_plan_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let session = warmed(&request(folder.path(), &[blocks(100)], 1));
    let index_alone = "SELECT count(*) FROM blocks WHERE k BETWEEN ?1 AND ?2";
    let error = check_plan(session.connection(), index_alone).unwrap_err();
    assert!(error.to_string().contains("COVERING"), "{error}");
    let whole_table = "SELECT sum(value) FROM blocks WHERE value BETWEEN ?1 AND ?2";
    assert!(check_plan(session.connection(), whole_table).unwrap_err().to_string().contains("SCAN"));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |request: &SessionRequest| {
        super::super::super::Sqlite.check(&request.load).map_err(|error| error.to_string())
    };
    let mut bad = request(folder.path(), &[], 1);
    bad.load.workload = "tpc-c".into();
    assert!(check(&bad).unwrap_err().contains("logical-io"));
    let mut bad = request(folder.path(), &[], 1);
    bad.load.engine_options.insert("cache".into(), OptionValue::Integer(1));
    assert!(check(&bad).unwrap_err().contains("no engine option"));
    assert!(check(&request(folder.path(), &[], 0)).unwrap_err().contains("0 sessions"));
    let both = [("shared", OptionValue::Flag(true)), ("update_pct", OptionValue::Integer(1))];
    assert!(check(&request(folder.path(), &both, 1)).unwrap_err().contains("shared=false"));
    let error = SqliteSession::open(&request(folder.path(), &[], 1)).unwrap_err();
    assert!(error.to_string().contains("load the data"), "{error}");
}
