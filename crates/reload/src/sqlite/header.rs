//! The first 100 bytes of a SQLite file, and the seal in them.
//!
//! Source: "Database File Format" (sqlite.org/fileformat2.html), 1.3. A file whose *write version*
//! (offset 18) is greater than 2 must be treated as read-only, and one whose *read version* (offset 19)
//! is 1 or 2 may be read. The *file change counter* (offset 24) makes other connections drop their
//! cache, so that they read the header again; *version-valid-for* (offset 92) tells that the size in
//! pages (offset 28) belongs to that counter.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Length of the header.
pub const BYTES: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const WRITE_VERSION: usize = 18;
const READ_VERSION: usize = 19;
const CHANGE_COUNTER: usize = 24;
const VALID_FOR: usize = 92;
/// Write and read version of a file with a rollback journal.
const ROLLBACK: u8 = 1;
/// Read version of a file with a write-ahead log.
const WAL: u8 = 2;
/// Write version of a sealed file that had a rollback journal.
const SEALED_ROLLBACK: u8 = 3;
/// Write version of a sealed file that had a write-ahead log.
const SEALED_WAL: u8 = 4;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header([u8; BYTES]);

/// Whether the header permits writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writable {
    /// Yes.
    Yes,
    /// No: sealed by threadwise. Whether it had a write-ahead log.
    Sealed {
        /// It had a write-ahead log.
        wal: bool,
    },
    /// No, for other reasons.
    No,
}

impl Header {
    /// Reads it from an open file; `None` if that is not an SQLite database.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(file: &File) -> io::Result<Option<Self>> {
        // The kernel's files have no length, and reading some of them blocks.
        if file.metadata()?.len() < BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; BYTES];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(bytes.starts_with(MAGIC).then_some(Self(bytes))),
        }
    }

    /// Writes the fields that a seal changes, and those between them, durably.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, file: &File) -> io::Result<()> {
        // One write: 76 bytes of one page that no other process may write now.
        file.write_all_at(&self.0[WRITE_VERSION..VALID_FOR + 4], WRITE_VERSION as u64)?;
        file.sync_all()
    }

    /// Whether it may be written.
    pub fn writable(&self) -> Writable {
        match (self.0[WRITE_VERSION], self.0[READ_VERSION]) {
            (ROLLBACK | WAL, _) => Writable::Yes,
            (SEALED_ROLLBACK, ROLLBACK) => Writable::Sealed { wal: false },
            (SEALED_WAL, ROLLBACK) => Writable::Sealed { wal: true },
            _ => Writable::No,
        }
    }

    /// Whether a write-ahead log is in use.
    pub fn is_wal(&self) -> bool {
        self.0[READ_VERSION] == WAL
    }

    /// The header that makes the file read-only and all connections read it again.
    pub fn sealed(&self, wal: bool) -> Self {
        self.changed(if wal { SEALED_WAL } else { SEALED_ROLLBACK }, ROLLBACK)
    }

    /// The header of the same file, writable: the only difference between a rollback journal and an empty
    /// write-ahead log.
    pub fn unsealed(&self, wal: bool) -> Self {
        let version = if wal { WAL } else { ROLLBACK };
        self.changed(version, version)
    }

    fn changed(&self, write_version: u8, read_version: u8) -> Self {
        let mut bytes = self.0;
        bytes[WRITE_VERSION] = write_version;
        bytes[READ_VERSION] = read_version;
        let (counter, valid_for) = (self.number(CHANGE_COUNTER), self.number(VALID_FOR));
        let mut next = counter.wrapping_add(1);
        if counter == valid_for {
            bytes[VALID_FOR..VALID_FOR + 4].copy_from_slice(&next.to_be_bytes());
        } else if next == valid_for {
            // The size in pages was not valid, and must not become so.
            next = next.wrapping_add(1);
        }
        bytes[CHANGE_COUNTER..CHANGE_COUNTER + 4].copy_from_slice(&next.to_be_bytes());
        Self(bytes)
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(counter: u32, valid_for: u32) -> Header {
        let mut bytes = [7; BYTES];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[WRITE_VERSION] = ROLLBACK;
        bytes[READ_VERSION] = ROLLBACK;
        bytes[CHANGE_COUNTER..CHANGE_COUNTER + 4].copy_from_slice(&counter.to_be_bytes());
        bytes[VALID_FOR..VALID_FOR + 4].copy_from_slice(&valid_for.to_be_bytes());
        Header(bytes)
    }

    #[test]
    fn a_seal_changes_three_fields_and_comes_off() {
        for (wal, version) in [(false, 3), (true, 4)] {
            let old = header(9, 9);
            let sealed = old.sealed(wal);
            assert_eq!(sealed.0[WRITE_VERSION], version);
            assert_eq!((sealed.number(CHANGE_COUNTER), sealed.number(VALID_FOR)), (10, 10));
            assert_eq!(sealed.writable(), Writable::Sealed { wal });
            let changed = (0..BYTES).filter(|at| old.0[*at] != sealed.0[*at]).collect::<Vec<_>>();
            assert_eq!(changed, [18, 27, 95]);
            assert_eq!(sealed.unsealed(wal).writable(), Writable::Yes);
            assert_eq!(sealed.unsealed(wal).is_wal(), wal);
            assert_eq!(sealed.unsealed(wal).number(CHANGE_COUNTER), 11);
        }
        let mut foreign = header(1, 1);
        foreign.0[WRITE_VERSION] = 9;
        assert_eq!(foreign.writable(), Writable::No);
    }

    #[test]
    fn a_size_that_was_not_valid_does_not_become_so() {
        for (counter, valid_for) in [(9, 3), (9, 10), (u32::MAX, 0), (u32::MAX, u32::MAX)] {
            let sealed = header(counter, valid_for).sealed(false);
            let (next, valid) = (sealed.number(CHANGE_COUNTER), sealed.number(VALID_FOR));
            assert_ne!(next, counter);
            assert_eq!(next == valid, counter == valid_for, "{counter} {valid_for}");
        }
    }
}
