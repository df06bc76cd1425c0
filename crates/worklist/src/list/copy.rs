//! Copies of the user's files, each of one consistent state.
//!
//! SQLite's backup API copies in a read transaction that sees one state, the write-ahead log included
//! (sqlite.org/backup.html): the file is opened read-only and other programs can still use it. A copy does not use a
//! write-ahead log (sqlite.org/pragma.html#pragma_journal_mode): with one, the first run would leave side
//! files beside it, and change the state for the next. Firebird's files are copied as bytes under the lock that
//! Firebird itself takes (see `threadwise_reload::firebird`).

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_machine::given;
use threadwise_reload::driver::Settings;

use super::lines::{earlier, files, repeated};
use super::listed::{Listed, name};
use super::space::expect_space;
use crate::error::{failed, refuse};
use crate::plan::Item;
use crate::recipe::Kind;

/// How long to wait for a file that is in use.
const WAIT: Duration = Duration::from_secs(5);
/// How often its lock is tried again.
const STEP: Duration = Duration::from_millis(50);
/// First bytes of an SQLite file (sqlite.org/fileformat.html).
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Copies the files of a list into the folder.
///
/// # Errors
/// The first file that cannot be copied, and why.
pub(super) fn copies(home: &Path, list: &Path, kind: Kind, sessions: u32) -> Result<Listed, EngineError> {
    let files = files(list)?;
    let earlier = earlier(&files);
    let sizes: Vec<u64> = files.iter().map(|path| path.metadata().map_or(0, |entry| entry.len())).collect();
    expect_space(home, &sizes, sessions)?;
    let width = files.len().to_string().len();
    let one = |(index, path): (usize, &std::path::PathBuf)| {
        let copy = home.join(format!("item-{index:0width$}"));
        let copied = match kind {
            Kind::Firebird => copy_locked(path, &copy),
            _ => copy_sqlite(path, &copy),
        };
        copied.map_err(|why| failed(format!("copy {}", path.display()), why))?;
        let size_bytes = fs::metadata(&copy).map_or(0, |entry| entry.len());
        let (name, text) = (name(&path.display().to_string()), copy.display().to_string());
        Ok(Item { name, text, size_bytes, earlier: earlier[index] })
    };
    let items = files.iter().enumerate().map(one).collect::<Result<Vec<_>, EngineError>>()?;
    let copied = "work list: runs use copies of your files; the files themselves are only read, once";
    Ok(Listed { items, notes: std::iter::once(copied.to_owned()).chain(repeated(&earlier)).collect() })
}

/// Refuses a file that does not belong to the recipe's engine.
///
/// # Errors
/// The file, and why.
pub(crate) fn expect_kind(path: &Path, kind: Kind) -> Result<(), EngineError> {
    let said = |why: String| {
        refuse("list", format!("{}: {why}; correct this, or remove it from the list", path.display()))
    };
    match kind {
        Kind::Firebird => {
            let driver = threadwise_reload::firebird::driver(&Settings::default());
            // The rest is advice for a reload.
            let reason = |text: &str| text.split("; end what uses it").next().unwrap_or(text).to_owned();
            driver.look(path).map_err(|error| said(reason(&error.to_string())))
        }
        Kind::Sqlite => is_sqlite(path)
            .map_err(|error| said(format!("cannot be read: {error}")))?
            .then_some(())
            .ok_or_else(|| said("is not a database of SQLite".to_owned())),
        Kind::Postgres | Kind::Mariadb | Kind::Text => Ok(()),
    }
}

fn is_sqlite(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    given::open(path)?.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == SQLITE_MAGIC)
}

