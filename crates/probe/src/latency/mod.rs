//! Cache-line latency between logical CPUs: how far a line has to go.
//!
//! Two threads pass a line to and fro. Two methods are interleaved, since each has its own faults, and
//! should find the same levels. Method, reasons and figures: docs/PROBE.md; what moves in each method:
//! [`Method`]. On large machines most pairs are inferred and checked with a drawn sample.

mod agree;
mod declared;
mod figures;
mod infer;
mod levels;
mod live;
mod pass;
mod plan;
mod survey;

pub use agree::{Agreement, methods_agree};
pub use levels::{MIN_RATIO, cuts, level_of};
pub use live::LiveLines;
pub use plan::{ALL_PAIRS_UP_TO, MOST_AT_ONCE, Plan, SAMPLES, plan, tournament};

use crate::bench::ProbeError;
use declared::Declared;
use survey::Survey;
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
    /// A logical CPU cannot be had, the clock is too coarse, or the user asked to stop.
    fn run(
        &mut self,
        method: Method,
        pairs: &[(u32, u32)],
        samples: u32,
    ) -> Result<Vec<Vec<f64>>, ProbeError>;
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Logical CPUs.
    pub cpus: &'a [u32],
    /// Declared cores; a logical CPU in none is taken for a core of its own.
    pub cores: &'a [CpuSet],
    /// Declared LLC domains.
    pub llcs: &'a [CpuSet],
    /// Declared packages.
    pub packages: &'a [CpuSet],
    /// How much is measured.
    pub form: ProbeForm,
    /// Of order and of the drawn pairs.
    pub seed: u64,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latencies {
    /// Measured pairs, ascending.
    pub pairs: Vec<PairLatency>,
    /// Levels, nearest first.
    pub levels: Vec<LatencyLevel>,
    /// What could not be had or is in doubt, one line each.
    pub gaps: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Measures, infers and checks. `progress` is told the share that is done, 0 to 1, ascending.
///
/// # Errors
/// Those of the bench, except [`ProbeError::Stopped`], which keeps what was measured.
pub fn measure(
    bench: &mut dyn LineBench,
    request: &Request<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Latencies, ProbeError> {
    let declared = Declared::new(request);
    if declared.len() < 2 {
        let gap = "cache-line latency needs two logical CPUs and there is one: nothing to measure";
        return Ok(Latencies { gaps: vec![gap.to_owned()], ..Latencies::default() });
    }
    let mut survey = Survey::new(bench, &declared, request, progress);
    let interrupted = match survey.take() {
        Ok(()) => false,
        Err(ProbeError::Stopped) => true,
        Err(error) => return Err(error),
    };
    Ok(survey.conclude(interrupted))
}
