//! Whole runs on small files: load, start, sessions on threads of their own, finish.

mod apart;
mod writer;

use super::super::Sqlite;
use super::*;
use crate::{Engine, LoadRequest, Loaded, Window, clock, latency};
use std::sync::Barrier;
use std::thread;
use threadwise_machine::CpuSet;
use threadwise_study::{OptionValue, Options, SessionSlice};

const SEEDED: u64 = 1000;

fn word(name: &'static str, value: &str) -> (&'static str, OptionValue) {
    (name, OptionValue::Text(value.into()))
}

fn whole(name: &'static str, value: i64) -> (&'static str, OptionValue) {
    (name, OptionValue::Integer(value))
}

fn request(folder: &Path, options: &[(&str, OptionValue)], sessions: u32) -> StartRequest {
    let mut all: Options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    all.entry("seed_rows".into()).or_insert(OptionValue::Integer(SEEDED as i64));
    let load = LoadRequest {
        workload: "insert".into(),
        options: all,
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "a/b".into(),
        sessions,
        seed: 7,
    };
    let sessions = (0..sessions).map(|_| CpuSet::new()).collect();
    StartRequest { load, sessions, service: CpuSet::new(), seed: 1, journal: None }
}

fn spec(request: &StartRequest) -> Spec {
    Spec::of(&request.load.options).unwrap()
}

fn started(request: &StartRequest) -> Inserting {
    Sqlite.load(&request.load).unwrap();
    Inserting::start(request, spec(request)).unwrap()
}

fn session_request(request: &StartRequest, session: u32) -> SessionRequest {
    SessionRequest {
        load: request.load.clone(),
        session,
        sessions: request.sessions.len() as u32,
        cpus: CpuSet::new(),
        seed: request.seed,
    }
}

/// All sessions, each on its own thread, in the same windows.
fn work(run: &Inserting, request: &StartRequest, windows: &[Window]) -> Vec<Vec<SessionSlice>> {
    let warm = Barrier::new(request.sessions.len());
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..request.sessions.len() as u32)
            .map(|session| {
                let warm = &warm;
                scope.spawn(move || {
                    let mut session = run.open(&session_request(request, session)).unwrap();
                    session.warm().unwrap();
                    warm.wait();
                    windows.iter().map(|window| session.slice(window).unwrap()).collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    })
}

/// Windows that begin soon: sessions are warm long before a window of this length is over.
fn windows(count: u64, length_ns: u64) -> Vec<Window> {
    let first_ns = clock::monotonic_ns() + 50_000_000;
    let window = |sequence| {
        let start_ns = first_ns + sequence * (length_ns + 10_000_000);
        Window { sequence, start_ns, end_ns: start_ns + length_ns, piece_ns: None, arrivals: None }
    };
    (0..count).map(window).collect()
}

/// An hour: enough for any fixed amount of work.
fn hour() -> [Window; 1] {
    let start_ns = clock::monotonic_ns() + 50_000_000;
    [Window { sequence: 0, start_ns, end_ns: start_ns + 3_600_000_000_000, piece_ns: None, arrivals: None }]
}

fn rows_of(file: &Path, condition: &str) -> i64 {
    let connection = Connection::open(file).unwrap();
    let sql = format!("SELECT count(*) FROM inserts WHERE {condition}");
    connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_kind_of_key_file_and_table_keeps_what_sessions_inserted() {
    for sessions in [2, 4] {
        for (key, files) in
            [("sequential", "own"), ("random", "own"), ("sequential", "shared"), ("random", "shared")]
        {
            for more in [word("durability", "full"), word("durability", "relaxed"), word("table", "unlogged")]
            {
                let folder = tempfile::tempdir().unwrap();
                let case = format!("{sessions} sessions, {key}, {files}, {more:?}");
                let request =
                    request(folder.path(), &[word("key", key), word("file", files), more], sessions);
                let run = started(&request);
                let slices = work(&run, &request, &windows(2, 30_000_000));
                for slice in slices.iter().flatten() {
                    assert_eq!(slice.rows, 2 * slice.steps, "{case}");
                    assert_eq!(slice.answers_checked, slice.steps, "{case}");
                    assert_eq!(latency::steps(&slice.latency), Ok(slice.steps), "{case}");
                    assert_eq!(slice.finished_ns, None);
                }
                assert_eq!(run.files.len(), if files == "own" { sessions as usize } else { 1 }, "{case}");
                for session in 0..sessions {
                    let file = &run.files[run.spec.file_of(session)].0;
                    // At least the step that each slice does before it looks at the clock.
                    let rows = rows_of(file, &format!("c4 = {session}"));
                    assert!(rows >= 4 && rows % 2 == 0, "{case}: {rows}");
                    assert_eq!(rows_of(file, "c4 = -1"), SEEDED as i64, "{case}");
                }
                run.finish().unwrap_or_else(|error| panic!("{case}: {error}"));
                assert!(!run.folder.exists(), "{case}");
            }
        }
    }
}

#[test]
fn rows_are_those_of_the_published_table_and_keys_are_the_sessions_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = [word("file", "shared"), whole("rows_per_tx", 5), whole("rows_per_session", 50)];
    let request = request(folder.path(), &options, 2);
    let run = started(&request);
    work(&run, &request, &hour());
    let file = &run.files[0].0;
    let good = "length(c3) = 111 AND typeof(c1) || typeof(c2) || typeof(c6) = 'integerintegerinteger' \
                AND c5 BETWEEN 0 AND 4 AND c2 > 1767225600000000 AND c6 % 5 = c5";
    for session in 0..2 {
        let first = first_key(session);
        let keys = format!("c4 = {session} AND c1 - {first} = c6 AND c6 BETWEEN 0 AND 49 AND {good}");
        assert_eq!(rows_of(file, &keys), 50);
    }
    run.finish().unwrap();
}

fn first_key(session: u32) -> i64 {
    crate::workloads::insert::first_key(session)
}

#[test]
fn a_fixed_amount_of_work_is_done_exactly() {
    for files in ["own", "shared"] {
        let folder = tempfile::tempdir().unwrap();
        let options = [
            whole("rows_per_session", 600),
            whole("rows_per_tx", 3),
            word("file", files),
            word("durability", "relaxed"),
        ];
        let request = request(folder.path(), &options, 3);
        let run = started(&request);
        let window = hour();
        let slices = work(&run, &request, &window);
        for slice in slices.iter().flatten() {
            assert_eq!((slice.steps, slice.rows, slice.answers_checked), (200, 600, 200));
            assert_eq!(latency::steps(&slice.latency), Ok(200));
            assert!(slice.finished_ns.unwrap() > 0 && slice.cpu_ns > 0);
            // Every transaction changes one leaf at least.
            assert!(slice.counters["cache_write_pages"] >= 200, "{:?}", slice.counters);
        }
        for (file, _) in &run.files {
            let expected = if files == "own" { 600 } else { 1800 };
            assert_eq!(rows_of(file, "c4 >= 0"), expected);
        }
        run.finish().unwrap();
    }
}

#[test]
fn work_that_does_not_fit_into_the_window_fails() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[whole("rows_per_session", 1_000_000)], 1);
    let run = started(&request);
    let mut session = run.open(&session_request(&request, 0)).unwrap();
    session.warm().unwrap();
    let message = session.slice(&windows(1, 20_000_000)[0]).unwrap_err().to_string();
    assert!(message.contains("of 1000000 rows") && message.contains("lower rows_per_session"));
}

