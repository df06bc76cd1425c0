//! The log buffer's memory: a ring of cache lines.
//!
//! The log's counters decide which part a thread may write or read; this module only copies. Words are
//! atomic because sessions and the writer share them, and are accessed relaxed: the store of a record's tag,
//! or of a counter, and the load that sees it order them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::record::UNIT_BYTES;

const WORD_BYTES: usize = 8;

/// A line is as long as a unit of records, and aligned, so that sessions write into different lines.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; UNIT_BYTES / WORD_BYTES]);

/// A ring of a power of two of bytes, addressed by log sequence numbers.
#[derive(Debug)]
pub struct Ring(Box<[Line]>);

impl Ring {
    /// A ring of at least this many bytes, zeroed by the calling thread.
    pub fn new(bytes: usize) -> Self {
        let lines = bytes.div_ceil(UNIT_BYTES).next_power_of_two();
        Self((0..lines).map(|_| Line::default()).collect())
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        (self.0.len() * UNIT_BYTES) as u64
    }

    #[inline]
    fn index(&self, lsn: u64) -> usize {
        (lsn / UNIT_BYTES as u64) as usize & (self.0.len() - 1)
    }

    /// The lines from a place on.
    #[inline]
    fn lines(&self, lsn: u64, bytes: usize) -> impl Iterator<Item = &Line> {
        let (at, lines) = (self.index(lsn), bytes / UNIT_BYTES);
        let first = lines.min(self.0.len() - at);
        self.0[at..at + first].iter().chain(&self.0[..lines - first])
    }

    /// Copies a record, and then stores its tag.
    #[inline]
    pub fn put(&self, lsn: u64, record: &[u8], tag: u64) {
        let tag_word = &self.0[self.index(lsn)].0[0];
        for (place, (line, bytes)) in self.lines(lsn, record.len()).zip(record.as_chunks().0).enumerate() {
            let bytes: &[u8; UNIT_BYTES] = bytes;
            let words = line.0.iter().zip(bytes.as_chunks().0);
            for (word, bytes) in words.skip(usize::from(place == 0)) {
                word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            }
        }
        // Last, and Release: a thread that sees the tag sees the record.
        tag_word.store(tag, Ordering::Release);
    }

    /// The tag at a place, 0 where none has been stored since it was last wiped.
    #[inline]
    pub fn tag(&self, lsn: u64) -> u64 {
        self.0[self.index(lsn)].0[0].load(Ordering::Acquire)
    }

    /// Appends the content between two places to `bytes`.
    pub fn take(&self, lsn: u64, count: usize, bytes: &mut Vec<u8>) {
        for line in self.lines(lsn, count) {
            let mut copy = [0; UNIT_BYTES];
            for (bytes, word) in copy.as_chunks_mut().0.iter_mut().zip(&line.0) {
                *bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
            bytes.extend_from_slice(&copy);
        }
    }

    /// Stores 0 wherever a tag may stand between two places.
    pub fn wipe_tags(&self, lsn: u64, bytes: usize) {
        self.lines(lsn, bytes).for_each(|line| line.0[0].store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_wrap_and_come_back_with_their_tags() {
        let ring = Ring::new(256);
        assert_eq!(ring.bytes(), 256);
        let record: Vec<u8> = (0..192).map(|at| at as u8).collect();
        for lsn in [0, 64, 128, 192, 256 * 1000 + 192] {
            ring.put(lsn, &record, 77);
            assert_eq!(ring.tag(lsn), 77);
            let mut bytes = vec![1];
            ring.take(lsn, 192, &mut bytes);
            assert_eq!((bytes[0], &bytes[1..9]), (1, 77_u64.to_le_bytes().as_slice()));
            assert_eq!(bytes[9..], record[8..]);
            ring.wipe_tags(lsn, 192);
            assert!([0, 64, 128].iter().all(|unit| ring.tag(lsn + unit) == 0));
        }
    }
}
