//! What a database file of the user's says of itself, read before any engine opens a copy of it: an engine would write
//! to the shadows, second files and difference files that the copy names, which are the user's.
//!
//! Source: Firebird's `src/jrd/ods.h` (`header_page`, `pointer_page` and the `hdr_` flags), the same in releases 3.0,
//! 4.0 and 5.0, which make on-disk structures 12 and 13. Numbers are in the machine's own byte order.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The part of the first page that is looked at.
const HEADER_BYTES: usize = 72;

/// The part of a page of pointers that is looked at.
const POINTER_BYTES: usize = 28;

/// `pag_type` of the first page of a database, and of a page that lists a table's data pages.
const HEADER_PAGE: u8 = 1;
const POINTER_PAGE: u8 = 4;

/// `RDB$FILES`: shadows, second files, difference files.
const FILES_TABLE: u16 = 10;

/// Flags, and what a file with one is.
const FLAGS: [(u16, &str); 4] = [
    (0x1, "it is the shadow of another database"),
    (0x44, "it is encrypted: give a copy that was decrypted"),
    (
        0xC00,
        "it is locked for a physical backup, so that part of it is in another file: end that first (nbackup -N)",
    ),
    (0x1080, "it is shut down: bring it online first (gfix -online)"),
];

/// What is needed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of a session's cache, where the database sets them (gfix -buffers); else 0.
    pub cache_pages: u32,
}

/// Reads the header of a database of which a copy can be measured.
///
/// # Errors
/// Why it cannot, or why the file cannot be read.
pub(crate) fn read(file: &File) -> Result<Header, String> {
    let mut page = [0; HEADER_BYTES];
    match file.read_exact_at(&mut page, 0) {
        Ok(()) => {}
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Err(OTHER.to_owned()),
        Err(cause) => return Err(cause.to_string()),
    }
    let header = parse(&page)?;
    match has_other_files(file, header.page_bytes) {
        Ok(Some(false)) => Ok(header),
        Ok(Some(true)) => {
            Err("it has, or had, a shadow, a second file or a difference file, to which a copy would \
                               write: give the restored copy of a backup"
                .to_owned())
        }
        Ok(None) => Err("it is damaged: the list of its files (RDB$FILES) is not in it".to_owned()),
        Err(cause) => Err(cause.to_string()),
    }
}

const OTHER: &str = "it is not a database of Firebird";

fn parse(page: &[u8; HEADER_BYTES]) -> Result<Header, String> {
    let size = number(page, 16);
    if page[0] != HEADER_PAGE || !size.is_power_of_two() || !(1024..=32768).contains(&size) {
        return Err(OTHER.to_owned());
    }
    let (structure, sequence, flags) = (number(page, 18) & 0x7fff, number(page, 40), number(page, 42));
    if !(12..=13).contains(&structure) {
        return Err(format!(
            "its on-disk structure is {structure}, and 12 and 13 are known (Firebird 3 to 5): back it up and restore it"
        ));
    }
    if sequence != 0 {
        return Err("it is the second file of a database that has several".to_owned());
    }
    match FLAGS.iter().find(|(flag, _)| flags & flag != 0) {
        Some((_, why)) => Err((*why).to_owned()),
        None => Ok(Header {
            page_bytes: u64::from(size),
            cache_pages: u32::from_ne_bytes([page[68], page[69], page[70], page[71]]),
        }),
    }
}

fn number(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Whether the database has, or had, more files than this one, by the first page that lists the data pages of
/// `RDB$FILES`; `None` when there is no such page.
fn has_other_files(file: &File, page_bytes: u64) -> io::Result<Option<bool>> {
    let mut start = [0; POINTER_BYTES];
    for page in 0..file.metadata()?.len() / page_bytes {
        file.read_exact_at(&mut start, page * page_bytes)?;
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

    const PAGE: usize = 1024;

    /// A database of three pages, the last of which lists the data pages of `RDB$FILES`.
    fn database(flags: u16) -> Vec<u8> {
        let mut bytes = vec![0; 3 * PAGE];
        bytes[0] = HEADER_PAGE;
        bytes[16..18].copy_from_slice(&(PAGE as u16).to_ne_bytes());
        bytes[18..20].copy_from_slice(&0x800c_u16.to_ne_bytes());
        bytes[42..44].copy_from_slice(&flags.to_ne_bytes());
        bytes[68..72].copy_from_slice(&777_u32.to_ne_bytes());
        bytes[2 * PAGE] = POINTER_PAGE;
        bytes[2 * PAGE + 12] = 2;
        bytes[2 * PAGE + 26] = FILES_TABLE as u8;
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> Result<Header, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, bytes).unwrap();
        read(&File::open(&path).unwrap())
    }

    #[test]
    fn a_database_is_read_and_what_is_none_is_not() {
        assert_eq!(read_bytes(&database(0x12)), Ok(Header { page_bytes: 1024, cache_pages: 777 }));
        for bytes in [vec![], vec![b'x'; 4096], b"SQLite format 3".to_vec()] {
            assert_eq!(read_bytes(&bytes), Err(OTHER.to_owned()));
        }
    }

    #[test]
    fn what_a_copy_would_part_from_its_files_is_refused() {
        for (flag, part) in [
            (1, "shadow"),
            (4, "encrypted"),
            (0x40, "encrypted"),
            (0x400, "nbackup"),
            (0x1000, "gfix -online"),
        ] {
            let why = read_bytes(&database(0x12 | flag)).unwrap_err();
            assert!(why.contains(part), "{flag:#x}: {why}");
        }
        let changed = |at: usize, value: u8| {
            let mut bytes = database(0x12);
            bytes[at] = value;
            read_bytes(&bytes).unwrap_err()
        };
        assert!(changed(18, 11).contains("on-disk structure is 11"));
        assert!(changed(40, 1).contains("second file"));
        assert!(changed(2 * PAGE + 24, 1).contains("difference file"));
        assert!(changed(2 * PAGE + 12, 1).contains("damaged"));
    }
}
