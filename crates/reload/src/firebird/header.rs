//! A Firebird database's first page, read and written without the engine.
//!
//! Source: Firebird's `src/jrd/ods.h` (`header_page`, `pointer_page` and the `hdr_` flags), the same in
//! releases 3.0, 4.0 and 5.0, which make on-disk structures 12 and 13; structure 14 has another
//! layout and is refused. Numbers are in the machine's own byte order. Nothing here takes a lock.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The part of the first page that is read.
const HEADER_BYTES: usize = 72;
/// Offset of the flags, two bytes.
const FLAGS_AT: u64 = 42;
/// `pag_type` of the first page of a database, and of a page that lists a table's data pages.
const HEADER_PAGE: u8 = 1;
const POINTER_PAGE: u8 = 4;
/// `RDB$FILES`: shadows, second files, difference files.
const FILES_TABLE: u16 = 10;

const ACTIVE_SHADOW: u16 = 0x1;
const CRYPT_PROCESS: u16 = 0x4;
const ENCRYPTED: u16 = 0x40;
const BACKUP_MASK: u16 = 0xC00;
const SHUT_MASK: u16 = 0x1080;
const SHUT_FULL: u16 = 0x1000;

/// Fields of the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Size of a page in bytes.
    pub page_size_bytes: u16,
    /// On-disk structure without Firebird's mark.
    pub structure: u16,
    /// Which file of the database this is; 0 for the first.
    pub sequence: u16,
    /// The `hdr_` flags.
    pub flags: u16,
    /// Pages of each cache, if the database sets them (gfix -buffers); else 0.
    pub cache_pages: u32,
}

