//! Every reason to leave a file alone: nothing of it changes, and nothing is left beside it.

use crate::reload::bench::{Bench, contents, driver, options, reloaded, settings};
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use threadwise_reload::Originals;
use threadwise_reload::item::Outcome;
use threadwise_reload::run::look;

/// Insists that the file is skipped for this reason and stays as it is.
fn skipped(bench: &Bench, path: &Path, reason: &str) {
    let (names, before) = (bench.names(), fs::metadata(path).map(|found| (found.ino(), found.mtime_nsec())));
    let report = reloaded(path, &options(Originals::Keep));
    assert!(
        matches!(&report.outcome, Outcome::Skipped(why) if why.contains(reason)),
        "{reason}: {:?}",
        report.outcome
    );
    assert_eq!(bench.names(), names, "{reason}");
    assert_eq!(
        fs::metadata(path).map(|found| (found.ino(), found.mtime_nsec())).ok(),
        before.ok(),
        "{reason}"
    );
}

#[test]
fn what_is_no_single_database_file_is_skipped() {
    let bench = Bench::new();
    let at = |name: &str| bench.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    skipped(&bench, &at("folder"), "not a regular file");
    fs::write(at("empty"), "").unwrap();
    skipped(&bench, &at("empty"), "not an SQLite database");
    fs::write(at("text"), vec![b'x'; 5000]).unwrap();
    skipped(&bench, &at("text"), "not an SQLite database");
    symlink(at("nowhere"), at("dangling")).unwrap();
    skipped(&bench, &at("dangling"), "cannot be found");
    let path = bench.database("db", "delete");
    fs::hard_link(&path, at("second")).unwrap();
    skipped(&bench, &path, "2 names");
    fs::rename(at("second"), at("db.before-reload")).unwrap();
    skipped(&bench, &path, "another name of it");
    fs::remove_file(at("db.before-reload")).unwrap();
    fs::write(at("db.before-reload"), "theirs").unwrap();
    skipped(&bench, &path, "earlier reload");
    assert!(look(&path, driver().as_ref(), &settings()).is_err());
    fs::remove_file(at("db.before-reload")).unwrap();
    look(&path, driver().as_ref(), &settings()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[18] = 7;
    fs::write(at("foreign"), &bytes).unwrap();
    skipped(&bench, &at("foreign"), "forbids writing");
    assert_eq!(reloaded(&path, &options(Originals::Keep)).outcome, Outcome::Done);
}

#[test]
fn a_damaged_database_keeps_its_place() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let mut bytes = fs::read(&path).unwrap();
    for page in 3..20 {
        bytes[page * 1024..page * 1024 + 8].fill(0xee);
    }
    fs::write(&path, &bytes).unwrap();
    let report = reloaded(&path, &options(Originals::Keep));
    let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.starts_with("the original is damaged: "), "{why}");
    assert!(!why.contains('\n') && !why.contains("***"), "{why}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(bench.names(), ["db"]);
}

/// `VACUUM` builds the map of pages of `auto_vacuum` (page 2) again, and reports nothing.
#[test]
fn damage_that_a_copy_would_hide_is_reported() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let mut bytes = fs::read(&path).unwrap();
    bytes[1024..2048].fill(0);
    fs::write(&path, &bytes).unwrap();
    let copy = bench.path().join("copy");
    Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    let verdict =
        |path| Connection::open(path).unwrap().pragma_query_value(None, "integrity_check", |row| row.get(0));
    assert_eq!(verdict(copy.as_path()), Ok("ok".to_owned()), "the copy hides it");
    fs::remove_file(copy).unwrap();
    let report = reloaded(&path, &options(Originals::Remove));
    let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.starts_with("the original is damaged: ") && why.contains(" more; "), "{why}");
    assert!(!why.contains('\n'), "{why}");
    assert_eq!(bench.names(), ["db"]);
    assert!(fs::read(&path).unwrap() == bytes);
}

