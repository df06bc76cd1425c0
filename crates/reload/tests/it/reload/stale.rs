//! Connections to the old file after the swap: an error, or their row is in the new file; never lost.
//!
//! They are made in this process, which the search for other processes leaves out: as a process that
//! opens the file in the moment between that search and the swap.

use crate::reload::bench::{Bench, contents, options, reloaded};
use rusqlite::{Connection, ErrorCode};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadwise_reload::Originals;
use threadwise_reload::item::{Outcome, Step};

const MODES: [&str; 6] = ["delete", "truncate", "persist", "memory", "off", "wal"];

/// Inserts by a connection to the old file, then says what the new one has.
fn insert(stale: &Connection, bench: &Bench, name: &str, mode: &str) {
    let case = format!("{name} as {mode}");
    // The mode is set as applications do after opening; on a sealed file `wal` is refused.
    let set = stale.pragma_update_and_check(None, "journal_mode", mode, |row| row.get::<_, String>(0));
    let inserted = stale.execute("INSERT INTO empty VALUES (?1)", [mode]);
    let path = bench.path().join(name);
    let found: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM empty WHERE x = ?1", [mode], |row| row.get(0))
        .unwrap();
    match inserted {
        Ok(_) => assert_eq!(found, 1, "{case}: the row is lost ({set:?})"),
        Err(error) => {
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly), "{case}: {error}");
            assert_eq!(found, 0, "{case}");
        }
    }
}

#[test]
fn a_connection_with_a_warm_cache_gets_an_error() {
    for mode in MODES.into_iter().filter(|mode| *mode != "wal") {
        let bench = Bench::new();
        let path = bench.database("db", "delete");
        let before = contents(&path);
        let stale = Connection::open(&path).unwrap();
        stale.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        stale.execute("INSERT INTO empty VALUES ('warm')", []).unwrap();
        stale.execute("DELETE FROM empty", []).unwrap();
        let report = reloaded(&path, &options(Originals::Keep));
        assert_eq!(report.outcome, Outcome::Done, "{mode}");
        insert(&stale, &bench, "db", mode);
        drop(stale);
        let after = contents(&path);
        assert_eq!(after, before, "{mode}");
    }
}

#[test]
fn a_connection_opened_at_any_step_gets_an_error_in_every_mode() {
    for database in ["delete", "wal"] {
        for step in [Step::Folder, Step::Held, Step::Checked, Step::Linked, Step::Sealed] {
            let bench = Bench::new();
            let path = bench.database("db", database);
            let before = contents(&path);
            let opened = Arc::new(Mutex::new(Vec::new()));
            let mut options = options(Originals::Keep);
            options.hook = Some(Arc::new({
                let opened = Arc::clone(&opened);
                move |at, path| {
                    if at == step {
                        let made = MODES.iter().map(|_| Connection::open(path).unwrap());
                        opened.lock().unwrap().extend(made);
                    }
                    true
                }
            }));
            let report = reloaded(&path, &options);
            assert_eq!(report.outcome, Outcome::Done, "{database} {step:?}");
            let opened = std::mem::take(&mut *opened.lock().unwrap());
            for (stale, mode) in opened.iter().zip(MODES) {
                stale.busy_timeout(Duration::from_secs(1)).unwrap();
                insert(stale, &bench, "db", mode);
            }
            drop(opened);
            assert_eq!(contents(&path), before, "{database} {step:?}");
        }
    }
}

#[test]
fn while_it_is_held_nobody_reads_or_writes() {
    for database in ["delete", "wal"] {
        let bench = Bench::new();
        let path = bench.database("db", database);
        let mut options = options(Originals::Remove);
        let tried = Arc::new(Mutex::new(0));
        options.hook = Some(Arc::new({
            let tried = Arc::clone(&tried);
            move |step, path| {
                let held = [Step::Held, Step::Copied, Step::Checked, Step::Linked, Step::Sealed];
                if held.contains(&step) {
                    let connection = Connection::open(path).unwrap();
                    connection.busy_timeout(Duration::ZERO).unwrap();
                    let read = connection.query_row("SELECT 1 FROM rows", [], |_| Ok(()));
                    let written = connection.execute("INSERT INTO empty VALUES (1)", []);
                    for error in [read.unwrap_err(), written.unwrap_err()] {
                        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{step:?}");
                    }
                    *tried.lock().unwrap() += 1;
                }
                true
            }
        }));
        assert_eq!(reloaded(&path, &options).outcome, Outcome::Done);
        assert_eq!(*tried.lock().unwrap(), 5);
    }
}
