//! Leftovers of a killed reload, and input of a reload: state, marker, headers of databases, lists.

use super::journal::replaced;
use crate::random::{Grammar, Random};
use crate::target::{Target, changed, space, write};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_reload::driver::Settings;
use threadwise_reload::recover::{Recovered, recover};
use threadwise_reload::{list, run};

/// Separates an input's marker from its state.
const PART: &[u8] = b"\n%%\n";
const MARKER: &str =
    "threadwise reload work folder: see `threadwise restore --help`\npid 4194999\nstart 77\n";

struct States {
    space: TempDir,
    old: Vec<u8>,
    new: Vec<u8>,
    state: Grammar,
}

/// Does not wait, and finds no program of an engine.
fn settings() -> Settings {
    let engine = BTreeMap::from([("bin".to_owned(), "/proc/nonexistent".to_owned())]);
    Settings { wait: Duration::ZERO, engine, ..Settings::default() }
}

/// A small database of SQLite.
fn database(folder: &Path, rows: u32) -> Vec<u8> {
    let path = folder.join("made");
    let made = Connection::open(&path).and_then(|connection| {
        connection.execute_batch(&format!(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             INSERT INTO t SELECT i, 'row ' || i FROM n;"
        ))
    });
    made.expect("a database");
    let bytes = fs::read(&path).expect("the database");
    fs::remove_file(&path).expect("a removed database");
    bytes
}

/// The target of states.
pub fn state() -> Target {
    let space = space();
    let (old, new) = (database(space.path(), 20), database(space.path(), 21));
    Target::with(States { space, old, new, state: Grammar::new(STATE) }, States::input, States::judge)
}

/// A state as a reload writes it; placeholders have the files' values.
const STATE: &str = "threadwise reload state 1\nengine (sqlite|sqlite|sqlite|sqlite|sqlite|sqlite|sqlite|firebird)\n\
    (phase begun\noriginals (keep|remove)\n|(phase ready\noriginals (keep|remove)\noriginal @OLD@\nnew @NEW@\n\
    (|expected @SIZE@ @TIME@ 1 21\n|expected @SIZE@ @TIME@ 1 21\n|expected @SIZE@ @TIME@ 1 21\n))|\
    (phase ready\noriginals (keep|remove)\noriginal @OLD@\nnew @NEW@\nexpected @SIZE@ @TIME@ 1 21\n))\
    (|note journal_mode wal\n)end\n";
const PLACEHOLDERS: [&str; 4] = ["@OLD@", "@NEW@", "@SIZE@", "@TIME@"];

impl States {
    /// Places the two files: after the swap (A), that with the original's name missing (G), else before it. Returns the
    /// inodes as in the state, size and time of the new file.
    fn set(&self, scene: u8) -> std::io::Result<[String; 4]> {
        let at = |name: &str| self.space.path().join(name);
        for name in ["db", "db.before-reload", "db-wal", "db-shm", "db-journal"] {
            let _ = fs::remove_file(at(name));
        }
        let _ = fs::remove_dir_all(at(".threadwise-reload-db"));
        fs::DirBuilder::new().mode(0o700).create(at(".threadwise-reload-db"))?;
        let inside = at(".threadwise-reload-db/new");
        let (old, new) = match scene {
            b'A' | b'G' => (at("db.before-reload"), at("db")),
            _ => (at("db"), inside),
        };
        fs::write(&old, &self.old)?;
        fs::write(&new, &self.new)?;
        let inode =
            |path: &PathBuf| fs::metadata(path).map(|found| format!("{} {}", found.dev(), found.ino()));
        let found = fs::metadata(&new)?;
        let time_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        let texts = [inode(&old)?, inode(&new)?, found.len().to_string(), time_ns.to_string()];
        if scene == b'G' {
            fs::remove_file(at("db"))?;
        }
        Ok(texts)
    }

    fn is_whole(&self, name: &str, wanted: &[u8]) -> bool {
        // A seal may be removed, which changes only the header.
        let read = fs::read(self.space.path().join(name));
        read.is_ok_and(|bytes| bytes.len() == wanted.len() && bytes[100..] == wanted[100..])
    }

    fn input(&self, random: &mut Random) -> Vec<u8> {
        let scene = *random.pick(b"BBAAAG");
        let marker = changed(random, 10, 1, |_| MARKER.to_owned());
        let state = changed(random, 50, 2, |random| random.matching(&self.state));
        [&[scene], marker.as_slice(), PART, &state].concat()
    }