fn copy_sqlite(from: &Path, to: &Path) -> Result<(), String> {
    // An empty file is a database too; made here, since SQLite would let other users read it.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    made.map(drop).map_err(|error| error.to_string())?;
    match copied(from, to) {
        Ok(StepResult::Done) => Ok(()),
        Ok(_) => {
            Err("it is in use: end the program that writes to it, or remove it from the list".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A reader of a file with a write-ahead log makes one beside it if there is none, and leaves it there if it may not
/// write. So a file that no program has open is read as unchanging (`immutable` of sqlite.org/uri.html), and checked
/// afterwards.
fn copied(from: &Path, to: &Path) -> rusqlite::Result<StepResult> {
    if let Some(before) = at_rest(from) {
        let copied = backed_up(immutable(from), OpenFlags::SQLITE_OPEN_URI, to);
        if at_rest(from) == Some(before) {
            return copied;
        }
    }
    backed_up(from, OpenFlags::empty(), to)
}

/// A file in write-ahead mode without a log: its number, size, and times of change.
fn at_rest(path: &Path) -> Option<[i64; 6]> {
    let mut header = [0; 19];
    given::open(path).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // The write version (sqlite.org/fileformat.html, "File format version numbers").
    let is_free = header[18] == 2 && fs::symlink_metadata(log).is_err();
    let found = fs::metadata(path).ok().filter(|_| is_free)?;
    let (number, size) = (found.ino().cast_signed(), found.size().cast_signed());
    Some([number, size, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()])
}

/// A file name as a URI, with percent escapes for all characters but plain ones.
fn immutable(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let letter = |&byte: &u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    let name: String = path.as_os_str().as_bytes().iter().map(letter).collect();
    format!("file://{name}?immutable=1")
}

fn backed_up(from: impl AsRef<Path>, more: OpenFlags, to: &Path) -> rusqlite::Result<StepResult> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let old = Connection::open_with_flags(from, flags | more)?;
    old.busy_timeout(WAIT)?;
    let mut new = Connection::open(to)?;
    // A copy that a crash left incomplete is made again.
    new.execute_batch("pragma synchronous = off")?;
    let backup = Backup::new(&old, &mut new)?;
    let until = Instant::now() + WAIT;
    let ended = loop {
        match backup.step(-1)? {
            StepResult::Busy | StepResult::Locked if Instant::now() < until => std::thread::sleep(STEP),
            ended => break ended,
        }
    };
    drop(backup);
    if ended == StepResult::Done {
        // The answer is the mode; no other program has the copy open, so the log cannot stay.
        new.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0))?;
    }
    Ok(ended)
}

/// Copies a Firebird file under an exclusive lock.
fn copy_locked(from: &Path, to: &Path) -> Result<(), String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file =
        File::from(rustix::fs::open(from, flags, Mode::empty()).map_err(|error| error.to_string())?);
    let until = Instant::now() + WAIT;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(STEP),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(
                    "a Firebird process has it open: end that process, or remove it from the list".into()
                );
            }
            Err(error) => return Err(format!("it cannot be locked (flock): {error}")),
        }
    }
    let mut copy = || {
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut file, &mut copy)
    };
    copy().map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_with_a_log_is_copied_in_one_state_and_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("it's \"ä\"\n.db"), folder.path().join("copy"));
        let writer = Connection::open(&from).unwrap();
        writer
            .execute_batch("pragma journal_mode = wal; create table t (x); insert into t values (1), (2)")
            .unwrap();
        let before = fs::read(&from).unwrap();
        copy_sqlite(&from, &to).unwrap();
        assert_eq!(fs::read(&from).unwrap(), before);
        let rows: i64 =
            Connection::open(&to).unwrap().query_row("select count(*) from t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 2, "those in the log are there too");
        let result = folder.path().join("result");
        crate::sqlite::vacuum_into(&to, &result).unwrap();
        threadwise_reload::sqlite::same_rows(&to, &result).unwrap();
        let side = ["copy-wal", "copy-shm", "copy-journal"].map(|name| folder.path().join(name).exists());
        assert_eq!(side, [false; 3], "runs are alike");
        let mode = fs::metadata(&to).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        expect_kind(&from, Kind::Sqlite).unwrap();
    }

    #[test]
    fn a_file_that_the_list_names_twice_is_copied_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (from, home) = (folder.path().join("a.db"), folder.path().join("home"));
        Connection::open(&from)
            .unwrap()
            .execute_batch("create table t (x); insert into t values (7)")
            .unwrap();
        std::os::unix::fs::symlink(&from, folder.path().join("link.db")).unwrap();
        fs::write(folder.path().join("list"), "a.db\nlink.db\n").unwrap();
        fs::create_dir(&home).unwrap();
        let listed = copies(&home, &folder.path().join("list"), Kind::Sqlite, 1).unwrap();
        let labels: Vec<_> = listed.items.iter().map(|item| item.label().into_owned()).collect();
        assert_eq!(labels, ["a.db", "a.db (2)"]);
        let [one, two] = [0, 1].map(|at: usize| Path::new(&listed.items[at].text));
        assert_ne!(one, two, "two jobs may work on them at once");
        threadwise_reload::sqlite::same_rows(one, two).unwrap();
        assert!(listed.notes[1].ends_with("each a separate item: 1"), "{:?}", listed.notes);
    }

    #[test]
    fn a_file_that_nobody_has_open_gets_no_log_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("100%?a=b #\"ä\"\n.db");
        let script = "pragma journal_mode = wal; create table t (x); insert into t values (1), (2)";
        Connection::open(&from).unwrap().execute_batch(script).unwrap();
        let before = fs::read(&from).unwrap();
        copy_sqlite(&from, &folder.path().join("copy")).unwrap();
        assert_eq!((fs::read(&from).unwrap(), fs::read_dir(folder.path()).unwrap().count()), (before, 2));
        threadwise_reload::sqlite::same_rows(&folder.path().join("copy"), &from).unwrap();
    }

    #[test]
    fn what_is_not_of_the_engine_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        fs::write(&text, "SQLite format 4, and more").unwrap();
        for kind in [Kind::Sqlite, Kind::Firebird] {
            let error = expect_kind(&text, kind).unwrap_err().to_string();
            assert!(error.contains("text") && error.contains("or remove it"), "{error}");
        }
        assert!(
            expect_kind(folder.path(), Kind::Sqlite)
                .unwrap_err()
                .to_string()
                .contains("it is a folder, not a file")
        );
    }

    #[test]
    fn a_locked_file_of_firebird_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&from, "x").unwrap();
        copy_locked(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"x");
        assert!(copy_locked(&from, &to).unwrap_err().contains("exists"));
        let held = File::open(&from).unwrap();
        rustix::fs::flock(&held, FlockOperation::LockShared).unwrap();
        assert!(copy_locked(&from, &folder.path().join("c")).unwrap_err().contains("open"));
        assert!(!folder.path().join("c").exists());
    }
}
