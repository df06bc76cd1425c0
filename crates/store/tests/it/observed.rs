//! The file of observed statements: written, continued, read meanwhile, and refused.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use threadwise_observed::{Count, Gap, Host, Interval, Lost, Neighbours, StatementText, States, Unseen};
use threadwise_store::{About, ObservedStore, Problem, Store};

fn about() -> About {
    About {
        program: "0.1.0".to_owned(),
        engine: "postgres".to_owned(),
        engine_version: "15".to_owned(),
        server: "db port 5432".to_owned(),
        host: "this".to_owned(),
        most: 500,
        has_texts: true,
        interval_ns: 60_000_000_000,
        created_utc: "2026-01-01T00:00:00Z".to_owned(),
    }
}

fn interval(minute: i64, keys: &[&str]) -> Interval {
    let count = |key: &&str| Count { statement: (*key).to_owned(), calls: 3, time_ns: 30, rows: 6 };
    Interval {
        start_unix_ms: minute * 60_000,
        end_unix_ms: (minute + 1) * 60_000,
        length_ns: 60_000_000_000,
        gap: None,
        states: States {
            state: Some("blue".to_owned()),
            smt: Some("on".to_owned()),
            clock: None,
            cpus: Some(8),
            version: Some("15".to_owned()),
        },
        host: Some(Host {
            busy_share: 0.5,
            used_low_share: 0.6,
            used_high_share: 0.7,
            stolen_share: 0.0,
            busy_mhz: None,
        }),
        neighbours: Some(Neighbours::Seen { looks: 40, share: 0.125 }),
        counts: keys.iter().map(count).collect(),
        rest: Count { statement: 2, calls: 9, time_ns: 10, rows: 1 },
        lost: Lost { evicted: 1, restarted: 2 },
    }
}

fn gap(minute: i64) -> Interval {
    Interval {
        start_unix_ms: minute * 60_000,
        end_unix_ms: (minute + 1) * 60_000,
        gap: Some(Gap::Reset),
        neighbours: (minute == 4).then_some(Neighbours::Unknown(Unseen::NoLook)),
        ..Interval::default()
    }
}

fn text(key: &str) -> StatementText {
    StatementText {
        key: key.to_owned(),
        database: Some("sales".to_owned()),
        user: Some("ada".to_owned()),
        text: Some(format!("SELECT {key}")),
        is_ours: key == "ours",
    }
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("o.threadwise")
}

/// Index of interval, index of statement, calls.
fn counts(store: &ObservedStore) -> Vec<(usize, u32, u64)> {
    let mut found = Vec::new();
    let (intervals, statements) = (store.intervals().unwrap().len(), store.statements().unwrap().len());
    store.counts(intervals, statements, |at, count| found.push((at, count.statement, count.calls))).unwrap();
    found
}

fn problem(path: &Path, about: &About) -> Problem {
    ObservedStore::create_or_continue(path, about).unwrap_err().problem
}

#[test]
fn what_is_stored_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut store, before) = ObservedStore::create_or_continue(&path, &about()).unwrap();
    assert_eq!(before, 0);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    store.append(&interval(1, &["b", "ours"]), &[text("b"), text("ours")]).unwrap();
    store.append(&gap(2), &[]).unwrap();
    // Closing a descriptor would give up this process's locks, so it is not even opened here.
    assert_eq!(ObservedStore::open(&path).unwrap_err().problem, Problem::InUse);
    drop(store);
    assert_eq!(counts(&ObservedStore::open(&path).unwrap()), [(0, 0, 3), (0, 1, 3)]);
    let (mut store, before) = ObservedStore::create_or_continue(&path, &about()).unwrap();
    assert!(before == 2 && store.knows("b") && !store.knows("c"));
    store.append(&interval(3, &["c", "b"]), &[]).unwrap();
    store.append(&gap(4), &[text("c"), text("unknown")]).unwrap();
    store.describe(&[text("c")]).unwrap();
    drop(store);
    let reader = ObservedStore::open(&path).unwrap();
    assert_eq!(reader.about(), &about());
    let statements = reader.statements().unwrap();
    assert_eq!(statements, [text("b"), text("ours"), text("c")]);
    let intervals = reader.intervals().unwrap();
    assert_eq!((intervals[1].gap, intervals[1].host), (Some(Gap::Reset), None));
    let first = interval(1, &[]);
    assert_eq!((&intervals[0].states, intervals[0].host), (&first.states, first.host));
    let neighbours: Vec<Option<Neighbours>> = intervals.iter().map(|interval| interval.neighbours).collect();
    let seen = Some(Neighbours::Seen { looks: 40, share: 0.125 });
    assert_eq!(neighbours, [seen, None, seen, Some(Neighbours::Unknown(Unseen::NoLook))]);
    assert_eq!((&intervals[0].rest, intervals[0].lost), (&first.rest, first.lost));
    assert_eq!(counts(&reader), [(0, 0, 3), (0, 1, 3), (2, 0, 3), (2, 2, 3)]);
}