/// Reads the header of a database that is complete in its one file, so that a copy of the file is a copy of it.
///
/// # Errors
/// Why it is not complete, or cannot be read; one line.
pub fn whole(file: &File) -> Result<Header, String> {
    let header = read(file)?;
    if let Some(reason) = header.refusal() {
        return Err(reason);
    }
    match has_other_files(file, header.page_size_bytes) {
        Ok(Some(false)) => Ok(header),
        Ok(Some(true)) => {
            Err("it has, or had, a shadow, a second file or a difference file, which a copy would part \
                               from it: back it up and restore it"
                .to_owned())
        }
        Ok(None) => Err("damaged: the list of its files (RDB$FILES) is not in it".to_owned()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// Reads the header.
///
/// # Errors
/// The file cannot be read, or is not a database of Firebird; one line.
pub(super) fn read(file: &File) -> Result<Header, String> {
    // The kernel's files have no length, and reading some of them blocks, or consumes what others wait for.
    if file.metadata().is_ok_and(|found| found.len() < HEADER_BYTES as u64) {
        return Err(NOT_FIREBIRD.to_owned());
    }
    let mut page = [0; HEADER_BYTES];
    match file.read_exact_at(&mut page, 0) {
        Ok(()) => parse(&page),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(NOT_FIREBIRD.to_owned()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

const NOT_FIREBIRD: &str = "not a database of Firebird";

fn parse(page: &[u8; HEADER_BYTES]) -> Result<Header, String> {
    let header = Header {
        page_size_bytes: number(page, 16),
        structure: number(page, 18) & 0x7fff,
        sequence: number(page, 40),
        flags: number(page, FLAGS_AT as usize),
        cache_pages: u32::from_ne_bytes([page[68], page[69], page[70], page[71]]),
    };
    let size = header.page_size_bytes;
    if page[0] != HEADER_PAGE || !size.is_power_of_two() || !(1024..=32768).contains(&size) {
        return Err(NOT_FIREBIRD.to_owned());
    }
    Ok(header)
}

fn number(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

impl Header {
    /// Why a database with this header is left alone, if so.
    pub fn refusal(&self) -> Option<String> {
        let Self { structure, flags, .. } = *self;
        if !(12..=13).contains(&structure) {
            return Some(format!(
                "on-disk structure {structure}, while 12 and 13 are known (Firebird 3 to 5); \
                 back it up and restore it by its own version first"
            ));
        }
        let reason = if self.sequence != 0 {
            "second file of a database that has several"
        } else if flags & ACTIVE_SHADOW != 0 {
            "shadow of another database"
        } else if flags & (ENCRYPTED | CRYPT_PROCESS) != 0 {
            "encrypted: a restored copy would not be; decrypt it first"
        } else if flags & BACKUP_MASK != 0 {
            "locked for a physical backup: end that first (nbackup -N)"
        } else if flags & SHUT_MASK != 0 {
            "shut down, like a kept original: `threadwise reload --engine firebird --unseal` or gfix -online \
             makes it usable"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// Whether no process, not even the owner's, can attach.
    pub fn is_fully_shut(&self) -> bool {
        self.flags & SHUT_MASK == SHUT_FULL
    }

    /// The flags with which no process can attach.
    pub fn shut_flags(&self) -> u16 {
        (self.flags & !SHUT_MASK) | SHUT_FULL
    }

    /// The flags with which every process can attach.
    pub fn online_flags(&self) -> u16 {
        self.flags & !SHUT_MASK
    }
}

/// Writes the flags durably.
///
/// # Errors
/// The kernel's.
pub(super) fn write_flags(file: &File, flags: u16) -> io::Result<()> {
    file.write_all_at(&flags.to_ne_bytes(), FLAGS_AT)?;
    file.sync_all()
}

/// Whether the database has, or had, more files than this one: shadows, second files, a difference file.
/// An engine that opens a copy would write to them or forget them, so this is checked before, in the
/// first page that lists the data pages of `RDB$FILES`. `None` if there is no such page.
///
/// # Errors
/// The kernel's.
fn has_other_files(file: &File, page_size_bytes: u16) -> io::Result<Option<bool>> {
    let page_size = u64::from(page_size_bytes);
    let mut start = [0; 28];
    for page in 0..file.metadata()?.len() / page_size {
        file.read_exact_at(&mut start, page * page_size)?;
        let itself = u32::from_ne_bytes([start[12], start[13], start[14], start[15]]);
        if start[0] == POINTER_PAGE && number(&start, 26) == FILES_TABLE && u64::from(itself) == page {
            return Ok(Some(number(&start, 24) > 0));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(flags: u16) -> [u8; HEADER_BYTES] {
        let mut page = [0; HEADER_BYTES];
        page[0] = HEADER_PAGE;
        page[16..18].copy_from_slice(&8192_u16.to_ne_bytes());
        page[18..20].copy_from_slice(&0x800c_u16.to_ne_bytes());
        page[42..44].copy_from_slice(&flags.to_ne_bytes());
        page[68..72].copy_from_slice(&777_u32.to_ne_bytes());
        page
    }

    fn refusal(change: impl FnOnce(&mut Header)) -> String {
        let mut header = parse(&page(0x12)).unwrap();
        change(&mut header);
        header.refusal().unwrap_or_default()
    }

    #[test]
    fn a_plain_database_is_taken() {
        let header = parse(&page(0x12)).unwrap();
        assert_eq!((header.page_size_bytes, header.structure, header.sequence), (8192, 12, 0));
        assert_eq!((header.refusal(), header.cache_pages), (None, 777));
        assert!(!header.is_fully_shut());
    }

    #[test]
    fn what_cannot_be_swapped_is_refused_with_its_reason() {
        assert!(refusal(|header| header.structure = 11).contains("on-disk structure 11"));
        assert!(refusal(|header| header.structure = 14).contains("on-disk structure 14"));
        assert!(refusal(|header| header.sequence = 1).contains("second file"));
        for (flag, word) in [
            (0x1, "shadow"),
            (0x40, "encrypted"),
            (0x4, "encrypted"),
            (0x400, "physical backup"),
            (0x800, "physical backup"),
            (0x80, "shut down"),
            (0x1000, "shut down"),
            (0x1080, "shut down"),
        ] {
            let reason = refusal(|header| header.flags |= flag);
            assert!(reason.contains(word), "{flag:#x}: {reason}");
        }
        // Read-only, reserve off, dialect, forced writes are settings and no obstacle.
        assert_eq!(refusal(|header| header.flags = 0x3a), "");
    }

    #[test]
    fn shutting_and_opening_touch_no_other_flag() {
        let header = parse(&page(0x3a)).unwrap();
        let shut = Header { flags: header.shut_flags(), ..header };
        assert!(shut.is_fully_shut());
        assert_eq!((shut.flags, shut.online_flags()), (0x103a, 0x3a));
        // `single` has both bits.
        let single = Header { flags: 0x10ba, ..header };
        assert!(!single.is_fully_shut());
        assert_eq!((single.shut_flags(), single.online_flags()), (0x103a, 0x3a));
    }

    #[test]
    fn other_files_are_not_databases() {
        let mut page = page(0x12);
        page[0] = 5;
        assert_eq!(parse(&page), Err(NOT_FIREBIRD.to_owned()));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, b"SQLite format 3").unwrap();
        assert_eq!(read(&File::open(&path).unwrap()), Err(NOT_FIREBIRD.to_owned()));
        std::fs::write(&path, [b'x'; 4096]).unwrap();
        assert_eq!(read(&File::open(&path).unwrap()), Err(NOT_FIREBIRD.to_owned()));
    }

    #[test]
    fn further_files_are_seen_in_their_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let page_size = 1024;
        let mut bytes = vec![0; 4 * page_size];
        std::fs::write(&path, &bytes).unwrap();
        let seen = || has_other_files(&File::open(&path).unwrap(), page_size as u16).unwrap();
        assert_eq!(seen(), None);
        let start = 2 * page_size;
        bytes[start] = POINTER_PAGE;
        bytes[start + 26] = FILES_TABLE as u8;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(seen(), None, "a page that says another number of itself is an old one");
        bytes[start + 12] = 2;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(seen(), Some(false));
        bytes[start + 24] = 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(seen(), Some(true));
    }
}
