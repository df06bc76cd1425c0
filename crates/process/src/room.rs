//! Room on a disk.
//!
//! Source: `statvfs(3)`; `f_bavail` is what an ordinary user may still write.

use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write into a folder.
///
/// # Errors
/// Those of `statvfs(3)`: it is not there, or cannot be looked at.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
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
}