#[test]
fn an_interval_is_stored_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut store, _) = ObservedStore::create_or_continue(&path, &about()).unwrap();
    store.append(&interval(1, &["a"]), &[]).unwrap();
    let mut bad = interval(2, &["b", "c"]);
    bad.counts[1].calls = 0;
    assert!(matches!(store.append(&bad, &[]).unwrap_err().problem, Problem::Unstorable(_)));
    store.append(&interval(3, &["b"]), &[]).unwrap();
    drop(store);
    let reader = ObservedStore::open(&path).unwrap();
    assert_eq!(counts(&reader), [(0, 0, 3), (1, 1, 3)]);
    assert_eq!(reader.statements().unwrap()[1].text, None);
}

#[test]
fn other_servers_second_writers_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (store, _) = ObservedStore::create_or_continue(&path, &about()).unwrap();
    assert!(matches!(problem(&path, &about()), Problem::InUse | Problem::Observing));
    drop(store);
    let other = About { server: "elsewhere".to_owned(), ..about() };
    let Problem::Elsewhere(why) = problem(&path, &other) else { panic!("continued") };
    assert!(why.contains("db port 5432") && why.contains("elsewhere"), "{why}");
    assert_eq!(Store::open(&path).unwrap_err().problem, Problem::Observed);
    assert!(Store::open(&path).unwrap_err().to_string().contains("threadwise compare"));
    std::fs::write(folder.path().join("text"), "text").unwrap();
    assert!(matches!(problem(&folder.path().join("text"), &about()), Problem::NotSqlite(_)));
    std::fs::write(folder.path().join("empty"), "").unwrap();
    assert!(matches!(problem(&folder.path().join("empty"), &about()), Problem::Empty));
    assert_eq!(std::fs::read(folder.path().join("text")).unwrap(), b"text");
}

#[test]
fn impossible_values_and_foreign_tables_are_refused() {
    let changes = [
        ("PRAGMA ignore_check_constraints=ON; UPDATE counts SET calls = 0", "counts.calls is 0"),
        ("UPDATE intervals SET gap = 'x'", "intervals.gap is 'x'"),
        ("PRAGMA foreign_keys=OFF; UPDATE counts SET statement = 7", "counts.statement is 7"),
        (
            "PRAGMA foreign_keys=OFF; UPDATE intervals SET id = 5; UPDATE counts SET interval = 5",
            "instead of 1",
        ),
        ("DELETE FROM meta WHERE key = 'server'", "meta lacks 'server'"),
        ("UPDATE meta SET value = 'x' WHERE key = 'most'", "meta.most is 'x'"),
        ("CREATE VIEW v AS SELECT 1", "is unknown"),
        ("PRAGMA application_id = 5", "another program"),
        ("PRAGMA user_version = 4", "newer threadwise"),
        ("PRAGMA user_version = 2", "schema 2, this one reads 3): observe into another file (--output)"),
        ("UPDATE intervals SET neighbour_share = NULL", "looks does not fit"),
        ("UPDATE intervals SET looks = 0, neighbour_share = NULL, neighbour_unknown = 'x'", "is 'x'"),
    ];
    for (sql, words) in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder);
        let (mut store, _) = ObservedStore::create_or_continue(&path, &about()).unwrap();
        store.append(&interval(1, &["a"]), &[]).unwrap();
        drop(store);
        let spoiler = rusqlite::Connection::open(&path).unwrap();
        spoiler.execute_batch(sql).unwrap();
        drop(spoiler);
        let read = || {
            let store = ObservedStore::open(&path)?;
            let (intervals, statements) = (store.intervals()?, store.statements()?);
            store.counts(intervals.len(), statements.len(), |_, _| ())
        };
        let message = read().unwrap_err().to_string();
        assert!(message.contains(words) && !message.contains('\n'), "{sql}: {message}");
    }
}

#[test]
fn an_interval_that_was_being_stored_at_a_kill_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut store, _) = ObservedStore::create_or_continue(&path, &about()).unwrap();
    store.append(&interval(1, &["a"]), &[]).unwrap();
    drop(store);
    // What a kill leaves: pages of a transaction in the file, and its journal beside it.
    let killed = tempfile::tempdir().unwrap();
    let copy = killed.path().join("o.threadwise");
    let writer = rusqlite::Connection::open(&path).unwrap();
    let spill = "PRAGMA cache_size = 2; BEGIN IMMEDIATE;
        WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO statements (id, key, is_ours) SELECT i, 'key' || i, 0 FROM n";
    writer.execute_batch(spill).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(folder.path().join("o.threadwise-journal"), killed.path().join("o.threadwise-journal"))
        .unwrap();
    writer.execute_batch("ROLLBACK").unwrap();
    assert!(copy.metadata().unwrap().len() > path.metadata().unwrap().len());
    let reader = ObservedStore::open(&copy).unwrap();
    assert_eq!((reader.statements().unwrap().len(), counts(&reader)), (1, vec![(0, 0, 3)]));
    drop(reader);
    let (mut store, before) = ObservedStore::create_or_continue(&copy, &about()).unwrap();
    assert_eq!(before, 1);
    store.append(&interval(2, &["b"]), &[]).unwrap();
}
