//! Bounded reading of small files below a root (see [`crate::below`]): files of a recorded machine may have any size.

use super::TopologyError;
use super::sets::SetForm;
use crate::text::one_line;
use crate::{CpuSet, below};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Limit for a file of sysfs, bytes; the longest is a CPU mask or list of a very large machine.
const SMALL_BYTES: usize = 256 * 1024;
/// Limit for /proc/cpuinfo and /proc/mounts, which grow with CPUs and containers.
pub(super) const LARGE_BYTES: usize = 32 * 1024 * 1024;

/// A root and everything below it.
pub(super) struct Tree {
    root: PathBuf,
}

/// A folder that is known to be below the root.
#[derive(Clone)]
pub(super) struct Dir<'t> {
    tree: &'t Tree,
    path: PathBuf,
}

impl Tree {
    /// Takes the root; links on the way to it are followed, since the caller named it.
    pub(super) fn open(root: &Path) -> Result<Self, TopologyError> {
        let root = root.canonicalize().map_err(|_| TopologyError::NoSys { root: root.to_owned() })?;
        Ok(Self { root })
    }

    /// A folder below the root, `None` if it is not there.
    pub(super) fn dir(&self, relative: &str) -> Option<Dir<'_>> {
        let path = self.resolve(&self.root, Path::new(relative))?;
        path.is_dir().then_some(Dir { tree: self, path })
    }

    /// A file of a folder below the root.
    pub(super) fn text(&self, dir: &str, name: &str) -> Result<Option<String>, TopologyError> {
        self.dir(dir).map_or(Ok(None), |dir| dir.text(name))
    }

    fn resolve(&self, from: &Path, relative: &Path) -> Option<PathBuf> {
        below::resolve(&self.root, from, relative).ok()
    }
}

impl<'t> Dir<'t> {
    /// A folder in this one, `None` if it is not there.
    pub(super) fn sub(&self, name: &str) -> Option<Self> {
        let path = self.path.join(name);
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        if kind.is_dir() {
            return Some(Self { tree: self.tree, path });
        }
        let path = self.tree.resolve(&self.path, Path::new(name))?;
        path.is_dir().then_some(Self { tree: self.tree, path })
    }

    /// The folders named `PREFIX` and a number, in the order of their numbers.
    pub(super) fn numbered(&self, prefix: &str) -> Vec<(u32, Self)> {
        let Ok(entries) = fs::read_dir(&self.path) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(number) =
                name.to_str().and_then(|name| name.strip_prefix(prefix)).and_then(plain_number)
            else {
                continue;
            };
            // The listing shows the kind of entry, so a real folder needs no further call.
            let dir = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Some(Self { tree: self.tree, path: entry.path() }),
                _ => name.to_str().and_then(|name| self.sub(name)),
            };
            found.extend(dir.map(|dir| (number, dir)));
        }
        found.sort_by_key(|(number, _)| *number);
        found
    }

    /// A whole small file, `None` if it does not exist; a file that is too large is an error.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, TopologyError> {
        // sysfs and small proc files come in one read; a second one that only finds the end would
        // be a third of all calls on a large machine.
        self.limited(name, SMALL_BYTES, true)
    }

    /// A whole file of up to `limit` bytes; a larger one is an error.
    pub(super) fn text_within(&self, name: &str, limit: usize) -> Result<Option<String>, TopologyError> {
        self.limited(name, limit, false)
    }

    fn limited(&self, name: &str, limit: usize, in_one_read: bool) -> Result<Option<String>, TopologyError> {
        let Some(text) = self.decoded(name, limit + 1, in_one_read)? else { return Ok(None) };
        if text.len() > limit {
            return Err(self.damage(name, &format!("it is larger than {limit} bytes")));
        }
        Ok(Some(text))
    }

    /// The first `limit` bytes of a file, `None` if it does not exist.
    pub(super) fn head(&self, name: &str, limit: usize) -> Result<Option<String>, TopologyError> {
        self.decoded(name, limit, false)
    }

    fn decoded(&self, name: &str, limit: usize, in_one_read: bool) -> Result<Option<String>, TopologyError> {
        match self.bytes(name, limit, in_one_read) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if is_gap(&error) => Ok(None),
            Err(error) => Err(self.damage(name, &error.to_string())),
        }
    }

    /// Up to `limit` bytes; with `in_one_read` a read that does not fill the buffer is the end.
    fn bytes(&self, name: &str, limit: usize, in_one_read: bool) -> io::Result<Vec<u8>> {
        let mut file = match below::open(&self.path.join(name)) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                let resolved = self.tree.resolve(&self.path, Path::new(name));
                below::open(&resolved.ok_or(io::ErrorKind::NotFound)?)?
            }
            opened => opened?,
        };
        let mut bytes = vec![0; limit.min(4096)];
        let mut filled = 0;
        while filled < limit {
            if filled == bytes.len() {
                bytes.resize(limit.min(filled * 4), 0);
            }
            match file.read(&mut bytes[filled..])? {
                0 => break,
                count => filled += count,
            }
            if in_one_read && filled < bytes.len() {
                break;
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// A file with one decimal number; `None` if it does not exist or is empty.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, TopologyError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let text = trimmed(&text);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| self.damage(name, &format!("'{}' is not a number", one_line(text, 40))))
    }

    /// The first of these files that holds a set; `None` if none exists or all are empty. A file
    /// that cannot be parsed is an error only if no other one has a set.
    pub(super) fn set(&self, files: &[(&str, SetForm)]) -> Result<Option<CpuSet>, TopologyError> {
        let mut damage = None;
        for &(name, form) in files {
            let Some(text) = self.text(name)? else { continue };
            if trimmed(&text).is_empty() {
                continue;
            }
            match form.parse(&text) {
                Ok(set) => return Ok(Some(set)),
                Err(error) => damage = damage.or(Some((name, error))),
            }
        }
        match damage {
            None => Ok(None),
            Some((name, error)) => Err(self.damage(name, &one_line(&error.to_string(), 120))),
        }
    }

    /// The same files, those that this folder has first. Kernels use different names, which are the same for all CPUs
    /// of a machine.
    pub(super) fn in_order_here<'f>(&self, files: &[(&'f str, SetForm)]) -> Vec<(&'f str, SetForm)> {
        let mut files = files.to_vec();
        files.sort_by_cached_key(|(name, _)| fs::symlink_metadata(self.path.join(name)).is_err());
        files
    }

    /// The error that names a file of this folder.
    pub(super) fn damage(&self, name: &str, why: &str) -> TopologyError {
        TopologyError::File { path: self.path.join(name), why: why.to_owned() }
    }

    /// The folder's path from the root.
    pub(super) fn relative(&self) -> &Path {
        self.path.strip_prefix(&self.tree.root).unwrap_or(&self.path)
    }
}

/// Whether the file merely does not exist, or cannot be read by this process or for this CPU.
fn is_gap(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    let gaps = [libc::ENODEV, libc::ENXIO, libc::EINVAL, libc::EOPNOTSUPP];
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
        || error.raw_os_error().is_some_and(|code| gaps.contains(&code))
}

/// A number as the kernel writes it in a name: no sign, no leading zero, not too long.
fn plain_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number < crate::cpuset::MAX_CPUS && number.to_string() == text).then_some(number)
}

/// Without NUL bytes and white space at its ends.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
}