/// `VACUUM` copies an index as it is, so that the copy is damaged in the same way.
#[test]
fn damage_that_is_copied_is_the_originals() {
    for mode in ["delete", "wal"] {
        let bench = Bench::new();
        let path = bench.database("db", mode);
        let with = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let entry = "SELECT rootpage, sql FROM sqlite_schema WHERE name = 'by_name'";
        let (root, sql): (i64, String) = Connection::open(&path)
            .unwrap()
            .query_row(entry, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        with("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'by_name'");
        with("INSERT INTO rows (name) VALUES ('not in the index'), ('nor this')");
        with(&format!(
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('index', 'by_name', 'rows', {root}, '{sql}')"
        ));
        let bytes = fs::read(&path).unwrap();
        let report = reloaded(&path, &options(Originals::Remove));
        let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
        assert!(why.starts_with("the original is damaged: ") && why.contains("by_name"), "{why}");
        assert!(why.contains(" more; ") && !why.contains('\n'), "{why}");
        assert_eq!(bench.names(), ["db"]);
        let same = fs::read(&path).unwrap();
        // Leaving and taking up a write-ahead log counts changes in the first page.
        assert_eq!(same[100..], bytes[100..]);
    }
}

#[test]
fn a_schema_that_this_sqlite_cannot_follow_keeps_its_place_and_its_journal_mode() {
    let bench = Bench::new();
    let path = bench.database("db", "wal");
    let connection = Connection::open(&path).unwrap();
    // As if an application with a collation of its own had made it.
    connection
        .execute_batch(
            "CREATE TABLE odd (x TEXT COLLATE nocase PRIMARY KEY); INSERT INTO odd VALUES ('a'), ('b');
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'novel') WHERE name = 'odd'",
        )
        .unwrap();
    drop(connection);
    let before = fs::metadata(&path).unwrap().ino();
    let report = reloaded(&path, &options(Originals::Keep));
    assert!(matches!(&report.outcome, Outcome::Failed(why) if why.contains("novel")), "{report:?}");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
    assert_eq!(bench.names(), ["db"]);
    let mode: String =
        Connection::open(&path).unwrap().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// A process that has the file open and says so; killed when dropped.
struct Other(Child);

impl Other {
    fn opening(path: &Path) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 3<\"$1\"; echo open; exec sleep 600", "sh"]).arg(path);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        Self(child)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn whatever_others_do_with_it_it_is_in_use() {
    let bench = Bench::new();
    for mode in ["delete", "wal"] {
        let path = bench.database(mode, mode);
        let other = Other::opening(&path);
        // A process that another test has just forked has what this one opened, until it is another program.
        skipped(&bench, &path, &format!("in use: opened by process {} (sleep)", other.0.id()));
        assert!(look(&path, driver().as_ref(), &settings()).unwrap_err().to_string().contains("in use"));
        drop(other);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("BEGIN; SELECT count(*) FROM rows").unwrap();
        let _: i64 = connection.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap();
        skipped(&bench, &path, "in use");
        connection.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
        skipped(&bench, &path, "in use");
        connection.execute_batch("INSERT INTO empty VALUES (1); COMMIT").unwrap();
        drop(connection);
        let before = contents(&path);
        assert_eq!(reloaded(&path, &options(Originals::Remove)).outcome, Outcome::Done);
        assert_eq!(contents(&path), before);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_work_folder_of_others_is_left_alone() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let folder = bench.path().join(".threadwise-reload-db");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("theirs"), "x").unwrap();
    skipped(&bench, &path, "did not make it");
    fs::remove_dir_all(&folder).unwrap();
    symlink("/etc", &folder).unwrap();
    skipped(&bench, &path, "a file or link");
    fs::remove_file(&folder).unwrap();
    if rustix::process::geteuid().is_root() {
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(65534), None).unwrap();
        skipped(&bench, &path, "belongs to user 65534");
        fs::remove_dir(&folder).unwrap();
    }
    assert_eq!(reloaded(&path, &options(Originals::Remove)).outcome, Outcome::Done);
}
