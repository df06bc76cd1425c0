//! What appending costs a session.

/// What a session's appends cost so far; only the session itself counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Times that room was asked for: acquisitions of the lock, or atomic additions.
    pub acquisitions: u64,
    /// Acquisitions that found the lock taken.
    pub contended: u64,
    /// Looks at a lock that was waited for.
    pub spins: u64,
    /// Nanoseconds from the first of these looks to the lock being taken.
    pub spin_ns: u64,
    /// Times that a waiter gave its logical CPU away.
    pub yields: u64,
    /// Times that the ring was full.
    pub full_waits: u64,
    /// Bytes appended.
    pub bytes: u64,
    /// How far the writer was when this session last looked.
    pub(super) drained_seen: u64,
}
