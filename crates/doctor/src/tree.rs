//! Bounded reading of small files below a root, and nowhere else.
//!
//! Paths: see [`threadwise_machine::below`]. Only regular files are opened, and every read has a limit.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use threadwise_machine::below;
use threadwise_machine::text::one_line;

/// Maximum bytes of a file. The longest ones are /proc/swaps and CPU lists of large machines.
const LIMIT_BYTES: u64 = 256 * 1024;
/// Maximum characters of a text in a line of the report.
const SHOWN_CHARS: usize = 100;

/// Why a file gives no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gap {
    /// It does not exist.
    Missing,
    /// This user may not read it.
    Denied,
    /// Its content is not usable; why.
    Damaged(String),
}

impl From<io::Error> for Gap {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Damaged(format!("cannot be read: {error}")),
        }
    }
}

/// A root and everything below it. Paths are given without the leading slash.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// A root; links on the way to it are the caller's own. If it does not exist, everything below is missing.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()) }
    }

    /// A whole file.
    pub(crate) fn text(&self, path: &str) -> Result<String, Gap> {
        let path = self.resolve(path)?;
        // A pipe or a device would block.
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(Gap::Damaged("is not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        below::open(&path)?.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > LIMIT_BYTES {
            true => Err(Gap::Damaged(format!("is larger than {LIMIT_BYTES} bytes"))),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// A file's first line, safe for a terminal.
    pub(crate) fn line(&self, path: &str) -> Result<String, Gap> {
        let text = self.text(path)?;
        match one_line(text.lines().next().unwrap_or(""), SHOWN_CHARS) {
            line if line.is_empty() => Err(Gap::Damaged("is empty".to_owned())),
            line => Ok(line),
        }
    }

    /// A file that holds one whole number.
    pub(crate) fn number(&self, path: &str) -> Result<i64, Gap> {
        let line = self.line(path)?;
        line.parse().map_err(|_| not(&line, "a number"))
    }

    /// The entries of a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, Gap> {
        let entries = fs::read_dir(self.resolve(folder)?)?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// The entries of a folder that are `prefix` and a number, in numeric order.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Result<Vec<u32>, Gap> {
        let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = self.names(folder)?.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Whether this name exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.resolve(path).is_ok_and(|path| path.exists())
    }

    fn resolve(&self, path: &str) -> Result<PathBuf, Gap> {
        Ok(below::resolve(&self.root, &self.root, Path::new(path))?)
    }
}

/// A file with unexpected content.
pub(crate) fn not(line: &str, expected: &str) -> Gap {
    Gap::Damaged(format!("reads '{}', not {expected}", one_line(line, 40)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn nothing_outside_of_the_root_is_read() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "1\n").unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(outside.path().join("secret"), root.path().join("absolute")).unwrap();
        symlink("../../../../../../../etc/passwd", root.path().join("up")).unwrap();
        symlink("circle", root.path().join("circle")).unwrap();
        fs::write(root.path().join("plain"), " 7 \nx\n").unwrap();
        symlink("/plain", root.path().join("inside")).unwrap();
        let tree = Tree::new(root.path());
        assert_eq!(tree.text("absolute"), Err(Gap::Missing));
        assert_eq!(tree.text("up"), Err(Gap::Missing));
        assert_eq!(tree.text("../../etc/passwd"), Err(Gap::Missing));
        assert!(matches!(tree.text("circle"), Err(Gap::Damaged(_))));
        assert_eq!(tree.number("inside"), Ok(7));
    }

    #[test]
    fn a_pipe_and_a_large_file_are_named_and_do_not_hold_us_up() {
        let root = tempfile::tempdir().unwrap();
        assert!(Command::new("mkfifo").arg(root.path().join("pipe")).status().unwrap().success());
        fs::write(root.path().join("large"), vec![b'1'; LIMIT_BYTES as usize + 1]).unwrap();
        fs::write(root.path().join("empty"), "").unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        let tree = Tree::new(root.path());
        let why = |path: &str| match tree.line(path) {
            Err(Gap::Damaged(why)) => why,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(why("pipe"), "is not a regular file");
        assert_eq!(why("folder"), "is not a regular file");
        assert_eq!(why("large"), "is larger than 262144 bytes");
        assert_eq!(why("empty"), "is empty");
        assert_eq!(tree.line("none"), Err(Gap::Missing));
        assert_eq!(tree.line("large/none"), Err(Gap::Missing));
    }

    #[test]
    fn lists_are_in_the_order_of_their_numbers() {
        let root = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu9", "cpufreq", "cpu", "state1"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let tree = Tree::new(root.path());
        assert_eq!(tree.numbered("", "cpu"), Ok(vec![9, 10]));
        assert_eq!(tree.numbered("none", "cpu"), Err(Gap::Missing));
        assert!(tree.has("cpu9") && !tree.has("cpu8"));
        assert_eq!(Tree::new(&root.path().join("none")).line("cpu9"), Err(Gap::Missing));
    }

    #[test]
    fn texts_are_made_fit_for_a_terminal() {
        assert_eq!(not("x\ny", "0 or 1"), Gap::Damaged("reads 'x y', not 0 or 1".to_owned()));
    }
}
