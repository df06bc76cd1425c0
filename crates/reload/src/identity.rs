//! The file of a name, and whether it was written to: only by `stat(2)`.
//!
//! A held database is inspected by its path, never opened and closed: the locks of `fcntl(2)`
//! that SQLite uses are lost when *any* descriptor of the file is closed in the process.

use rustix::fs::{AtFlags, CWD, Stat, statat};
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

/// A file on its file system, without name and contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

/// A file, its size and when it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The file.
    pub inode: Inode,
    /// Size.
    pub size_bytes: u64,
    /// Last change of contents, since 1970.
    pub mtime_ns: i128,
}

impl Identity {
    /// Result of `stat`.
    pub fn of(stat: &Stat) -> Self {
        Self {
            inode: Inode { dev: stat.st_dev, ino: stat.st_ino },
            size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        }
    }

    /// The file under a name, which may not be a link.
    ///
    /// # Errors
    /// Those of `stat(2)`.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&stat(path)?))
    }
}

impl fmt::Display for Inode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dev, self.ino)
    }
}

impl FromStr for Inode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (dev, ino) = text.split_once(' ').ok_or(())?;
        Ok(Self { dev: dev.parse().map_err(|_| ())?, ino: ino.parse().map_err(|_| ())? })
    }
}

/// `lstat(2)`.
///
/// # Errors
/// The name does not exist or cannot be reached.
pub fn stat(path: &Path) -> io::Result<Stat> {
    Ok(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The folder of a file.
pub fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}
