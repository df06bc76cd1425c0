//! What is known of short queries under one treatment.

use serde::Serialize;

use crate::{Interval, Ratio};

/// Short queries of one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShortQueries {
    /// Treatment name.
    pub treatment: String,
    /// Placement text.
    pub placement: String,
    /// Requested DOP of the streams' queries.
    pub dop: u32,
    /// Streams.
    pub streams: u32,
    /// Sessions of short queries.
    pub sessions: u32,
    /// Blocks that count.
    pub blocks: u32,
    /// Fewest short queries of a block: percentiles need 1,000.
    pub fewest_in_a_block: u64,
    /// Short queries per second, of all its sessions together.
    pub short_per_s: Option<Interval>,
    /// Median latency.
    pub latency_ns_p50: Option<Interval>,
    /// 99th percentile of the latency.
    pub latency_ns_p99: Option<Interval>,
    /// Treatment with the lowest DOP of the same placement; its own name where it is that one.
    pub lowest: String,
    /// The 99th percentile over that of `lowest`: above 1 is slower. `None` of the lowest, and where it is not known.
    pub p99: Option<Ratio>,
    /// Queries per hour of the streams over those of `lowest`: above 1 is more.
    pub throughput: Option<Ratio>,
}
