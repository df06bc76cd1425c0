//! The log of finished files: a repeated command with the same log skips them.
//!
//! One line a file, appended and durable before that job starts the next file; a line that a kill
//! left half-written is ignored. A line names the engine and page size with which the file was made: with
//! others it does not count as done.

use crate::error::ReloadError;
use crate::escape::{escaped, unescaped};
use crate::identity::Identity;
use crate::list::{regular, whole};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// First line.
const FIRST_LINE: &str = "threadwise reload log 1";

/// An open log.
#[derive(Debug)]
pub struct Log {
    file: File,
    /// Engine and options of this run, in one word.
    made: String,
    done: HashMap<PathBuf, (String, FileVersion)>,
}

/// A file in its present version. Device numbers are left out: they change with a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    ino: u64,
    size_bytes: u64,
    mtime_ns: i128,
}

impl Log {
    /// Opens a log, or makes a new one. `made` is one word: engine and options of this run.
    ///
    /// # Errors
    /// It is not a log of threadwise, not a regular file, or cannot be read or written.
    pub fn open(path: &Path, made: String) -> Result<Self, ReloadError> {
        let refused =
            |why: &dyn std::fmt::Display| ReloadError::Log { path: path.to_owned(), why: why.to_string() };
        let mut file = regular(OpenOptions::new().read(true).append(true).create(true), path)
            .map_err(|error| refused(&error))?;
        let text = whole(&mut file).map_err(|error| refused(&error))?;
        let text = String::from_utf8(text).map_err(|_| refused(&"it is not a log of threadwise reload"))?;
        if text.is_empty() {
            writeln!(file, "{FIRST_LINE}").map_err(|error| refused(&error))?;
        } else if text.lines().next() != Some(FIRST_LINE) {
            return Err(refused(&"it is not a log of threadwise reload"));
        } else if !text.ends_with('\n') {
            writeln!(file).map_err(|error| refused(&error))?;
        }
        file.sync_all().map_err(|error| refused(&error))?;
        Ok(Self { file, made, done: text.lines().skip(1).filter_map(parse).collect() })
    }

    /// Whether the file was finished with this run's engine and options and not written to since.
    pub fn is_done(&self, database: &Path, now: Identity) -> bool {
        self.done
            .get(database)
            .is_some_and(|(made, seen)| *made == self.made && *seen == FileVersion::of(now))
    }

    /// Records that a file is finished, with its identity.
    ///
    /// # Errors
    /// It cannot be written durably.
    pub fn append(&mut self, database: &Path, new: Identity) -> io::Result<()> {
        let seen = FileVersion::of(new);
        let (made, ino, size, mtime) = (&self.made, seen.ino, seen.size_bytes, seen.mtime_ns);
        // One write, so that lines of several jobs or runs do not mix.
        self.file.write_all(
            format!("done {ino} {size} {mtime} {made} {}\n", escaped(database.as_os_str().as_bytes()))
                .as_bytes(),
        )?;
        self.file.sync_data()
    }
}

impl FileVersion {
    fn of(identity: Identity) -> Self {
        Self { ino: identity.inode.ino, size_bytes: identity.size_bytes, mtime_ns: identity.mtime_ns }
    }
}

fn parse(line: &str) -> Option<(PathBuf, (String, FileVersion))> {
    let mut words = line.split(' ');
    (words.next()? == "done").then_some(())?;
    let ino = words.next()?.parse().ok()?;
    let size_bytes = words.next()?.parse().ok()?;
    let mtime_ns = words.next()?.parse().ok()?;
    let made = words.next()?.to_owned();
    let path = PathBuf::from(OsString::from_vec(unescaped(words.next()?)?));
    words.next().is_none().then_some((path, (made, FileVersion { ino, size_bytes, mtime_ns })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Inode;
    use std::ffi::OsStr;

    fn identity(ino: u64) -> Identity {
        Identity { inode: Inode { dev: 1, ino }, size_bytes: 4096, mtime_ns: -5 }
    }

    fn made() -> String {
        "sqlite:4096".to_owned()
    }

    #[test]
    fn what_was_finished_is_known_again_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let odd = Path::new(OsStr::from_bytes(b"/d/a b%\n'\xff"));
        let mut log = Log::open(&path, made()).unwrap();
        assert!(!log.is_done(odd, identity(7)));
        log.append(odd, identity(7)).unwrap();
        drop(log);
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole.lines().count(), 2);
        let log = Log::open(&path, made()).unwrap();
        assert!(log.is_done(odd, identity(7)));
        assert!(!log.is_done(odd, identity(8)), "another file");
        assert!(!log.is_done(Path::new("/d/a"), identity(7)));
        let other = Log::open(&path, "sqlite:8192".to_owned()).unwrap();
        assert!(!other.is_done(odd, identity(7)), "another page size");
        for length in FIRST_LINE.len() + 1..whole.len() - 1 {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut log = Log::open(&path, made()).unwrap();
            assert!(!log.is_done(odd, identity(7)), "{length}");
            log.append(Path::new("/b"), identity(9)).unwrap();
            assert!(Log::open(&path, made()).unwrap().is_done(Path::new("/b"), identity(9)), "{length}");
        }
        std::fs::write(&path, "a shopping list\n").unwrap();
        assert!(Log::open(&path, made()).unwrap_err().to_string().contains("it is not a log"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a shopping list\n");
    }

    #[test]
    fn a_log_is_a_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/full"), Path::new("/dev/null")] {
            let error = Log::open(path, made()).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
    }
}
