//! What happens to the new file after a kill behind the swap: the original goes only where the new file is
//! still what was checked.

use crate::reload::bench::{Bench, contents, options, reloaded, settings};
use rusqlite::Connection;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use threadwise_reload::Originals;
use threadwise_reload::item::{Outcome, Step};
use threadwise_reload::recover::{Recovered, recover};

/// A database whose reload was killed right after the swap.
fn swapped(bench: &Bench, journal_mode: &str, originals: Originals) -> PathBuf {
    let path = bench.database("db", journal_mode);
    let mut options = options(originals);
    options.hook = Some(Arc::new(|at, _: &Path| at != Step::Swapped));
    assert!(reloaded(&path, &options).left_behind);
    path
}

/// Changes a file so that its time of writing does not tell, as a disk does that loses a page.
fn secretly(path: &Path, change: impl FnOnce(&Path)) {
    let written = fs::metadata(path).unwrap().modified().unwrap();
    change(path);
    File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
}

fn empty(path: &Path) {
    File::create(path).unwrap();
}

fn without_a_page(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[3 * 1024..4 * 1024].fill(0);
    fs::write(path, bytes).unwrap();
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_file_that_takes_the_name_at_the_last_moment_is_not_overwritten() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let (before, foreign) = (contents(&path), bench.path().join("foreign"));
    fs::write(&foreign, "of another program").unwrap();
    let mut options = options(Originals::Remove);
    options.hook = Some(Arc::new(move |at, database: &Path| {
        if at == Step::Sealed {
            fs::rename(&foreign, database).unwrap();
        }
        true
    }));
    let report = reloaded(&path, &options);
    let Outcome::Failed(why) = report.outcome else { panic!("{:?}", report.outcome) };
    assert!(why.contains("another file") && why.contains("db.before-reload"), "{why}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "of another program");
    // The original is not lost either, and may be written to.
    let kept = bench.path().join("db.before-reload");
    assert_eq!(contents(&kept), before);
    execute(&kept, "INSERT INTO empty VALUES (1)");
}

type Change = fn(&Path);

#[test]
fn the_original_stays_where_the_new_file_is_not_what_was_checked() {
    let cases: [(&str, Change, &str); 6] = [
        ("emptied", empty, "empty"),
        ("emptied, time kept", |path| secretly(path, empty), "empty"),
        ("a page lost", without_a_page, "written to since"),
        ("a page lost, time kept", |path| secretly(path, without_a_page), "damaged"),
        (
            "a row gone, time kept",
            |path| secretly(path, |path| execute(path, "DELETE FROM rows WHERE id = 3")),
            "rows in",
        ),
        ("written to", |path| execute(path, "INSERT INTO empty VALUES (1)"), "written to since"),
    ];
    for journal_mode in ["delete", "wal"] {
        for (case, change, words) in cases {
            let bench = Bench::new();
            let before = contents(&bench.database("db", journal_mode));
            let path = swapped(&bench, journal_mode, Originals::Remove);
            let kept = path.with_file_name("db.before-reload");
            let original = fs::read(&kept).unwrap();
            change(&path);
            let changed = fs::read(&path).unwrap();
            for _ in 0..2 {
                let error = recover(&path, &settings()).unwrap_err().to_string();
                let explained = error.contains(words) && error.contains("nothing was removed");
                assert!(explained && error.contains(kept.to_str().unwrap()), "{case}: {error}");
                assert!(!error.contains('\n'), "{case}: {error}");
            }
            let report = reloaded(&path, &options(Originals::Remove));
            let Outcome::Skipped(why) = &report.outcome else { panic!("{case}: {report:?}") };
            assert!(why.contains(words) && why.contains("mv "), "{case}: {why}");
            assert!(fs::read(&kept).unwrap() == original && fs::read(&path).unwrap() == changed, "{case}");
            // What the message says to do.
            fs::rename(&kept, &path).unwrap();
            assert_eq!(recover(&path, &settings()), Ok(Recovered::PutBack), "{case}");
            assert_eq!(contents(&path), before, "{case}");
            assert_eq!(bench.names(), ["db"], "{case}");
            execute(&path, "INSERT INTO empty VALUES (1)");
        }
    }
}

#[test]
fn a_user_may_go_on_with_a_new_file_that_was_written_to() {
    let bench = Bench::new();
    let path = swapped(&bench, "delete", Originals::Remove);
    execute(&path, "INSERT INTO empty VALUES (77)");
    let after = contents(&path);
    assert!(recover(&path, &settings()).is_err());
    fs::remove_file(path.with_file_name("db.before-reload")).unwrap();
    assert_eq!(recover(&path, &settings()), Ok(Recovered::Finished));
    assert_eq!((contents(&path), bench.names()), (after, vec!["db".to_owned()]));
}

#[test]
fn a_kept_original_is_named_where_the_new_file_is_damaged_and_only_there() {
    for (change, words) in [(empty as Change, "empty"), (without_a_page, "damaged")] {
        let bench = Bench::new();
        let path = swapped(&bench, "delete", Originals::Keep);
        change(&path);
        let error = recover(&path, &settings()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("db.before-reload"), "{error}");
    }
    for journal_mode in ["delete", "wal"] {
        let bench = Bench::new();
        let path = swapped(&bench, journal_mode, Originals::Keep);
        let open = Connection::open(&path).unwrap();
        open.execute_batch("INSERT INTO empty VALUES (77)").unwrap();
        assert_eq!(recover(&path, &settings()), Ok(Recovered::Finished), "{journal_mode}");
        drop(open);
        assert_eq!(bench.names(), ["db", "db.before-reload"]);
    }
}
