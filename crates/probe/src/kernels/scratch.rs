//! Memory for the kernels: one page of each thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words in each half of a scratch.
pub(super) const WORDS: usize = 256;

/// Memory that a kernel reads and writes: one page of its thread, so it stays in the first-level cache.
///
/// Loads and stores use different halves of the page, since a load whose
/// low 12 address bits equal those of an earlier store waits for it ("4K aliasing", Intel 64 and
/// IA-32 Architectures Optimization Reference Manual, section on store forwarding).
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Scratch {
    /// Only read. The first word is the operand of the adds, the words after it are their initial values.
    pub(super) loaded: [AtomicU64; WORDS],
    /// Only written.
    pub(super) stored: [AtomicU64; WORDS],
}

impl Scratch {
    /// A scratch on the heap, filled with numbers that do not repeat.
    pub fn new() -> Box<Self> {
        // Odd multiples of 2^64 divided by the golden ratio: well spread, and never zero.
        let spread =
            |index: usize| AtomicU64::new((2 * index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Box::new(Self {
            loaded: std::array::from_fn(spread),
            stored: std::array::from_fn(|_| AtomicU64::new(0)),
        })
    }

    /// A word of the half that is only read.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.loaded[index].load(Ordering::Relaxed)
    }
}
