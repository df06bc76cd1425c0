//! Runs of long windows: kept apart from those of slices, with the rows of their pieces.

use crate::made;
use std::path::Path;
use threadwise_store::{Expectation, Store, StoreError};
use threadwise_study::plan::long::FIRST_BLOCK;
use threadwise_study::{LongWindows, Run, Study};

fn study() -> Study {
    let mut study = made::study();
    study.design.long_windows = Some(LongWindows { blocks: 3, window_ns: 10_000_000_000 });
    study
}

fn create(path: &Path) -> Store {
    Store::create(path, &study(), &made::topology(), &made::versions()).unwrap()
}

fn resume(path: &Path) -> Result<Store, StoreError> {
    let (topology, versions) = (made::topology(), made::versions());
    let expected = Expectation {
        topology: &topology,
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: None,
    };
    Store::resume(path, &expected)
}

/// A run of one window with pieces.
fn long_run(seed: u64, number: u32, attempt: u32) -> Run {
    let mut run = made::run(seed, FIRST_BLOCK + number, attempt, 1, 2, 4);
    for (at, session) in run.slices[0].sessions.iter_mut().enumerate() {
        session.rows_by_piece = (0..10).map(|piece| seed + piece * (at as u64 + 1)).collect();
    }
    run
}

#[test]
fn long_runs_come_back_apart_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut store = create(&path);
    store.block_started(0, 0, 0.0).unwrap();
    let mut slices = made::run(1, 0, 0, 3, 2, 4);
    slices.id = store.append_run(&slices).unwrap();
    store.block_complete(0, 0, 1.0).unwrap();
    store.block_started(FIRST_BLOCK, 0, 1.0).unwrap();
    let mut long = long_run(2, 0, 0);
    long.id = store.append_run(&long).unwrap();
    store.block_complete(FIRST_BLOCK, 0, 2.0).unwrap();
    store.block_started(FIRST_BLOCK + 1, 0, 2.0).unwrap();
    let mut broken_off = long_run(3, 1, 0);
    broken_off.id = store.append_run(&broken_off).unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.study(), &study());
    assert_eq!(store.runs().unwrap(), std::slice::from_ref(&slices));
    assert_eq!(store.long_runs().unwrap(), [long.clone(), broken_off]);
    assert_eq!(
        (store.complete_blocks().unwrap(), store.complete_long_blocks().unwrap()),
        (vec![0], vec![FIRST_BLOCK])
    );
    drop(store);

    let mut store = resume(&path).unwrap();
    assert_eq!(store.supersede_incomplete_blocks().unwrap(), [FIRST_BLOCK + 1]);
    assert_eq!(store.next_attempt(FIRST_BLOCK + 1).unwrap(), 1);
    store.block_started(FIRST_BLOCK + 1, 1, 3.0).unwrap();
    store.append_run(&long_run(4, 1, 1)).unwrap();
    store.block_complete(FIRST_BLOCK + 1, 1, 4.0).unwrap();
    assert_eq!(store.complete_long_blocks().unwrap(), [FIRST_BLOCK, FIRST_BLOCK + 1]);
    assert_eq!(store.runs().unwrap(), [slices]);
}

#[test]
fn pieces_that_cannot_be_are_damage() {
    for (json, words) in [
        ("[1,-1]", "invalid value: integer `-1`"),
        ("[1125899906842624]", "a number of rows is 1125899906842624"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let mut store = create(&path);
        store.block_started(FIRST_BLOCK, 0, 0.0).unwrap();
        store.append_run(&long_run(2, 0, 0)).unwrap();
        drop(store);
        let plain = rusqlite::Connection::open(&path).unwrap();
        plain.execute("UPDATE session_slices SET rows_by_piece = ?", [json]).unwrap();
        drop(plain);
        let error = Store::open(&path).unwrap().long_runs().unwrap_err().to_string();
        assert!(
            error.contains("session_slices.rows_by_piece is not valid") && error.contains(words),
            "{error}"
        );
    }
}