    fn judge(&self, input: &[u8]) -> bool {
        let Some((&scene, rest)) = input.split_first() else { return false };
        let at = rest.windows(PART.len()).position(|window| window == PART).unwrap_or(rest.len());
        let (marker, state) = (&rest[..at], rest.get(at + PART.len()..).unwrap_or_default());
        let folder = self.space.path().join(".threadwise-reload-db");
        let texts = self.set(scene).expect("a scene");
        let words: Vec<(&str, &str)> =
            PLACEHOLDERS.into_iter().zip(texts.iter().map(String::as_str)).collect();
        write(&folder.join("marker"), &replaced(marker, &words));
        write(&folder.join("state"), &replaced(state, &words));
        let found = recover(&self.space.path().join("db"), &settings());
        let (old, new) = (self.is_whole("db", &self.old), self.is_whole("db", &self.new));
        let kept = self.is_whole("db.before-reload", &self.old);
        let is_safe = match scene {
            b'A' => old || new && (kept || matches!(found, Ok(Recovered::Finished))),
            b'G' => kept || old,
            _ => old,
        };
        assert!(is_safe, "the original is lost: {found:?}");
        let refused = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!refused.contains('\n'), "an error of two lines: {refused:?}");
        !refused.contains("not understood") && !refused.contains("did not make it")
    }
}

struct Headers {
    space: TempDir,
    sqlite: Vec<u8>,
    firebird: Vec<u8>,
}

/// The target of headers and lists.
pub fn header() -> Target {
    let space = space();
    let sqlite = database(space.path(), 20);
    Target::with(Headers { space, sqlite, firebird: firebird() }, Headers::input, Headers::judge)
}

/// The pages of a Firebird database that are read (`src/jrd/ods.h`): the header, and a pointer page
/// of the table RDB$FILES, and nothing else.
fn firebird() -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut bytes = vec![0; 4 * PAGE];
    bytes[0] = 1;
    bytes[16..18].copy_from_slice(&(PAGE as u16).to_ne_bytes());
    bytes[18..20].copy_from_slice(&0x800c_u16.to_ne_bytes());
    bytes[42..44].copy_from_slice(&0x12_u16.to_ne_bytes());
    bytes[2 * PAGE] = 4;
    bytes[2 * PAGE + 12..2 * PAGE + 16].copy_from_slice(&2_u32.to_ne_bytes());
    bytes[2 * PAGE + 26..2 * PAGE + 28].copy_from_slice(&10_u16.to_ne_bytes());
    bytes
}

impl Headers {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        if random.percent(30) {
            let lists = ["\u{feff}/dev/null\r\n\n./a b\n../x\n", "/etc/hostname\n/dev/shm\n"];
            let list = |random: &mut Random| (*random.pick(&lists)).to_owned();
            return [b"L", changed(random, 100, 4, list).as_slice()].concat();
        }
        let (mark, whole) = if random.percent(50) { (b'S', &self.sqlite) } else { (b'F', &self.firebird) };
        let mut bytes = whole.clone();
        for _ in 0..random.times(5) {
            // The fields of both headers are in these bytes; SQLite's magic is before them.
            let first = if mark == b'S' { 16 } else { 0 };
            let page = if mark == b'F' && random.percent(30) { 2 * 4096 } else { 0 };
            let (place, any) = (page + first + random.below(100 - first), random.next() as u8);
            bytes[place] = *random.pick(&[0, 1, 2, 3, 4, 5, 16, 64, 127, 128, 255, any]);
        }
        if random.percent(10) {
            bytes.truncate(random.below(bytes.len()));
        }
        bytes.insert(0, mark);
        bytes
    }

    fn judge(&self, input: &[u8]) -> bool {
        let Some((mark, bytes)) = input.split_first() else { return false };
        let path = self.space.path().join("db");
        write(&path, bytes);
        if *mark == b'L' {
            let paths = list::paths(&[PathBuf::from(format!("@{}", path.display()))]);
            let is_empty = |path: &PathBuf| path.as_os_str().is_empty();
            assert!(!paths.iter().flatten().any(is_empty), "an empty path");
            return paths.is_ok();
        }
        let engine = if *mark == b'S' { "sqlite" } else { "firebird" };
        let driver = threadwise_reload::driver(engine, &settings()).expect("a driver");
        let looked = run::look(&path, driver.as_ref(), &settings());
        assert!(fs::read(&path).is_ok_and(|after| after == bytes), "the check changed the file: {looked:?}");
        let left = fs::read_dir(self.space.path()).expect("the folder").count();
        assert_eq!(left, 1, "files that the check left: {looked:?}");
        let refused = looked.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!refused.contains('\n'), "an error of two lines: {refused:?}");
        !refused.contains("not a database")
    }
}
