//! What a workload calls its work: rows and sessions, or queries and streams. The analysis has one
//! set of names (a query counts as a row); every renderer takes its words from here.

use threadwise_study::{Study, tpch};

/// The words of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Unit of throughput, as a column heading.
    pub rate: &'static str,
    /// The same in full, at the start of a sentence.
    pub rate_in_full: &'static str,
    /// Unit of CPU cost, as a column heading.
    pub cpu: &'static str,
    /// One unit of work.
    pub row: &'static str,
    /// One connection that works.
    pub session: &'static str,
    /// Several.
    pub sessions: &'static str,
}

const ROWS: Words = Words {
    rate: "rows/s",
    rate_in_full: "Rows per second",
    cpu: "CPU/row",
    row: "row",
    session: "session",
    sessions: "sessions",
};

const QUERIES: Words = Words {
    rate: "queries/s",
    rate_in_full: "Queries per second",
    cpu: "CPU/query",
    row: "query",
    session: "stream",
    sessions: "streams",
};

/// Whether a workload consists of queries.
pub fn has_queries(workload: &str) -> bool {
    workload == tpch::WORKLOAD
}

/// The words of a study's workload.
pub fn words(study: &Study) -> Words {
    if has_queries(&study.workload) { QUERIES } else { ROWS }
}

/// A metric's name as people and programs read it: `rows_per_s` of a workload of queries is
/// `queries_per_s`, `cpu_ns_per_row` is `cpu_ns_per_query`.
pub fn metric_name(workload: &str, metric: &str) -> String {
    match metric.strip_suffix("_per_row") {
        _ if !has_queries(workload) => metric.to_owned(),
        Some(what) => format!("{what}_per_query"),
        None if metric == crate::THROUGHPUT => "queries_per_s".to_owned(),
        None => metric.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_queries_have_names_of_their_own() {
        let named = ["rows_per_s", "cpu_ns_per_row", "busy_share"].map(|name| metric_name("tpch", name));
        assert_eq!(named, ["queries_per_s", "cpu_ns_per_query", "busy_share"]);
        assert_eq!(metric_name("logical-io", "rows_per_s"), "rows_per_s");
    }
}
