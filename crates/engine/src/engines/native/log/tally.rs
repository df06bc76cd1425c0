//! Cost of appending to the log.

use super::super::locks::Waits;

/// Cost of a session's appends so far; only the session itself counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Waits of the log's lock; without a lock, each atomic addition is an acquisition.
    pub lock: Waits,
    /// Times that the ring was full.
    pub full_waits: u64,
    /// Bytes appended.
    pub bytes: u64,
    /// Up to where the writer had taken records when this session last looked.
    pub(super) drained_seen: u64,
}
