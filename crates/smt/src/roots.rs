//! Locations of the machine's files, and opening them without following links.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu`, `Documentation/admin-guide/cputopology.rst`;
//! `open(2)` (`O_NOFOLLOW` only checks the last step, so each step is opened separately).

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// Longest file that is read here.
const MAX_BYTES: u64 = 1 << 16;

/// Folders below which everything is read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// sysfs, `/sys`.
    pub sys: PathBuf,
    /// procfs, `/proc`.
    pub proc: PathBuf,
    /// Where control groups are mounted, `/sys/fs/cgroup`.
    pub cgroup: PathBuf,
}

impl Roots {
    /// The roots of the machine that this process runs on.
    pub fn live() -> Self {
        Self::below(Path::new("/"))
    }

    /// Those of a machine in a folder.
    pub fn below(root: &Path) -> Self {
        Self { sys: root.join("sys"), proc: root.join("proc"), cgroup: root.join("sys/fs/cgroup") }
    }
}

/// Opens a file that is not a link, and to which no link leads below `root`.
pub(crate) fn open(root: &Path, path: &str, flags: OFlags) -> io::Result<File> {
    let folder_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, folder_flags, Mode::empty())?;
    let mut steps = Path::new(path).components().peekable();
    while let Some(step) = steps.next() {
        let Component::Normal(name) = step else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path has a step that is not a name",
            ));
        };
        let flags = match steps.peek() {
            Some(_) => folder_flags,
            // Without waiting for the other end of a pipe.
            None => flags | OFlags::NONBLOCK | OFlags::CLOEXEC,
        };
        at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let file = File::from(at);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")),
    }
}

/// The text of a small file, without white space around it.
pub(crate) fn read(root: &Path, path: &str) -> io::Result<String> {
    let mut text = String::new();
    open(root, path, OFlags::RDONLY)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

/// Writes a value into an existing file, by one call, as the kernel's files require.
pub(crate) fn write(root: &Path, path: &str, value: &str) -> io::Result<()> {
    let mut file = open(root, path, OFlags::WRONLY)?;
    let length = file.metadata()?.len();
    let written = file.write(value.as_bytes())?;
    if written != value.len() {
        return Err(io::Error::new(io::ErrorKind::WriteZero, "the kernel took a part of the value"));
    }
    // A file of a recorded tree keeps a longer rest; one of the kernel has no length.
    if length > written as u64 {
        let _ = file.set_len(written as u64);
    }
    Ok(())
}

/// Numbers N of the entries `PREFIXN` of a folder, in order; empty if it does not exist.
pub(crate) fn numbered(folder: &Path, prefix: &str) -> Vec<u32> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok();
    let mut found: Vec<u32> =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(number).collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_and_no_step_goes_up() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sys");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "1234\n").unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        symlink("../../secret", root.join("a/link")).unwrap();
        symlink("b", root.join("a/c")).unwrap();
        assert_eq!(read(&root, "a/b/file").unwrap(), "1234");
        write(&root, "a/b/file", "9").unwrap();
        assert_eq!(fs::read_to_string(root.join("a/b/file")).unwrap(), "9");
        for path in ["a/link", "a/c/file", "../secret", "a/../a/b/file", "/a/b/file", "a/b", "a/absent"] {
            assert!(read(&root, path).is_err() && write(&root, path, "x").is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "s");
    }
}
