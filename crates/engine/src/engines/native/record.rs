//! Records of the log: layout, checks, reading.
//!
//! ```text
//! 0   8  log sequence number / 64 (44 bits) and length / 64 (20 bits): the tag, written last
//! 8   4  CRC-32 of everything from byte 12 to the end
//! 12  1  kind: 1 rows, 2 plain
//! 13  1  1 where this record commits its transaction
//! 14  2  session
//! 16  8  transaction of the session, from 0
//! 24  4  place of the record in its transaction, from 0
//! 28  4  rows in it; bytes of a plain one
//! 32     the rows, or the bytes; zeros up to a multiple of 64
//! ```
//!
//! Records begin at multiples of 64 bytes, so two sessions never write into one cache line of the
//! ring, and a tag can only stand at the start of a line. A log sequence number is the number of
//! bytes before the record since the log began; it never repeats, so a tag distinguishes a record from
//! everything stored in its place before, in the ring as in the file.

/// Records begin at multiples of this, and their lengths are multiples of it.
pub const UNIT_BYTES: usize = 64;

/// Bytes before a record's content.
pub const HEADER_BYTES: usize = 32;

/// Longest record that is read back; longer ones are never written.
pub const MAX_RECORD_BYTES: usize = 1 << 17;

const UNIT_BITS: u32 = 20;

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows of a transaction.
    Rows,
    /// Bytes of the `log-buffer` workload.
    Plain,
}

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Kind of content.
    pub kind: Kind,
    /// Whether it commits its transaction.
    pub commits: bool,
    /// The session.
    pub session: u16,
    /// Number of the transaction in the session.
    pub transaction: u64,
    /// Place of the record in the transaction.
    pub place: u32,
    /// Rows; bytes of a plain record.
    pub count: u32,
}

/// The tag of a record at a log sequence number; never 0.
#[inline]
pub fn tag(lsn: u64, bytes: usize) -> u64 {
    (lsn / UNIT_BYTES as u64) << UNIT_BITS | (bytes / UNIT_BYTES) as u64
}

/// The length in bytes of the record with this tag, if the tag belongs to this log sequence number.
#[inline]
pub fn tagged_bytes(tag: u64, lsn: u64) -> Option<usize> {
    let bytes = (tag & ((1 << UNIT_BITS) - 1)) as usize * UNIT_BYTES;
    let whole = (UNIT_BYTES..=MAX_RECORD_BYTES).contains(&bytes);
    (whole && tag >> UNIT_BITS == (lsn / UNIT_BYTES as u64) & (u64::MAX >> UNIT_BITS)).then_some(bytes)
}

/// A buffer in which a session makes its records, one after another.
#[derive(Debug, Clone)]
pub struct Draft(Vec<u8>);

impl Draft {
    /// An empty buffer.
    pub fn new() -> Self {
        Self(vec![0; HEADER_BYTES])
    }

    /// Discards the content.
    #[inline]
    pub fn clear(&mut self) {
        self.0.truncate(HEADER_BYTES);
    }

    /// The buffer to append content to.
    #[inline]
    pub fn content(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Pads, writes the header without the tag, and gives the whole record.
    #[inline]
    pub fn finish(&mut self, head: &Head) -> &[u8] {
        let bytes = self.0.len().next_multiple_of(UNIT_BYTES);
        self.0.resize(bytes, 0);
        self.0[12] = match head.kind {
            Kind::Rows => 1,
            Kind::Plain => 2,
        };
        self.0[13] = u8::from(head.commits);
        self.0[14..16].copy_from_slice(&head.session.to_le_bytes());
        self.0[16..24].copy_from_slice(&head.transaction.to_le_bytes());
        self.0[24..28].copy_from_slice(&head.place.to_le_bytes());
        self.0[28..32].copy_from_slice(&head.count.to_le_bytes());
        let check = crc32fast::hash(&self.0[12..]);
        self.0[8..12].copy_from_slice(&check.to_le_bytes());
        &self.0
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads a whole record that lies at a log sequence number: its header, and its content with the padding.
/// `None` if any byte is not as it was written.
pub fn read(lsn: u64, record: &[u8]) -> Option<(Head, &[u8])> {
    let word = |at: usize| record.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let half = |at: usize| record.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    if tagged_bytes(word(0)?, lsn)? != record.len() || half(8)? != crc32fast::hash(record.get(12..)?) {
        return None;
    }
    let kind = match record[12] {
        1 => Kind::Rows,
        2 => Kind::Plain,
        _ => return None,
    };
    let session = u16::from_le_bytes([record[14], record[15]]);
    let commits = record[13] == 1;
    let head = Head { kind, commits, session, transaction: word(16)?, place: half(24)?, count: half(28)? };
    Some((head, &record[HEADER_BYTES..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head =
        Head { kind: Kind::Rows, commits: true, session: 513, transaction: 7, place: 2, count: 3 };

    fn record(lsn: u64, content: &[u8]) -> Vec<u8> {
        let mut draft = Draft::new();
        draft.content().extend_from_slice(content);
        let mut record = draft.finish(&HEAD).to_vec();
        let tag = tag(lsn, record.len());
        record[0..8].copy_from_slice(&tag.to_le_bytes());
        record
    }

    #[test]
    fn records_come_back_at_their_own_place_only() {
        for lsn in [0, 64, 6400, 1 << 40] {
            let record = record(lsn, &[9; 50]);
            assert_eq!(record.len(), 128);
            let (head, content) = read(lsn, &record).unwrap();
            assert_eq!(head, HEAD);
            assert_eq!((&content[..50], content.len()), ([9; 50].as_slice(), 96));
            assert_eq!(read(lsn + 64, &record), None);
            assert_eq!(read(lsn, &record[..64]), None);
        }
    }

    #[test]
    fn any_changed_bit_is_found() {
        let record = record(128, b"two rows");
        for bit in 0..record.len() * 8 {
            let mut bad = record.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(128, &bad), None, "bit {bit}");
        }
        assert!(read(128, &record).is_some());
    }

    #[test]
    fn no_tag_is_zero_and_a_draft_can_be_used_again() {
        assert_ne!(tag(0, 64), 0);
        assert_eq!(tagged_bytes(0, 0), None);
        assert_eq!(tagged_bytes(tag(640, 320), 640), Some(320));
        let mut draft = Draft::new();
        draft.content().extend_from_slice(&[1; 100]);
        draft.finish(&HEAD);
        draft.clear();
        draft.content().push(5);
        let again = draft.finish(&HEAD).to_vec();
        assert_eq!(again[HEADER_BYTES..], [[5].as_slice(), &[0; 31]].concat());
    }
}
