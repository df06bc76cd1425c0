//! The loops that are timed. What limits each stands with its assembly.

/// A loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Independent integer adds, limited by issue width; a step is 8 adds.
    Wide,
    /// One chain of dependent adds, limited by latency; a step is one add, one cycle.
    Chain,
    /// Loads and stores inside the first-level cache, limited by the load and store ports.
    LoadStore,
}

/// Adds in one step of [`Kernel::Wide`].
pub const WIDE_ADDS_PER_STEP: f64 = 8.0;
