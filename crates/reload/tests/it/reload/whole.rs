//! What a reload that goes well leaves: the same rows, settings, owner, mode and attributes; nothing else.

use crate::reload::bench::{Bench, contents, options, reloaded, settings};
use rusqlite::Connection;
use rusqlite::types::Value;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use threadwise_reload::Originals;
use threadwise_reload::item::Outcome;
use threadwise_reload::recover::unseal;

fn attribute(path: &Path) -> Vec<u8> {
    let mut value = [0; 64];
    let length = getxattr(path, "user.threadwise", &mut value).unwrap();
    value[..length].to_vec()
}

#[test]
fn rows_settings_and_attributes_are_the_same_and_nothing_is_left() {
    let bench = Bench::new();
    for mode in ["delete", "wal"] {
        for originals in [Originals::Keep, Originals::Remove] {
            let name = format!("a 'b'\n{mode} {originals:?}.db");
            let path = bench.database(&name, mode);
            setxattr(&path, "user.threadwise", b"kept", XattrFlags::empty()).unwrap();
            let root = rustix::process::geteuid().is_root();
            if root {
                chown(&path, Some(12), Some(34)).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
            }
            let before = (contents(&path), fs::metadata(&path).unwrap());
            let report = reloaded(&path, &options(originals));
            assert_eq!(report.outcome, Outcome::Done, "{name}");
            assert_eq!((report.warnings.len(), report.left_behind), (0, false), "{:?}", report.warnings);
            assert!(report.checked.unwrap().tables > 8 && report.checked.unwrap().rows > 200);
            let after = fs::metadata(&path).unwrap();
            assert_ne!(after.ino(), before.1.ino());
            assert!(report.bytes_after.unwrap() < report.bytes_before, "deleted rows are gone");
            assert_eq!(report.bytes_after, Some(after.len()));
            assert_eq!(
                (after.uid(), after.gid(), after.mode()),
                (before.1.uid(), before.1.gid(), before.1.mode())
            );
            assert_eq!(attribute(&path), b"kept");
            assert_eq!(contents(&path), before.0);
            let mut names = vec![name.clone()];
            names.extend((originals == Originals::Keep).then(|| format!("{name}.before-reload")));
            assert_eq!(bench.names(), names, "no side file, no folder");
            for name in names {
                fs::remove_file(bench.path().join(name)).unwrap();
            }
        }
    }
}

#[test]
fn a_kept_original_reads_is_not_written_and_comes_back() {
    let bench = Bench::new();
    for mode in ["delete", "wal"] {
        let path = bench.database(mode, mode);
        let before = contents(&path);
        let report = reloaded(&path, &options(Originals::Keep));
        let kept = report.kept.unwrap();
        let sealed = Connection::open(&kept).unwrap();
        let count: i64 = sealed.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 200);
        let error = sealed.execute("INSERT INTO empty VALUES (1)", []).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly), "{error}");
        drop(sealed);
        let again = reloaded(&kept, &options(Originals::Keep));
        assert!(matches!(&again.outcome, Outcome::Skipped(why) if why.contains("--unseal")), "{again:?}");
        unseal(&kept, &settings(), crate::reload::bench::driver().as_ref()).unwrap();
        unseal(&kept, &settings(), crate::reload::bench::driver().as_ref()).unwrap();
        fs::rename(&kept, &path).unwrap();
        assert_eq!(contents(&path), before, "{mode}");
        Connection::open(&path).unwrap().execute("INSERT INTO empty VALUES (1)", []).unwrap();
    }
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let link = bench.path().join("link");
    symlink("db", &link).unwrap();
    assert_eq!(reloaded(&link, &options(Originals::Remove)).outcome, Outcome::Done);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(bench.names(), ["db", "link"]);
    assert_eq!(contents(&link), contents(&path));
}

#[test]
fn the_page_size_is_the_one_that_was_asked_for() {
    let bench = Bench::new();
    for mode in ["delete", "wal"] {
        let path = bench.database(mode, mode);
        let size = || -> i64 {
            Connection::open(&path).unwrap().pragma_query_value(None, "page_size", |row| row.get(0)).unwrap()
        };
        assert_eq!(size(), 1024);
        let mut options = options(Originals::Remove);
        options.settings.page_size_bytes = Some(8192);
        let before = contents(&path);
        assert_eq!(reloaded(&path, &options).outcome, Outcome::Done);
        assert_eq!(size(), 8192);
        assert_eq!(contents(&path), before);
    }
}

#[test]
fn side_files_that_say_nothing_go_and_a_log_full_of_rows_is_carried_over() {
    let bench = Bench::new();
    for mode in ["persist", "truncate"] {
        let path = bench.database("db", mode);
        assert!(bench.path().join("db-journal").exists(), "{mode} leaves it");
        let before = contents(&path);
        assert_eq!(reloaded(&path, &options(Originals::Remove)).outcome, Outcome::Done);
        assert_eq!(bench.names(), ["db"]);
        assert_eq!(contents(&path), before);
        fs::remove_file(&path).unwrap();
    }
    // As a killed writer leaves it: rows in the log only, and its shared memory.
    let source = bench.database("source", "wal");
    let writer = Connection::open(&source).unwrap();
    writer.execute("INSERT INTO empty VALUES ('in the log')", []).unwrap();
    let path = bench.path().join("db");
    for suffix in ["", "-wal", "-shm"] {
        fs::copy(bench.path().join(format!("source{suffix}")), bench.path().join(format!("db{suffix}")))
            .unwrap();
    }
    assert_eq!(reloaded(&path, &options(Originals::Remove)).outcome, Outcome::Done);
    let found: Value =
        Connection::open(&path).unwrap().query_row("SELECT x FROM empty", [], |row| row.get(0)).unwrap();
    assert_eq!(found, Value::Text("in the log".into()));
    // A hot journal is rolled back before anything is copied.
    drop(writer);
    let source = bench.database("hot", "delete");
    let writer = Connection::open(&source).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE rows SET name = 'x' || name, data = NULL")
        .unwrap();
    let path = bench.path().join("rolled");
    for suffix in ["", "-journal"] {
        let to = bench.path().join(format!("rolled{suffix}"));
        fs::copy(bench.path().join(format!("hot{suffix}")), to).unwrap();
    }
    assert_eq!(reloaded(&path, &options(Originals::Remove)).outcome, Outcome::Done);
    drop(writer);
    assert_eq!(contents(&path), contents(&source));
}
