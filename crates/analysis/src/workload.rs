//! Words of workloads for their work, and the workload with special treatment.

use threadwise_study::Study;

/// Words of a workload for its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nouns {
    /// Unit of throughput, as a column heading.
    pub rate: &'static str,
    /// Unit of throughput in full, at the start of a sentence.
    pub rate_in_full: &'static str,
    /// Unit of CPU cost, as a column heading.
    pub cpu: &'static str,
    /// One unit of work.
    pub row: &'static str,
    /// One that works.
    pub session: &'static str,
    /// Several.
    pub sessions: &'static str,
    /// Its rows in words, plural: `reads`.
    pub noun: &'static str,
    /// Singular: `inserted row`, as in "CPU per inserted row".
    pub noun_one: &'static str,
    /// Possible causes of more than linear scaling.
    pub causes: &'static str,
}

/// Whether a study's workload is that of cached reads.
pub fn reads_cached(study: &Study) -> bool {
    study.workload == "logical-io"
}
