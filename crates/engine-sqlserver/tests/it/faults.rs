//! What fails on the server while it is loaded or measured: one line, and nothing is left.

use crate::bench::{Bench, LONG_NS, assert_clear, slice};
use crate::model::Settings;
use threadwise_engine::{Engine, EngineError};
use threadwise_engine_sqlserver::Client;
use threadwise_tds::{Message, Value};

const BLOCKS: &str = "blocks=100 work_unit=4";

fn failing(begins: &'static str, number: i32, text: &str, class: u8) -> Settings {
    Settings { fails: vec![(begins, Message::new(number, text).class(class))], ..Settings::default() }
}

fn assert_says(error: &EngineError, parts: &[&str]) {
    let message = error.to_string();
    assert_clear(&message);
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

#[test]
fn a_right_to_make_a_schema_that_is_missing_is_named() {
    for (number, text) in [
        (262, "CREATE SCHEMA permission denied in database 'shop'."),
        (
            2760,
            "The specified schema name \"threadwise\" either does not exist or you do not have permission to use it.",
        ),
        // Half way: all of it is one transaction.
        (262, "CREATE TABLE permission denied in database 'shop'."),
    ] {
        let bench = Bench::new(failing("BEGIN TRANSACTION;\nEXEC(N'CREATE SCHEMA", number, text, 14));
        let load = bench.load("logical-io", BLOCKS, 1);
        let error = Client.keep(&load, 0).err().unwrap();
        let number = number.to_string();
        assert_says(
            &error,
            &["schema 'threadwise'", "database 'shop'", "'measurer'", text, &number, "GRANT"],
        );
        assert_eq!(bench.state().log, [""; 0]);
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_load_without_room_is_told_to_use_less() {
    let text = "Could not allocate space for object 'blocks' in database 'shop' because the 'PRIMARY' filegroup is full.";
    for (workload, options, begins) in [
        ("logical-io", BLOCKS, "rows of [threadwise].[blocks_"),
        ("logical-io", BLOCKS, "INSERT BULK [threadwise].[blocks_"),
        ("insert", "seed_rows=10", "INSERT INTO [threadwise].[inserted_"),
        ("insert", "seed_rows=10", "rows of [threadwise].[keys_"),
    ] {
        let bench = Bench::new(failing(begins, 1105, text, 17));
        let load = bench.load(workload, options, 1);
        let keeper = Client.keep(&load, 0).unwrap().unwrap();
        let error = Client.load(&load).unwrap_err();
        assert_says(&error, &[text, "1105", "no space is left", "use less data"]);
        assert_eq!(error.kind(), "engine");
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_log_that_is_full_ends_the_slice_and_the_table_is_put_back() {
    let text = "The transaction log for database 'shop' is full due to 'LOG_BACKUP'.";
    let bench = Bench::new(failing("EXEC [threadwise].[insert_rows_", 9002, text, 17));
    let load = bench.load("insert", "seed_rows=100", 1);
    let (keeper, _, running) = bench.begin(&load);
    assert_says(
        &slice(&bench, running.as_ref(), &load, LONG_NS).error(),
        &["run its loop", text, "9002", "no space"],
    );
    // The loop had inserted 80 rows by then, which it never reported; 80 are of the one before.
    let error = running.finish().unwrap_err();
    assert_eq!(error.kind(), "wrong-answer");
    assert_says(&error, &["after the run", "260 rows", "instead of 180 rows"]);
    {
        let state = bench.state();
        let (_, table) = state.tables.iter().find(|(name, _)| name.contains("[inserted_")).unwrap();
        assert_eq!(table.rows.len(), 100);
    }
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn the_victim_of_a_deadlock_is_told_that_it_was_one() {
    let text = "Transaction (Process ID 51) was deadlocked on lock resources with another process and has been \
                chosen as the deadlock victim. Rerun the transaction.";
    let bench = Bench::new(failing("EXEC [threadwise].[read_blocks_", 1205, text, 13));
    let load = bench.load("logical-io", &format!("{BLOCKS} update_pct=100 shared=true"), 1);
    let (keeper, _, running) = bench.begin(&load);
    assert_says(
        &slice(&bench, running.as_ref(), &load, LONG_NS).error(),
        &["run its loop", text, "1205", "deadlock"],
    );
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn steps_in_the_client_that_fail_are_named_by_their_keys() {
    let text = "Lock request time out period exceeded.";
    let bench = Bench::new(failing("SELECT COUNT(*), SUM(value + twin)", 1222, text, 16));
    let load = bench.load("logical-io", &format!("{BLOCKS} loop=client"), 1);
    let (keeper, _, running) = bench.begin(&load);
    assert_says(
        &slice(&bench, running.as_ref(), &load, LONG_NS).error(),
        &["read keys", text, "holds the lock"],
    );
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

/// Changes a row of the only table with blocks, as a server that loses writes would.
fn corrupt(bench: &Bench) {
    let mut state = bench.state();
    let (_, table) = state.tables.iter_mut().find(|(name, _)| name.contains("[blocks_")).unwrap();
    let at = table.at("value");
    for row in &mut table.rows {
        row[at] = Value::Int(5);
    }
}

#[test]
fn wrong_answers_fail_the_slice_with_either_loop() {
    for (more, part) in [("", "40 of 40 steps on [threadwise].[blocks_"), ("loop=client", "keys ")] {
        let bench = Bench::new(Settings::default());
        let load = bench.load("logical-io", &format!("{BLOCKS} {more}"), 1);
        let (keeper, _, running) = bench.begin(&load);
        let mut open = running.open(&crate::bench::session(&load, 0)).unwrap();
        open.warm().unwrap();
        bench.state().is_warm = true;
        corrupt(&bench);
        let error = open.slice(&crate::bench::window(1, 1_000_000)).unwrap_err();
        assert_eq!(error.kind(), "wrong-answer");
        assert_says(&error, &[part]);
        // Nor does such a table become warm.
        assert_eq!(open.warm().unwrap_err().kind(), "wrong-answer");
        drop((open, running));
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn rows_that_are_lost_fail_the_run_at_its_end() {
    for options in ["", "storage=memory-optimised", "loop=server rows_per_session=20"] {
        let bench = Bench::new(Settings { lost: 1, ..Settings::default() });
        let load = bench.load("insert", &format!("seed_rows=100 {options}"), 1);
        let (keeper, _, running) = bench.begin(&load);
        slice(&bench, running.as_ref(), &load, LONG_NS).done();
        let error = running.finish().unwrap_err();
        assert_eq!(error.kind(), "wrong-answer");
        let wanted = if options.contains("20") { "119 rows" } else { "259 rows" };
        assert_says(&error, &["after the run", wanted]);
        drop(running);
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_table_that_did_not_come_out_as_it_has_to_be_fails_the_load() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", BLOCKS, 1);
    // Without its schema there is nowhere to load to.
    let error = Client.load(&load).unwrap_err();
    assert_says(&error, &["look for its data", "208"]);
    assert_eq!(bench.state().log, [""; 0]);
    let error = Client.start(&crate::bench::start(&bench.load("insert", "", 1))).err().unwrap();
    assert_says(&error, &["check the table", "208"]);
    bench.assert_over();
    bench.assert_clean();
}
