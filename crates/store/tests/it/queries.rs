//! Executions of queries: in and out, what is refused, and what a crafted file can make of them.

use crate::{made, made_queries};
use rusqlite::Connection;
use std::path::Path;
use threadwise_store::{Expectation, Problem, Store};
use threadwise_study::{QueryExecution, Run, Study};

fn create(path: &Path, study: &Study) -> Store {
    let mut store = Store::create(path, study, &made::topology(), &made::versions()).unwrap();
    store.block_started(0, 0, 0.0).unwrap();
    store
}

fn executions(run: &mut Run) -> &mut Vec<QueryExecution> {
    &mut run.slices[0].sessions[0].queries
}

#[test]
fn executions_come_back_without_their_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut power = made_queries::query_run(1, 0, 22, 1, 1);
    let mut throughput = made_queries::query_run(2, 0, 1, 3, 22);
    let odd = executions(&mut throughput);
    odd[0] = QueryExecution { query: 22, elapsed_ns: 1, ..QueryExecution::default() };
    odd[1].plan = Some("scan of 'région'\n  ~ Gather".into());
    odd[2].counters.insert("major_faults".into(), (1 << 50) - 1);
    odd[3].plan = Some(String::new());
    odd[4].plan = Some("x".repeat(1 << 20));
    throughput.slices[0].sessions[1].queries.clear();
    let mut store = create(&path, &made::study());
    for run in [&mut power, &mut throughput] {
        let mut answered = run.clone();
        executions(&mut answered)[0].answer = Some(vec![vec![Some("1".into()), None]]);
        run.id = store.append_run(&answered).unwrap();
    }
    drop(store);
    assert_eq!(Store::open(&path).unwrap().runs().unwrap(), [power, throughput]);
    let plain = Connection::open(&path).unwrap();
    let plans: i64 = plain.query_row("SELECT count(*) FROM plans", [], |row| row.get(0)).unwrap();
    assert_eq!(plans, 22 + 3, "each plan once");
}

#[test]
fn what_cannot_be_stored_is_named_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut store = create(&path, &made::study());
    store.append_run(&made_queries::query_run(1, 0, 2, 1, 2)).unwrap();
    let before = store.runs().unwrap();
    type Spoil = fn(&mut QueryExecution);
    let spoils: [(&str, Spoil); 10] = [
        ("query BETWEEN 1 AND 22", |one| one.query = 0),
        ("query BETWEEN 1 AND 22", |one| one.query = 23),
        ("elapsed_ns BETWEEN 1", |one| one.elapsed_ns = 0),
        ("out of range", |one| one.started_ns = u64::MAX),
        ("planning_ns BETWEEN 0", |one| one.planning_ns = Some(1 << 50)),
        ("dop BETWEEN 1", |one| one.dop = Some(0)),
        ("dop BETWEEN 1", |one| one.dop = Some(u32::MAX)),
        ("spill_bytes is", |one| {
            one.counters.insert("spill_bytes".into(), 1 << 50);
        }),
        ("a plan has 1048577 bytes", |one| one.plan = Some("x".repeat((1 << 20) + 1))),
        ("a plan has the control character U+001B", |one| one.plan = Some("new\n\x1b[2J".into())),
    ];
    for (words, spoil) in spoils {
        let mut run = made_queries::query_run(2, 0, 2, 1, 2);
        spoil(&mut executions(&mut run)[1]);
        let error = store.append_run(&run).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(store.runs().unwrap(), before);
    store.append_run(&made_queries::query_run(2, 0, 2, 1, 2)).unwrap();
}

/// Plans come back with every execution: a writer stops where a reader would.
#[test]
fn plans_of_all_executions_together_have_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut large = made_queries::query_run(1, 0, 1, 1, 16);
    for one in executions(&mut large) {
        one.plan = Some("x".repeat(1 << 20));
    }
    let mut store = create(&path, &made::study());
    for _ in 0..10 {
        store.append_run(&large).unwrap();
    }
    drop(store);
    assert!(path.metadata().unwrap().len() < 4 << 20, "a plan is in the file once, and once in its index");
    let versions = made::versions();
    let expected = Expectation {
        topology: &made::topology(),
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: None,
    };
    let mut store = Store::resume(&path, &expected).unwrap();
    for _ in 10..16 {
        store.append_run(&large).unwrap();
    }
    let error = store.append_run(&large).unwrap_err();
    assert!(error.to_string().contains("text of the plans of all executions"), "{error}");
    store.append_run(&made::run(1, 0, 0, 1, 1, 1)).unwrap();
    drop(store);

    let more =
        "INSERT INTO query_executions (session_slice, ordinal, query, started_ns, elapsed_ns, rows, plan, counters)
                VALUES (1, 16, 1, 0, 1, 0, 1, '{}')";
    Connection::open(&path).unwrap().execute(more, []).unwrap();
    let error = Store::open(&path).unwrap().runs().unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
    assert!(error.to_string().contains("more than 268435456 bytes"), "{error}");
}

