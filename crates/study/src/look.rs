//! Looks: where a hypervisor ran our logical CPUs at one moment, and how they are judged.
//!
//! Looks are kept raw; [`follow`] judges them by [`Levels`], which come from many looks. Method and numbers:
//! docs/PROBE.md, "Looks".

pub mod follow;
mod levels;
pub mod valleys;

use serde::{Deserialize, Serialize};

pub use levels::{BUSY_BELOW, FREE_ADDS, FreeWidth, HALF_BELOW, Levels, SIBLINGS_AT_MOST_NS, best_level};

/// One look.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Start, nanoseconds since the study's start, or since its threads were started.
    pub start_ns: u64,
    /// Duration until the last logical CPU finished, nanoseconds.
    pub took_ns: u64,
    /// One entry per logical CPU, in the order requested.
    pub cpus: Vec<CpuLook>,
    /// One entry per pair, in the order requested.
    pub pairs: Vec<PairLook>,
    /// The test of two without each other; `None` if not run.
    pub alone: Option<Alone>,
}

/// The widths of two logical CPUs, each while the other stood still and all the rest ran: if the other one slows it, it
/// then has its core's whole width. Numbers have three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLook {
    /// OS number.
    pub cpu: u32,
    /// Duration of a step of the latency-limited kernel, which is one cycle, nanoseconds; `None` if it did not run in
    /// time.
    pub chain_ns: Option<f64>,
    /// Adds of the wide kernel per step of the latency-limited one while all others ran it too; the larger value if
    /// measured before and after a test; `None` if it did not run in time, or the architecture's widths are unknown.
    pub adds_per_step: Option<f64>,
}

/// Two logical CPUs in a look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairLook {
    /// OS number.
    pub a: u32,
    /// OS number.
    pub b: u32,
    /// One move of a cache line, nanoseconds, with three decimals: the minimum of some batches; `None` if the line did
    /// not return before the deadline.
    pub line_ns: Option<f64>,
}

/// When a look was taken, relative to its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Moment {
    /// Right before it.
    Before,
    /// While it ran.
    During,
    /// Right after it.
    After,
}

impl Moment {
    /// The word in the result file, JSON and CSV.
    pub fn word(self) -> &'static str {
        self.into()
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

/// Rounds a number to three decimals, as in the result file.
pub fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
