//! Reading the log back: which transactions are whole.
//!
//! Records are read from the start; the first damaged one ends the log, and what follows is the torn tail
//! that a crash leaves. A transaction counts if all of its records are there, in order, up to the one that
//! commits it.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::record::{self, Head, Kind, MAX_RECORD_BYTES, UNIT_BYTES};
use super::row::{ROW_BYTES, Row};
use super::table::Content;

/// Content of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Whole and committed transactions; a plain record counts as one.
    pub transactions: u64,
    /// Their rows and keys.
    pub content: Content,
    /// Bytes of whole records.
    pub whole_bytes: u64,
    /// Bytes behind the last whole record.
    pub torn_bytes: u64,
    /// Transactions whose end is missing.
    pub unfinished: u64,
}

/// Transactions whose end has not been read yet.
#[derive(Debug, Default)]
struct Open {
    transaction: u64,
    next_place: u32,
    content: Content,
}

/// Reads a log whose first byte has the log sequence number `first_lsn`; calls `each` for every row of every
/// whole record, with the transaction's session.
///
/// # Errors
/// The log cannot be read.
pub fn recover(mut log: impl Read, first_lsn: u64, mut each: impl FnMut(u16, &Row)) -> io::Result<Recovered> {
    let mut recovered = Recovered::default();
    let mut open: BTreeMap<u16, Open> = BTreeMap::new();
    let mut bytes = Vec::with_capacity(MAX_RECORD_BYTES);
    loop {
        bytes.clear();
        let lsn = first_lsn + recovered.whole_bytes;
        let whole = read_record(&mut log, lsn, &mut bytes)?;
        let taken = whole && take(lsn, &bytes, &mut open, &mut recovered, &mut each);
        if !taken {
            break;
        }
        recovered.whole_bytes += bytes.len() as u64;
    }
    recovered.torn_bytes = bytes.len() as u64 + io::copy(&mut log, &mut io::sink())?;
    recovered.unfinished = open.len() as u64;
    Ok(recovered)
}

/// Reads the whole record at this place by the length in its tag; `false` if the tag is invalid or bytes are
/// missing.
fn read_record(log: &mut impl Read, lsn: u64, bytes: &mut Vec<u8>) -> io::Result<bool> {
    if log.take(UNIT_BYTES as u64).read_to_end(bytes)? < UNIT_BYTES {
        return Ok(false);
    }
    let tag = bytes.first_chunk().map(|tag| u64::from_le_bytes(*tag));
    let Some(length) = tag.and_then(|tag| record::tagged_bytes(tag, lsn)) else { return Ok(false) };
    let rest = length - UNIT_BYTES;
    Ok(log.take(rest as u64).read_to_end(bytes)? == rest)
}

/// Adds one record; `false` if it is damaged or does not continue its transaction.
fn take(
    lsn: u64,
    bytes: &[u8],
    open: &mut BTreeMap<u16, Open>,
    recovered: &mut Recovered,
    each: &mut impl FnMut(u16, &Row),
) -> bool {
    let Some((head, content)) = record::read(lsn, bytes) else { return false };
    let found = match head.kind {
        Kind::Rows => rows(&head, content, each),
        Kind::Plain => plain(&head, content),
    };
    let Some(found) = found else { return false };
    let Open { transaction, next_place, content } = open.remove(&head.session).unwrap_or_default();
    let follows = next_place == head.place && (next_place == 0 || transaction == head.transaction);
    if !follows {
        return false;
    }
    let content = content.plus(found);
    if head.commits {
        recovered.transactions += 1;
        recovered.content = recovered.content.plus(content);
    } else {
        let still = Open { transaction: head.transaction, next_place: head.place + 1, content };
        open.insert(head.session, still);
    }
    true
}

fn rows(head: &Head, content: &[u8], each: &mut impl FnMut(u16, &Row)) -> Option<Content> {
    let mut found = Content::default();
    for bytes in content.get(..head.count as usize * ROW_BYTES)?.chunks_exact(ROW_BYTES) {
        let row = Row::decode(bytes)?;
        found.add(row.c1);
        each(head.session, &row);
    }
    Some(found)
}

