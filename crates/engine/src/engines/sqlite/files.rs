//! What the workloads' data files have in common: names, and messages for a full disk.

use rusqlite::ErrorCode;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::error::failed;
use crate::EngineError;
use crate::workloads::logical_io::BLOCK_BYTES;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = BLOCK_BYTES;

/// Temporary name of an unfinished file, which is renamed when it is complete.
pub(super) fn unfinished(file: &Path) -> PathBuf {
    file.with_extension("db.tmp")
}

/// A treatment's name as one file name; different names stay different.
pub(super) fn file_name(treatment: &str) -> String {
    let mut name = String::from("treatment-");
    for byte in treatment.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(name, "_{byte:02x}");
        }
    }
    name
}

/// The type of a folder's file system, if that is in memory. `mounts` is the text of /proc/self/mounts
/// (proc_pid_mounts(5), fstab(5)); of several mounts on one place the last one counts.
pub(super) fn memory_file_system<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mut best = (0, "");
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(place), Some(kind)) = (fields.next(), fields.next()) else { continue };
        let place = place.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
        if folder.starts_with(&place) && place.len() >= best.0 {
            best = (place.len(), kind);
        }
    }
    ["tmpfs", "ramfs"].contains(&best.1).then_some(best.1)
}

/// Where data goes and how much, for the message if it does not fit.
#[derive(Debug, Clone)]
pub(super) struct Space {
    pub(super) folder: PathBuf,
    pub(super) needed_bytes: u64,
}

impl Space {
    fn full(&self, action: &str) -> EngineError {
        let needed_mib = self.needed_bytes.div_ceil(1 << 20);
        let why = format!(
            "no space left in {}: needs about {needed_mib} MiB; free some, or choose another folder or less data",
            self.folder.display()
        );
        failed(action, why)
    }

    /// An error of a file operation.
    pub(super) fn io(&self, action: &str, cause: &io::Error) -> EngineError {
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => self.full(action),
            _ => failed(action, format!("{}: {cause}", self.folder.display())),
        }
    }

    /// An error of SQLite. SQLite has one code for "full"; a quota (EDQUOT) or a limit on file sizes (EFBIG) is
    /// a failed write to it (os_unix.c, unixWrite).
    pub(super) fn sqlite(&self, action: &str, cause: &rusqlite::Error) -> EngineError {
        let code = cause.sqlite_error().map(|error| error.extended_code);
        match cause.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => self.full(action),
            _ if code == Some(rusqlite::ffi::SQLITE_IOERR_WRITE) => {
                let needed_mib = self.needed_bytes.div_ceil(1 << 20);
                let why = format!(
                    "{}: {cause} (writing failed; about {needed_mib} MiB are needed: a quota, a limit on file \
                     sizes such as ulimit -f, or the disk itself)",
                    self.folder.display()
                );
                failed(action, why)
            }
            _ => failed(action, format!("{}: {cause}", self.folder.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn treatment_names_become_file_names_and_stay_apart() {
        assert_eq!(file_name("same-core/l2"), "treatment-same-core_2fl2");
        assert_ne!(file_name("a_b"), file_name("a/b"));
        assert_eq!(file_name(".."), "treatment-_2e_2e");
    }

    #[test]
    fn a_folder_in_memory_is_known_by_its_mount() {
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/vdb /tmp/disk ext4 rw 0 0\n\
                      none /a\\040b ramfs rw 0 0\n/dev/vdc /a\\040b xfs rw 0 0\n";
        let kind = |folder: &str| memory_file_system(mounts, Path::new(folder));
        assert_eq!(kind("/tmp/x"), Some("tmpfs"));
        assert_eq!((kind("/tmpx"), kind("/tmp/disk/x"), kind("/a b/c")), (None, None, None));
        assert_eq!(memory_file_system("none /a\\040b ramfs rw 0 0", Path::new("/a b/c")), Some("ramfs"));
        assert_eq!(memory_file_system("", Path::new("/tmp")), None);
    }

    #[test]
    fn a_full_disk_is_named_with_the_space_that_is_needed() {
        let space = Space { folder: "/data".into(), needed_bytes: 33 << 20 };
        let enospc = io::Error::from_raw_os_error(28);
        let sqlite = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        for error in [space.io("copy", &enospc), space.sqlite("load", &sqlite(13))] {
            let message = error.to_string();
            assert!(message.contains("no space left in /data: needs about 33 MiB"), "{message}");
        }
        let other = space.io("copy", &io::Error::from_raw_os_error(13)).to_string();
        assert!(other.contains("denied") && !other.contains("space"), "{other}");
        let quota = space.sqlite("load", &sqlite(rusqlite::ffi::SQLITE_IOERR_WRITE)).to_string();
        assert!(quota.contains("about 33 MiB") && quota.contains("quota"), "{quota}");
    }
}
