//! Looks: where a hypervisor ran our logical CPUs at one moment, and how they are judged.
//!
//! What was seen is kept as it is; [`follow`] judges it by [`Levels`], which come from many looks. Method
//! and figures: docs/PROBE.md, "Looks".

pub mod follow;
mod levels;
pub mod valleys;

use serde::Serialize;

pub use levels::{BUSY_BELOW, FREE_ADDS, HALF_BELOW, Levels, SIBLINGS_AT_MOST_NS, best_level};

/// What was seen at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Look {
    /// When it began, nanoseconds since the study's start, or since its lookers were made.
    pub start_ns: u64,
    /// Until the last one had finished, nanoseconds.
    pub took_ns: u64,
    /// One entry a logical CPU, in the order asked for.
    pub cpus: Vec<CpuLook>,
    /// One entry a pair, in the order asked for.
    pub pairs: Vec<PairLook>,
    /// What two had without each other; `None` where that was not seen.
    pub alone: Option<Alone>,
}

/// The widths of two logical CPUs, each while the other stood still and all the rest went on: if that one is what
/// slows it, it has its core's whole width then. Numbers have three decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone {
    /// OS number.
    pub a: u32,
    /// OS number.
    pub b: u32,
    /// Adds of the wide kernel per step of the latency-limited one of `a`, while `b` stood still.
    pub a_adds_per_step: f64,
    /// The same of `b`, while `a` stood still.
    pub b_adds_per_step: f64,
}

/// One logical CPU in a look. Numbers have three decimals, which is what the result file holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuLook {
    /// OS number.
    pub cpu: u32,
    /// A step of the latency-limited kernel, which is one cycle, nanoseconds; `None` where it did not run
    /// in time.
    pub chain_ns: Option<f64>,
    /// Adds of the wide kernel per step of the latency-limited one, while all others ran it too, the most where they
    /// did so before and after a test; `None`
    /// where it did not run in time, or where the widths of the architecture are not known.
    pub adds_per_step: Option<f64>,
}

/// Two logical CPUs in a look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairLook {
    /// OS number.
    pub a: u32,
    /// OS number.
    pub b: u32,
    /// One move of a cache line, nanoseconds, with three decimals: the least of some batches; `None` where
    /// it did not get to and fro within the deadline.
    pub line_ns: Option<f64>,
}

/// When a look was taken, beside its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Right before it.
    Before,
    /// While it ran.
    During,
    /// Right after it.
    After,
}

impl Moment {
    /// The word that the result file, JSON and CSV have.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::After => "after",
        }
    }
}

/// A look that belongs to a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceLook {
    /// When.
    pub moment: Moment,
    /// What was seen.
    pub look: Look,
}

/// A number as the result file holds it: with three decimals.
pub fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
