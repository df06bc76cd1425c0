//! A row of the table, in memory and in the log.
//!
//! The columns are those of the workload (`workloads::insert`). In the log a row has a fixed length,
//! little-endian, so that a record of two rows with its header fills five cache lines exactly.

use crate::workloads::insert::TEXT_CHARS;

/// Bytes of a row in the log: 8 + 8 + 111 + 1 unused + 4 + 4 + 8.
pub const ROW_BYTES: usize = 144;

const LETTERS: usize = 26;

/// The alphabet, repeated: every text is a window of it, so making one is a copy.
const TEXT: [u8; TEXT_CHARS + LETTERS] = {
    let mut text = [0; TEXT_CHARS + LETTERS];
    let mut at = 0;
    while at < text.len() {
        text[at] = b'a' + (at % LETTERS) as u8;
        at += 1;
    }
    text
};

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub c1: i64,
    /// When its transaction began, nanoseconds since 1970.
    pub c2: i64,
    /// A text derived from the key.
    pub c3: [u8; TEXT_CHARS],
    /// The session that inserted it.
    pub c4: i32,
    /// Its place in its transaction.
    pub c5: i32,
    /// Number of rows that its session had inserted before.
    pub c6: i64,
}

impl Row {
    /// A row with this key and the text derived from it.
    #[inline]
    pub fn new(c1: i64, c2: i64, c4: i32, c5: i32, c6: i64) -> Self {
        Self { c1, c2, c3: text(c1), c4, c5, c6 }
    }

    /// Appends the row in the log's format.
    #[inline]
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let mut row = [0; ROW_BYTES];
        row[0..8].copy_from_slice(&self.c1.to_le_bytes());
        row[8..16].copy_from_slice(&self.c2.to_le_bytes());
        row[16..127].copy_from_slice(&self.c3);
        row[128..132].copy_from_slice(&self.c4.to_le_bytes());
        row[132..136].copy_from_slice(&self.c5.to_le_bytes());
        row[136..144].copy_from_slice(&self.c6.to_le_bytes());
        bytes.extend_from_slice(&row);
    }

    /// Reads a row from the log; `None` if it is incomplete or its text is not that of its key.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let row: &[u8; ROW_BYTES] = bytes.try_into().ok()?;
        let long = |at: usize| row[at..at + 8].try_into().ok().map(i64::from_le_bytes);
        let short = |at: usize| row[at..at + 4].try_into().ok().map(i32::from_le_bytes);
        let c3 = row[16..127].try_into().ok()?;
        let row = Self { c1: long(0)?, c2: long(8)?, c3, c4: short(128)?, c5: short(132)?, c6: long(136)? };
        (row.c3 == text(row.c1)).then_some(row)
    }
}

#[inline]
fn text(key: i64) -> [u8; TEXT_CHARS] {
    let from = key.rem_euclid(LETTERS as i64) as usize;
    let mut text = [0; TEXT_CHARS];
    text.copy_from_slice(&TEXT[from..from + TEXT_CHARS]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_bytes_and_no_damaged_one_does() {
        let row = Row::new(-5, 1 << 60, 3, 1, 77);
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        assert_eq!(bytes.len(), ROW_BYTES);
        assert_eq!(Row::decode(&bytes), Some(row));
        assert_eq!(Row::decode(&bytes[1..]), None);
        bytes[20] ^= 1;
        assert_eq!(Row::decode(&bytes), None);
    }

    #[test]
    fn texts_are_letters_that_follow_from_the_key() {
        assert!(text(7).iter().all(u8::is_ascii_lowercase));
        assert_eq!(text(1)[0], b'b');
        assert_eq!(text(-1)[0], b'z');
        assert_ne!(text(1), text(2));
    }
}
