//! What taking a lock costs a session.

/// What a session's acquisitions cost so far; only the session itself counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that found the lock taken.
    pub contended: u64,
    /// Looks at a lock that was waited for.
    pub spins: u64,
    /// Nanoseconds from the first of these looks to the lock being taken.
    pub spin_ns: u64,
    /// Times that a waiter gave its logical CPU away.
    pub yields: u64,
}