#[test]
fn a_lost_an_additional_and_a_changed_row_are_found() {
    let changes = [
        ("DELETE FROM inserts WHERE c1 = (SELECT max(c1) FROM inserts WHERE c4 = 0)", "rows with key sum"),
        ("DELETE FROM inserts WHERE c1 = (SELECT min(c1) FROM inserts WHERE c4 = -1)", "1099 rows"),
        ("INSERT INTO inserts SELECT c1 + 1000000007, c2, c3, c4, c5, c6 FROM inserts LIMIT 1", "1101 rows"),
        ("UPDATE inserts SET c1 = c1 + 1 WHERE c1 = (SELECT max(c1) FROM inserts)", "1100 rows with"),
    ];
    for (change, part) in changes {
        let folder = tempfile::tempdir().unwrap();
        let request = request(folder.path(), &[whole("rows_per_session", 100)], 1);
        let run = started(&request);
        work(&run, &request, &hour());
        Connection::open(&run.files[0].0).unwrap().execute_batch(change).unwrap();
        let error = run.finish().unwrap_err();
        assert_eq!(error.kind(), "wrong-answer");
        assert!(error.to_string().contains(part), "{change}: {error}");
        let run_folder = run.folder.clone();
        drop(run);
        assert!(!run_folder.exists(), "the table is put back all the same");
    }
}

#[test]
fn a_changed_template_is_found_by_the_warm_up() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[], 1);
    Sqlite.load(&request.load).unwrap();
    let template = data::run_folder(&request.load, &spec(&request)).with_file_name("template.db");
    Connection::open(&template)
        .unwrap()
        .execute_batch("DELETE FROM inserts WHERE c1 = (SELECT max(c1) FROM inserts)")
        .unwrap();
    let run = Inserting::start(&request, spec(&request)).unwrap();
    let error = run.open(&session_request(&request, 0)).unwrap().warm().unwrap_err();
    assert!(error.kind() == "wrong-answer" && error.to_string().contains("999 rows"), "{error}");
}

