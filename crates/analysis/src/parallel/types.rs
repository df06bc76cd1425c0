//! What is known of the processes of parallel scans, as JSON has it (docs/JSON.md).

use super::Gap;
use crate::{Interval, Ratio};
use serde::{Serialize, Serializer};

/// What the processes of a study's queries did, by treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parallel {
    /// In study order.
    pub treatments: Vec<TreatmentParallel>,
}

/// The same of one treatment. Intervals are over blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreatmentParallel {
    /// Its name.
    pub treatment: String,
    /// Requested degree of parallelism; `None` where it is the placement's number of logical CPUs.
    pub dop: Option<u32>,
    /// Processes that took part in a scan, on average.
    pub processes: Option<f64>,
    /// Blocks in which its processes were counted.
    pub blocks: u32,
    /// Scans that were looked at closely enough, and those that were not.
    pub scans: u64,
    /// See `scans`.
    pub unsampled_scans: u64,
    /// Share of the rows of each process, the largest first: of every slice, on average.
    pub row_shares: Vec<f64>,
    /// Share of the processes' running time in which a sibling was busy with the same query.
    pub sibling_busy: Option<Interval>,
    /// Rows a second beside a busy sibling over those of a process alone.
    #[serde(serialize_with = "ratio")]
    pub ratio: Option<Ratio>,
    /// Blocks that the ratio is from.
    pub ratio_blocks: u32,
    /// Why there is no ratio.
    pub gap: Option<Gap>,
    /// What equal parts would have taken longer than parts by rate, at the rates that processes had, a share.
    pub equal_loss: Option<Interval>,
    /// Share of the processes' time in which they had ended and others had not.
    pub idle_tail: Option<Interval>,
    /// CPU time that looking took, as a share of the scans' time.
    pub looking: Option<Interval>,
}

fn ratio<S: Serializer>(ratio: &Option<Ratio>, to: S) -> Result<S::Ok, S::Error> {
    match ratio {
        Some(ratio) => ratio.judged(to),
        None => to.serialize_none(),
    }
}
