//! Sockets of servers whose path is too long for an address.
//!
//! Source: `unix(7)`; `proc(5)`, `/proc/PID/fd`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Longest path of a socket (`sun_path` of 108 bytes with its final zero).
const PATH_BYTES: usize = 107;

/// The path for connecting to a socket of this name in a folder: the folder's own, or a short one through a
/// descriptor of the folder, which must stay open while clients connect.
///
/// # Errors
/// The folder cannot be opened.
pub fn folder(folder: &Path, name: &str) -> io::Result<(PathBuf, Option<File>)> {
    if folder.as_os_str().len() + 1 + name.len() <= PATH_BYTES {
        return Ok((folder.to_owned(), None));
    }
    let opened = File::open(folder)?;
    // By process number, so that child programs find it too.
    let path = format!("/proc/{}/fd/{}", std::process::id(), opened.as_raw_fd());
    Ok((PathBuf::from(path), Some(opened)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_go_through_a_descriptor() {
        let root = tempfile::tempdir().unwrap();
        let (path, held) = folder(root.path(), "socket").unwrap();
        assert!(path == root.path() && held.is_none());
        let long = root.path().join("x".repeat(120));
        assert!(folder(&long, "socket").is_err());
        std::fs::create_dir(&long).unwrap();
        let (path, held) = folder(&long, "socket").unwrap();
        assert!(held.is_some() && path.as_os_str().len() < 40);
        std::fs::write(path.join("here"), "").unwrap();
        assert!(long.join("here").exists());
        let seen = std::process::Command::new("test").arg("-f").arg(path.join("here")).status().unwrap();
        assert!(seen.success(), "another process gets there");
    }
}