#[test]
fn loading_again_finds_a_whole_template_and_repairs_another() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[], 2);
    let loaded: Loaded = Sqlite.load(&request.load).unwrap();
    assert_eq!(loaded.rows_per_session, SEEDED);
    let template = data::run_folder(&request.load, &spec(&request)).with_file_name("template.db");
    assert_eq!(fs::metadata(&template).unwrap().len(), loaded.bytes_per_session);
    let made = fs::read(&template).unwrap();
    let when = fs::metadata(&template).unwrap().modified().unwrap();
    assert_eq!(Sqlite.load(&request.load).unwrap(), loaded);
    assert_eq!(fs::metadata(&template).unwrap().modified().unwrap(), when);
    // What a load leaves that was killed half-way, and a template cut short by something else.
    fs::write(template.with_extension("db.tmp"), &made[..made.len() / 2]).unwrap();
    fs::write(&template, &made[..made.len() / 2]).unwrap();
    assert!(Inserting::start(&request, spec(&request)).is_err());
    assert_eq!(Sqlite.load(&request.load).unwrap(), loaded);
    assert_eq!(fs::read(&template).unwrap(), made, "the same seed makes the same file");
    assert!(!template.with_extension("db.tmp").exists());
}

#[test]
fn what_a_killed_run_left_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[word("file", "shared")], 2);
    let run = started(&request);
    work(&run, &request, &windows(1, 10_000_000));
    fs::write(run.folder.join("session-9.db-wal"), "left").unwrap();
    // A killed worker runs no destructor.
    std::mem::forget(run);
    let again = started(&request);
    assert_eq!(fs::read_dir(&again.folder).unwrap().count(), 1);
    assert_eq!(rows_of(&again.files[0].0, "true"), SEEDED as i64);
    again.finish().unwrap();
}

#[test]
fn the_same_seed_gives_the_same_keys_and_another_session_others() {
    let keys = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let options = [word("key", "random"), word("file", "shared"), whole("rows_per_session", 20)];
        let mut request = request(folder.path(), &options, 2);
        request.seed = seed;
        let run = started(&request);
        work(&run, &request, &hour());
        let connection = Connection::open(&run.files[0].0).unwrap();
        let mut query =
            connection.prepare("SELECT c4, c1 FROM inserts WHERE c4 >= 0 ORDER BY c4, c6").unwrap();
        query.query_map([], |row| row.try_into()).unwrap().collect::<Result<Vec<(i64, i64)>, _>>().unwrap()
    };
    let first = keys(1);
    assert_eq!(first, keys(1));
    assert_ne!(first, keys(2));
    assert_eq!(first.iter().map(|(_, key)| key).collect::<std::collections::BTreeSet<_>>().len(), 40);
}

#[test]
fn options_that_would_lie_or_mean_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |options: &[(&str, OptionValue)]| {
        let request = request(folder.path(), options, 1);
        Sqlite.check(&request.load).map_err(|error| error.to_string())
    };
    assert!(check(&[word("table", "unlogged")]).is_ok());
    assert!(check(&[word("table", "unlogged"), word("durability", "relaxed")]).is_ok());
    let cases = [
        (vec![word("table", "unlogged"), word("durability", "full")], "nothing is ever synced"),
        (vec![word("file", "both")], "own, shared"),
        (vec![word("loop", "client")], "inside the worker"),
        (vec![whole("rows_per_tx", 0), whole("rows_per_session", 4)], "sqlite"),
        (vec![whole("stripes", 4)], "allowed: key"),
    ];
    for (options, part) in cases {
        let message = check(&options).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
    let mut bad = request(folder.path(), &[], 1);
    bad.load.engine_options.insert("cache".into(), OptionValue::Integer(1));
    assert!(Sqlite.check(&bad.load).unwrap_err().to_string().contains("no engine option"));
    let missing = Inserting::start(&request(folder.path(), &[], 1), Spec::of(&Options::new()).unwrap());
    assert!(missing.unwrap_err().to_string().contains("load it first"));
}

#[test]
fn the_largest_transaction_fits_into_one_statement() {
    let folder = tempfile::tempdir().unwrap();
    let options = [whole("rows_per_tx", 1000), whole("rows_per_session", 2000), whole("seed_rows", 0)];
    let request = request(folder.path(), &options, 1);
    let run = started(&request);
    let slices = work(&run, &request, &hour());
    assert_eq!((slices[0][0].steps, slices[0][0].rows), (2, 2000));
    run.finish().unwrap();
}
