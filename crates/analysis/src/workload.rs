//! What a workload calls its work, and which one is treated apart.

use threadwise_study::Study;

/// What a workload calls its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nouns {
    /// Unit of throughput, as a column heading.
    pub rate: &'static str,
    /// The same in full, at the start of a sentence.
    pub rate_in_full: &'static str,
    /// Unit of CPU cost, as a column heading.
    pub cpu: &'static str,
    /// One unit of work.
    pub row: &'static str,
    /// One that works.
    pub session: &'static str,
    /// Several.
    pub sessions: &'static str,
    /// What its rows are to people, many of them: `reads`.
    pub noun: &'static str,
    /// One of them: `inserted row`, as in "CPU per inserted row".
    pub noun_one: &'static str,
    /// What more than linear scaling can come from.
    pub causes: &'static str,
}

/// Whether a study's workload is that of cached reads.
pub fn reads_cached(study: &Study) -> bool {
    study.workload == "logical-io"
}
