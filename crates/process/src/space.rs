//! Free space on a disk, and in memory.
//!
//! Source: `statvfs(3)`; `f_bavail` is what an ordinary user may still write. `proc_meminfo(5)`; `MemAvailable`, from
//! Linux 3.14 on, is the memory available without swapping.

use std::fs;
use std::io;
use std::path::Path;

/// Memory that a private server is sized for if the available memory is unknown: one that asks for
/// more than there is does not start.
const ASSUMED_BYTES: u64 = 4 << 30;

/// Bytes that an ordinary user may still write into a folder.
///
/// # Errors
/// Those of `statvfs(3)`: the folder does not exist, or cannot be inspected.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Bytes of memory available without swapping, from `proc/meminfo` below a root; `None` if unknown.
pub fn available_memory_bytes(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Memory that a private server is sized for: [`available_memory_bytes`], or 4 GiB if unknown.
pub fn server_memory_bytes(root: &Path) -> u64 {
    available_memory_bytes(root).unwrap_or(ASSUMED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_room_and_an_absent_one_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        let absent = free_bytes(&folder.path().join("absent")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn memory_is_what_is_available_or_not_known() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!((available_memory_bytes(root.path()), server_memory_bytes(root.path())), (None, 4 << 30));
        fs::create_dir(root.path().join("proc")).unwrap();
        let read = |text: &str| {
            fs::write(root.path().join("proc/meminfo"), text).unwrap();
            available_memory_bytes(root.path())
        };
        assert_eq!(read("MemTotal: 9999 kB\nMemAvailable:    400 kB\n"), Some(400 * 1024));
        for text in ["", "MemAvailable:", "MemAvailable: x kB", "MemAvailable: 99999999999999999999 kB"] {
            assert_eq!(read(text), None, "{text}");
        }
        read("MemAvailable: 400 kB");
        assert_eq!(server_memory_bytes(root.path()), 400 * 1024);
    }
}