#[test]
fn crafted_executions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let valid = folder.path().join("valid");
    let path = folder.path().join("spoilt");
    create(&valid, &made::study()).append_run(&made_queries::query_run(1, 0, 2, 2, 3)).unwrap();
    for (sql, words) in [
        ("DELETE FROM query_executions WHERE id = 5", "query_executions.id is 6 instead of 5"),
        (
            "UPDATE query_executions SET ordinal = 7 WHERE id = 5",
            "query_executions.ordinal is 7 instead of 1",
        ),
        (
            "UPDATE query_executions SET session_slice = 99 WHERE id = 12",
            "session_slice is 99, but there are 4",
        ),
        (
            "UPDATE query_executions SET session_slice = 0 WHERE id = 12",
            "session_slice is 0, but there are 4",
        ),
        ("UPDATE query_executions SET query = 23", "query_executions.query is 23"),
        ("UPDATE query_executions SET query = 0", "query_executions.query is 0"),
        ("UPDATE query_executions SET elapsed_ns = 0", "query_executions.elapsed_ns is 0"),
        ("UPDATE query_executions SET dop = 0", "query_executions.dop is 0"),
        ("UPDATE query_executions SET plan = 0", "query_executions.plan is 0"),
        ("UPDATE query_executions SET plan = 5", "query_executions.plan is 5, but there are 4"),
        ("UPDATE plans SET id = 9 WHERE id = 4", "plans.id is 9 instead of 4"),
        ("UPDATE plans SET text = 'a' || char(27) WHERE id = 2", "control character U+001B"),
        ("UPDATE plans SET text = printf('%.*c', 1048577, 'x') WHERE id = 2", "plans.text has 1048577 bytes"),
        (
            "UPDATE query_executions SET counters = '{\"a\":-1}'",
            "counters is not valid: invalid value: integer `-1`",
        ),
        (
            "UPDATE query_executions SET counters = '{\"a\":1125899906842624}'",
            "a is 1125899906842624, more than",
        ),
        ("UPDATE query_executions SET counters = ''", "counters is not valid: EOF"),
    ] {
        std::fs::copy(&valid, &path).unwrap();
        let plain = Connection::open(&path).unwrap();
        plain.execute_batch("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF").unwrap();
        assert!(plain.execute(sql, []).unwrap() > 0, "{sql}");
        drop(plain);
        let error = Store::open(&path).and_then(|store| store.runs()).unwrap_err();
        assert!(matches!(error.problem, Problem::Damaged(_)), "{sql}: {error}");
        // CHECK constraints are looked at first, where there is one.
        let text = error.to_string();
        assert!(text.contains(words) || text.contains("CHECK constraint failed"), "{sql}: {error}");
    }
}

/// Scale factor 100: 22 queries x 40 treatments x 8 blocks, hours long, with terabytes of spill.
#[test]
fn a_large_study_fits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut study = made::study();
    for number in study.treatments.len()..40 {
        let mut treatment = study.treatments[3].clone();
        treatment.name = format!("{number:02}-{}", "n".repeat(200));
        study.treatments.push(treatment);
    }
    study.design.rounds = 22;
    study.design.slice_ns = 3_600_000_000_000;
    let mut store = Store::create(&path, &study, &made::topology(), &made::versions()).unwrap();
    let mut runs = Vec::new();
    for block in 0..8 {
        store.block_started(block, 0, 0.0).unwrap();
        for (at, treatment) in study.treatments.iter().enumerate() {
            let mut run = made_queries::query_run(at as u64, block, 22, 1, 1);
            run.treatment.clone_from(&treatment.name);
            for slice in &mut run.slices {
                slice.start_ns = 365 * 86_400_000_000_000;
                slice.window_ns = 10 * 3_600_000_000_000;
                let one = &mut slice.sessions[0].queries[0];
                one.elapsed_ns = slice.window_ns;
                one.cpu_ns = Some(1000 * 1_000_000_000_000);
                one.rows = 150_000_000;
                one.counters.insert("spill_bytes".into(), 200 << 40);
            }
            run.id = store.append_run(&run).unwrap();
            runs.push(run);
        }
        store.block_complete(block, 0, 1.0).unwrap();
    }
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.study(), &study);
    assert!(store.runs().unwrap() == runs);
    assert!(path.metadata().unwrap().len() < 8 << 20);
}
