//! Wake-ups of sleeping threads, by the distance of their logical CPUs and by what wakes them.
//!
//! Methods: docs/PROBE.md, "Wake-ups".

use serde::{Deserialize, Serialize};
use threadwise_machine::placement::Locality;

/// Time in which one thread wakes another: half of a round trip in which each sleeps until the other wakes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wakeup {
    /// What the two logical CPUs share, as declared.
    pub distance: Locality,
    /// The lower OS number.
    pub a: u32,
    /// The higher OS number; with [`Locality::SameCpu`] the same one.
    pub b: u32,
    /// What wakes a thread.
    pub method: WakeMethod,
    /// For how long each logical CPU was idle at least before it was woken, nanoseconds; 0 without a pause.
    pub idle_ns: u64,
    /// Smallest sample; it may be of a thread that had not gone to sleep yet.
    pub min_ns: f64,
    /// Median over blocks of their medians.
    pub median_ns: f64,
    /// Lower end of the median's interval over blocks, at 95% or more.
    pub median_low_ns: f64,
    /// Its upper end.
    pub median_high_ns: f64,
    /// Ninetieth percentile of the samples.
    pub p90_ns: f64,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of samples.
    pub samples: u32,
}

/// What wakes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeMethod {
    /// futex(2), as locks and condition variables use it.
    Futex,
    /// A byte in a pipe.
    Pipe,
    /// A byte over a TCP connection by the loopback interface, with TCP_NODELAY: how a client and a server on one
    /// machine wake each other.
    Tcp,
}

impl WakeMethod {
    /// All.
    pub const ALL: [Self; 3] = [Self::Futex, Self::Pipe, Self::Tcp];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Futex => "futex",
            Self::Pipe => "pipe",
            Self::Tcp => "TCP",
        }
    }
}
