//! What can only be brought about from inside: a full disk, and an allowance that is used up.

#[path = "../tests/it/made.rs"]
mod made;

use crate::{Problem, Store};

#[test]
fn a_full_disk_keeps_what_was_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.tw");
    let mut store = Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap();
    store.block_started(0, 0, 0.0).unwrap();
    store.append_run(&made::run(0, 0, 0, 20, 2, 2)).unwrap();
    let before = store.runs().unwrap();
    let pages: i64 = store.file.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store
        .file
        .connection
        .query_row(&format!("PRAGMA max_page_count = {}", pages + 3), [], |_| Ok(()))
        .unwrap();
    let error = store.append_run(&made::run(1, 0, 0, 20, 2, 2)).unwrap_err();
    let expected = format!(
        "no space left for {}: free 16 MiB or more, or use --output on another disk; what was stored is kept",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(store.runs().unwrap(), before);
    store.file.connection.query_row("PRAGMA max_page_count = 1000000", [], |_| Ok(())).unwrap();
    assert_eq!(store.append_run(&made::run(1, 0, 0, 20, 2, 2)).unwrap(), 2, "it goes on when there is space");
    drop(store);
    assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 2);
}

/// Reading stops when SQLite works for much longer than the file's size explains.
#[test]
fn work_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.tw");
    drop(Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap());
    let store = Store::open(&path).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let result =
        store.file.reading(|connection| Ok(connection.query_row(endless, [], |row| row.get::<_, i64>(0))?));
    let error = result.unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
    assert!(error.to_string().contains("longer than its size"), "{error}");
    assert_eq!(store.runs().unwrap(), [], "the next call has an allowance of its own");
}
