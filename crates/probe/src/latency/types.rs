//! Requests to a latency bench, and its results.

use crate::bench::ProbeError;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{LatencyLevel, PairLatency, ProbeForm};

/// How two threads pass lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Both compare and swap one line in turn. A round trip moves the line twice, once to each.
    Cas,
    /// Each writes its own line and reads the other's. A round trip moves lines four times: before a
    /// writer can store, it takes its line back from the reader that was polling it, and then the
    /// reader fetches it again.
    TwoLines,
}

impl Method {
    /// Moves of a line from one logical CPU to the other in one round trip.
    pub fn moves_per_round_trip(self) -> u32 {
        match self {
            Self::Cas => 2,
            Self::TwoLines => 4,
        }
    }
}

/// Passes lines between pairs of logical CPUs.
pub trait LineBench {
    /// Runs `method` on disjoint `pairs` at the same time. For each pair, in the order of `pairs`, it
    /// gives up to `samples` one-way times in nanoseconds: each the mean over a batch of round trips,
    /// divided by the moves in a round trip. Fewer, or none, where batches did not finish in time.
    ///
    /// # Errors
    /// A logical CPU is not available, the clock is too coarse, or the user asked to stop.
    fn run(
        &mut self,
        method: Method,
        pairs: &[(u32, u32)],
        samples: u32,
    ) -> Result<Vec<Vec<f64>>, ProbeError>;
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Logical CPUs.
    pub cpus: &'a [u32],
    /// Declared cores; a logical CPU in none counts as its own core.
    pub cores: &'a [CpuSet],
    /// Declared LLC domains.
    pub llcs: &'a [CpuSet],
    /// Declared packages.
    pub packages: &'a [CpuSet],
    /// How much is measured.
    pub form: ProbeForm,
    /// Seed of the order and of the sampled pairs.
    pub seed: u64,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latencies {
    /// Measured pairs, ascending.
    pub pairs: Vec<PairLatency>,
    /// Levels, nearest first.
    pub levels: Vec<LatencyLevel>,
    /// What is missing or in doubt, one line each.
    pub gaps: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Two positions, the lower first.
pub(super) type Pair = (usize, usize);