/// A plain record counts as a row whose key is its first 8 bytes.
fn plain(head: &Head, content: &[u8]) -> Option<Content> {
    let key = content.get(..head.count as usize)?.first_chunk()?;
    let mut found = Content::default();
    found.add(i64::from_le_bytes(*key));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::native::record::Draft;

    const FIRST_LSN: u64 = 6400;

    /// A record of rows, placed behind what is there.
    fn append(log: &mut Vec<u8>, head: Head, keys: &[i64]) {
        let mut draft = Draft::new();
        keys.iter().for_each(|key| Row::new(*key, 1, 0, 0, 0).encode(draft.content()));
        let mut record = draft.finish(&head).to_vec();
        let tag = record::tag(FIRST_LSN + log.len() as u64, record.len());
        record[..8].copy_from_slice(&tag.to_le_bytes());
        log.extend(record);
    }

    fn head(session: u16, transaction: u64, place: u32, commits: bool, count: u32) -> Head {
        Head { kind: Kind::Rows, commits, session, transaction, place, count }
    }

    fn read(log: &[u8]) -> Recovered {
        recover(log, FIRST_LSN, |_, _| {}).unwrap()
    }

    /// Two sessions, one of them with a transaction of three records between those of the other.
    fn small_log() -> (Vec<u8>, Vec<(usize, Content)>) {
        let mut log = Vec::new();
        let mut ends = vec![(0, Content::default())];
        let mut commit = |log: &Vec<u8>, keys: &[i64]| {
            let mut content = ends.last().unwrap().1;
            keys.iter().for_each(|key| content.add(*key));
            ends.push((log.len(), content));
        };
        append(&mut log, head(0, 0, 0, true, 2), &[1, 2]);
        commit(&log, &[1, 2]);
        append(&mut log, head(1, 0, 0, false, 1), &[10]);
        append(&mut log, head(0, 1, 0, true, 1), &[3]);
        commit(&log, &[3]);
        append(&mut log, head(1, 0, 1, false, 3), &[11, 12, 13]);
        append(&mut log, head(1, 0, 2, true, 1), &[-14]);
        commit(&log, &[10, 11, 12, 13, -14]);
        append(&mut log, head(0, 2, 0, true, 2), &[4, 5]);
        commit(&log, &[4, 5]);
        (log, ends)
    }

    #[test]
    fn a_whole_log_gives_everything() {
        let (log, ends) = small_log();
        let found = read(&log);
        let (bytes, content) = ends[4];
        assert_eq!((found.transactions, found.content), (4, content));
        assert_eq!((found.whole_bytes, found.torn_bytes, found.unfinished), (bytes as u64, 0, 0));
        let mut seen = Vec::new();
        recover(&log[..], FIRST_LSN, |session, row| seen.push((session, row.c1))).unwrap();
        assert_eq!(seen[..4], [(0, 1), (0, 2), (1, 10), (0, 3)]);
        assert_eq!(seen.len(), 10);
    }

    #[test]
    fn a_log_cut_anywhere_gives_the_whole_transactions_before_the_cut() {
        let (log, ends) = small_log();
        for cut in 0..=log.len() {
            let found = read(&log[..cut]);
            let (place, (_, content)) = ends.iter().enumerate().rfind(|(_, (end, _))| *end <= cut).unwrap();
            assert_eq!((found.transactions, found.content), (place as u64, *content), "cut at {cut}");
            assert_eq!(found.whole_bytes + found.torn_bytes, cut as u64);
            assert!(found.torn_bytes < 512);
        }
        let middle = read(&log[..ends[2].0]);
        assert_eq!((middle.transactions, middle.unfinished, middle.torn_bytes), (2, 1, 0));
    }

    #[test]
    fn a_damaged_byte_anywhere_ends_the_log_before_its_record() {
        let (log, ends) = small_log();
        for at in 0..log.len() {
            let mut bad = log.clone();
            bad[at] ^= 0x10;
            let found = read(&bad);
            let whole = ends.iter().filter(|(end, _)| *end <= at).count() - 1;
            assert_eq!(found.transactions, whole as u64, "byte {at}");
            assert!(found.torn_bytes > 0);
        }
    }

    #[test]
    fn a_log_of_another_place_or_with_a_hole_is_not_taken() {
        let (log, _) = small_log();
        assert_eq!(recover(&log[..], 0, |_, _| {}).unwrap().transactions, 0);
        let mut holed = Vec::new();
        append(&mut holed, head(0, 0, 0, false, 1), &[1]);
        append(&mut holed, head(0, 0, 2, true, 1), &[3]);
        let found = read(&holed);
        assert_eq!((found.transactions, found.content), (0, Content::default()));
        assert!(found.torn_bytes > 0);
    }
}
