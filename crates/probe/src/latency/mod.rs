//! Cache-line latency between logical CPUs.
//!
//! Two threads pass a line back and forth. Two methods are interleaved, since each has its own faults, and
//! should find the same levels. Method, reasons and figures: docs/PROBE.md; what moves in each method:
//! [`Method`]. On large machines most pairs are inferred and checked with a random sample.

mod agree;
mod declared;
mod figures;
mod infer;
mod levels;
mod live;
pub(crate) mod pass;
mod plan;
mod survey;
mod types;

pub(crate) use figures::quantile;

pub use agree::{Agreement, methods_agree};
pub use live::LiveLines;
pub use plan::{ALL_PAIRS_UP_TO, MOST_AT_ONCE, Plan, SAMPLES, plan, tournament};
pub use threadwise_study::look::valleys::{MIN_RATIO, cuts, level_of};
pub use types::{Latencies, LineBench, Method, Request};

use crate::bench::ProbeError;
use declared::Declared;
use survey::Survey;

/// Measures, infers and checks. `progress` gets the finished share, 0 to 1, ascending.
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
        let gap = "cache-line latency needs two logical CPUs; there is one";
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
