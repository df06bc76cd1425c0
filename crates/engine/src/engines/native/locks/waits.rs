//! Cost of taking a lock.

/// Cost of a session's acquisitions so far; only the session itself counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that found the lock taken.
    pub contended: u64,
    /// Looks at a lock while waiting for it.
    pub spins: u64,
    /// Nanoseconds from the first of these looks until the lock is taken.
    pub spin_ns: u64,
    /// Times that a waiter yielded its logical CPU.
    pub yields: u64,
}
