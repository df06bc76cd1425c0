//! An initial file system for a kernel: a cpio archive of the form `newc`.
//!
//! Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst: a header of 110 characters, the
//! path with a zero, the contents; path and contents are padded to multiples of 4 bytes; the last entry is
//! `TRAILER!!!`. A kernel accepts an uncompressed archive.

/// Type bits of a mode (stat(2)).
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
/// Path of the last entry.
const LAST: &str = "TRAILER!!!";

/// An unfinished archive.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a folder, whose parents must exist.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER | 0o755, &[]);
    }

    /// Adds a program that every user may run.
    pub fn program(&mut self, path: &str, contents: &[u8]) {
        self.entry(path, FILE | 0o755, contents);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(LAST, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let links = if mode & FOLDER == FOLDER { 2 } else { 1 };
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let (path_bytes, content_bytes) = (length(path.len() + 1), length(contents.len()));
        // Number, mode, user, group, links, time of change, length, device twice, its own device twice, length of the
        // path, checksum (which this form has not).
        let fields = [self.entries, mode, 0, 0, links, 0, content_bytes, 0, 0, 0, 0, path_bytes, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.fill_up();
        self.bytes.extend_from_slice(contents);
        self.fill_up();
    }

    fn fill_up(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn archive() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.folder("bin");
        archive.program("bin/one", b"12345");
        archive.program("init", b"");
        archive.finish()
    }

    #[test]
    fn headers_are_those_of_the_kernels_text() {
        let bytes = archive();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with(&format!("070701{:08x}{:08x}", 1, 0o040_755)));
        // 110 characters and "bin\0" are 114, filled up to 116.
        assert_eq!(&text[116..122], "070701");
        assert_eq!(&text[116 + 6 + 6 * 8..116 + 6 + 7 * 8], "00000005");
        assert!(bytes.len().is_multiple_of(4) && text.contains(LAST));
    }

    #[test]
    fn cpio_reads_what_was_written() {
        let started = Command::new("cpio")
            .args(["--list", "--verbose", "--numeric-uid-gid"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else {
            // A container may be without it; the other test holds everywhere.
            return;
        };
        child.stdin.take().unwrap().write_all(&archive()).unwrap();
        let listed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let words: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        let shown: Vec<[&str; 3]> =
            words.iter().map(|words| [words[0], words[4], words[words.len() - 1]]).collect();
        assert_eq!(
            shown,
            [["drwxr-xr-x", "0", "bin"], ["-rwxr-xr-x", "5", "bin/one"], ["-rwxr-xr-x", "0", "init"]]
        );
    }
}
