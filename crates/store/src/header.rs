//! Identifying a file by its first 100 bytes and its surroundings, before SQLite touches it.
//!
//! SQLite would create side files next to a foreign file in WAL mode, and would execute a
//! journal that is beside it; so the file is identified first.
//! Source of the layout: <https://www.sqlite.org/fileformat2.html>, section 1.3 (header) and 3
//! (rollback journal).

use crate::connection::{self, FileKind};
use crate::error::{Problem, StoreError, from_io};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use threadwise_machine::given;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Ends a journal that names a super-journal (section 3 of the file format).
const SUPER_JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Files that this process has open for writing, by device and inode.
static WRITERS: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Keeps this process from opening a file that it is writing. SQLite's own lock keeps other processes away,
/// but POSIX drops a process's locks on a file as soon as it closes *any* descriptor of that file
/// (fcntl(2)), so that merely reading the header here would unlock the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    id: (u64, u64),
    /// The lock of the whole file (flock(2)) of a kind that others may read meanwhile: SQLite, which does not use it,
    /// locks that for each transaction only.
    lock: Option<File>,
}

impl Writer {
    /// Enters the file; an error if this process, or another one, is writing it already.
    pub fn enter(path: &Path, kind: &FileKind) -> Result<Self, StoreError> {
        let metadata = path.metadata().map_err(|error| from_io(&error, path, "read"))?;
        let id = (metadata.dev(), metadata.ino());
        if !WRITERS.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
            return Err(Problem::InUse.of(path));
        }
        // From here on an error drops this value, and so leaves the file.
        let mut writer = Self { id, lock: None };
        if !kind.is_exclusive {
            let file = File::open(path).map_err(|error| from_io(&error, path, "read"))?;
            writer.lock.insert(file).try_lock().map_err(|_| Problem::Observing.of(path))?;
        }
        Ok(writer)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        WRITERS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The name of SQLite's side file: the file's own name with a suffix.
fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the empty file with these permissions (less the umask), if neither it nor a side file exists that SQLite would take for its own.
///
/// # Errors
/// The file or a side file exists, or the folder is not writable.
pub(crate) fn create_exclusively(path: &Path, mode: u32) -> Result<(), StoreError> {
    for ending in ["-journal", "-wal", "-shm"] {
        let side = side_file(path, ending);
        if side.symlink_metadata().is_ok() {
            return Err(Problem::LeftOver.of(&side));
        }
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    made.map(drop).map_err(|error| from_io(&error, path, "make"))
}

/// Checks the file from outside and returns its size and its name without links (SQLite puts the
/// journal beside the file that a link points to).
///
/// # Errors
/// Not a file, empty, not SQLite, not threadwise's, newer, older, truncated, in WAL mode.
pub(crate) fn probe(path: &Path, kind: &FileKind) -> Result<(PathBuf, u64), StoreError> {
    let metadata = path.metadata().map_err(|error| from_io(&error, path, "read"))?;
    if let Some(what) = given::instead(metadata.file_type()) {
        return Err(Problem::NotAFile(what).of(path));
    }
    let id = (metadata.dev(), metadata.ino());
    if WRITERS.lock().unwrap_or_else(PoisonError::into_inner).contains(&id) {
        return Err(Problem::InUse.of(path));
    }
    let real = path.canonicalize().map_err(|error| from_io(&error, path, "read"))?;
    let journal = side_file(&real, "-journal").metadata();
    // SQLite opens whatever has this name, and a pipe would block for ever.
    if let Some(what) = journal.as_ref().ok().and_then(|journal| given::instead(journal.file_type())) {
        return Err(Problem::NotAFile(what).of(&side_file(&real, "-journal")));
    }
    let has_journal = journal.is_ok_and(|journal| journal.len() > 0);
    let mut header = Vec::new();
    let file = given::open(&real).map_err(|error| from_io(&error, path, "read"))?;
    file.take(100).read_to_end(&mut header).map_err(|error| from_io(&error, path, "read"))?;
    check(&header, metadata.len(), has_journal, path, kind)?;
    Ok((real, metadata.len()))
}

/// Judges the first 100 bytes of a file of `len` bytes.
fn check(header: &[u8], len: u64, has_journal: bool, path: &Path, kind: &FileKind) -> Result<(), StoreError> {
    if header.is_empty() {
        return Err(Problem::Empty.of(path));
    }
    if !header.starts_with(MAGIC) {
        return Err(Problem::NotSqlite("it is not an SQLite file".into()).of(path));
    }
    let Some(header) = header.first_chunk::<100>() else {
        return Err(Problem::Damaged(format!("it ends after {len} bytes")).of(path));
    };
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    connection::check_marks(word(68), word(60) as i32, path, kind)?;
    if header[18] != 1 || header[19] != 1 {
        let what = "another program put it into WAL mode; `PRAGMA journal_mode=DELETE` undoes that";
        return Err(Problem::NotOurs(what.into()).of(path));
    }
    if word(56) != 1 {
        return Err(Problem::NotOurs("its text is not UTF-8".into()).of(path));
    }
    let page_bytes = match u64::from(header[16]) << 8 | u64::from(header[17]) {
        1 => 65536,
        bytes => bytes,
    };
    let due = page_bytes * u64::from(word(28));
    // While a journal waits to be undone, header and length may be of different moments.
    if len < due && !has_journal {
        return Err(Problem::Damaged(format!("it has {len} of its {due} bytes")).of(path));
    }
    Ok(())
}

/// Refuses a journal that names a super-journal: undoing it would delete the file named there,
/// which may be any file of the user. A result file is one file, so its journals never do.
pub(crate) fn check_journal(real: &Path) -> Result<(), StoreError> {
    let journal = side_file(real, "-journal");
    let Ok(mut file) = given::open(&journal) else { return Ok(()) };
    let mut tail = [0; 8];
    let tail_read = file.seek(SeekFrom::End(-8)).and_then(|_| file.read_exact(&mut tail));
    if tail_read.is_ok() && tail == SUPER_JOURNAL_MAGIC {
        let what = "it names other files to delete".to_owned();
        return Err(Problem::NotOurs(what).of(&journal));
    }
    Ok(())
}
