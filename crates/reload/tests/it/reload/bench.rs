//! A private folder, databases in it with tables of many kinds, and what is in them.

use rusqlite::Connection;
use rusqlite::types::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use threadwise_reload::driver::{Driver, Settings};
use threadwise_reload::item::{ItemOptions, Report, reload};
use threadwise_reload::{Originals, sqlite};

/// Rows of the numbered table.
pub const ROWS: i64 = 300;

pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A database with rows of all kinds, fragmented by deletions.
    pub fn database(&self, name: &str, journal_mode: &str) -> PathBuf {
        static MADE: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
        let path = self.path().join(name);
        let mut made = MADE.lock().unwrap();
        let bytes = made.entry(journal_mode.to_owned()).or_insert_with(|| make(journal_mode));
        fs::write(&path, bytes).unwrap();
        if ["persist", "truncate"].contains(&journal_mode) {
            let connection = Connection::open(&path).unwrap();
            connection.pragma_update_and_check(None, "journal_mode", journal_mode, |_| Ok(())).unwrap();
            connection.execute_batch("PRAGMA user_version = 43").unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        path
    }

    /// Names in the folder, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The bytes of such a database.
fn make(journal_mode: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA page_size = 1024; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = OFF")
        .unwrap();
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", journal_mode, |row| row.get(0)).unwrap();
    assert_eq!(mode, journal_mode);
    connection.execute_batch(SCHEMA).unwrap();
    for number in 0..ROWS {
        let blob = vec![number as u8; (number % 700) as usize];
        let values = (number, format!("row {number}"), blob);
        connection.execute("INSERT INTO rows VALUES (?1, ?2, ?3)", values).unwrap();
    }
    connection.execute("DELETE FROM rows WHERE id % 3 = 1", []).unwrap();
    drop(connection);
    fs::read(path).unwrap()
}

const SCHEMA: &str = "
    CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT, data BLOB);
    CREATE INDEX by_name ON rows (name, id);
    CREATE TABLE plain (rowid TEXT, \"odd \"\" name\" REAL, x INT AS (\"odd \"\" name\" * 2), y INT AS (7) STORED);
    CREATE TABLE keyed (a TEXT, b INT, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
    CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x);
    CREATE TABLE empty (x);
    CREATE VIEW seen AS SELECT name FROM rows;
    CREATE TRIGGER counting AFTER INSERT ON keyed BEGIN INSERT INTO counted (x) VALUES (new.a); END;
    CREATE VIRTUAL TABLE words USING fts5 (text);
    INSERT INTO plain VALUES ('a', 1.5), ('b', -0.0), (NULL, 9e999), (x'00ff', 3);
    DELETE FROM plain WHERE rowid = 'a';
    INSERT INTO keyed VALUES ('x', 2, NULL), ('y', 1, 'text'), ('', 1, 5);
    INSERT INTO words VALUES ('some words'), ('other words');
    ANALYZE;
    PRAGMA user_version = 42;
    PRAGMA application_id = 4711;
";

/// Every value of every table but those that other connections are given in tests.
pub fn contents(path: &Path) -> Vec<Vec<Value>> {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    let mut all = Vec::new();
    for query in [
        "SELECT *, rowid FROM rows",
        "SELECT oid, * FROM plain NOT INDEXED",
        "SELECT * FROM keyed",
        "SELECT * FROM counted",
        "SELECT * FROM sqlite_sequence",
        "SELECT * FROM words",
        "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2",
        "SELECT * FROM pragma_user_version, pragma_application_id, pragma_auto_vacuum, pragma_encoding",
        "SELECT * FROM pragma_journal_mode",
        "SELECT * FROM pragma_integrity_check",
    ] {
        let mut statement = connection.prepare(query).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
        all.extend(rows.unwrap().map(|row: rusqlite::Result<Vec<Value>>| row.unwrap()));
    }
    all
}

pub fn settings() -> Settings {
    Settings { wait: Duration::from_millis(300), ..Settings::default() }
}

pub fn options(originals: Originals) -> ItemOptions {
    ItemOptions { settings: settings(), originals, ..ItemOptions::default() }
}

pub fn driver() -> Box<dyn Driver> {
    sqlite::driver(&settings())
}

pub fn reloaded(path: &Path, options: &ItemOptions) -> Report {
    reload(path, sqlite::driver(&options.settings).as_ref(), options, &|_| ())
}
