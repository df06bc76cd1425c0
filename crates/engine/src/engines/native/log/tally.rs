//! What appending costs a session.

use super::super::locks::Waits;

/// What a session's appends cost so far; only the session itself counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Of the log's lock; without one, each atomic addition is an acquisition.
    pub lock: Waits,
    /// Times that the ring was full.
    pub full_waits: u64,
    /// Bytes appended.
    pub bytes: u64,
    /// How far the writer was when this session last looked.
    pub(super) drained_seen: u64,
}
