//! What a workload calls its work: rows and sessions, queries and streams, runs and processes. The
//! analysis has one set of names (a query counts as a row); every renderer takes its words from here.

use threadwise_analysis::commands::SAID;
use threadwise_study::Study;
use threadwise_study::tpch::{self, Test};

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

/// Queries that take turns: throughput is a geometric mean over them.
const QUERIES_IN_TURN: Words =
    Words { rate: "queries/s (geo. mean)", rate_in_full: "Queries per second (geometric mean)", ..QUERIES };

const RUNS: Words = Words {
    rate: "runs/s",
    rate_in_full: "Runs per second",
    cpu: "CPU/run",
    row: "run",
    session: "process",
    sessions: "processes",
};

/// Whether a workload consists of queries.
pub fn has_queries(workload: &str) -> bool {
    workload == tpch::WORKLOAD
}

/// The words of a study's workload.
pub fn words(study: &Study) -> Words {
    if has_runs(study) {
        return RUNS;
    }
    match has_queries(&study.workload) {
        true if is_power(study) => QUERIES_IN_TURN,
        true => QUERIES,
        false => ROWS,
    }
}

/// Whether a study's work is runs of a command.
pub fn has_runs(study: &Study) -> bool {
    study.runs_whole()
}

/// Whether a study's queries take turns one by one, so that its throughput is a geometric mean over
/// queries and not how many end in an hour.
fn is_power(study: &Study) -> bool {
    let options = study.treatments.first().map(|first| &first.options);
    has_queries(&study.workload) && options.is_none_or(|options| tpch::test(options) == Test::Power)
}

/// A metric's name as people and programs read it. Of a workload of queries `cpu_ns_per_row` is
/// `cpu_ns_per_query`, and `rows_per_s` is `queries_per_s` where whole streams run; query by query it is
/// `queries_per_s_geometric`, the geometric mean over queries of 1 / execution time, as Power@Size of the
/// TPC-H specification (clause 5.4.1) has it.
pub fn metric_name(study: &Study, metric: &str) -> String {
    if has_runs(study) {
        return name_of_runs(metric);
    }
    if !has_queries(&study.workload) {
        return metric.to_owned();
    }
    if let Some(what) = metric.strip_suffix("_per_row") {
        return format!("{what}_per_query");
    }
    let rate = if is_power(study) { "queries_per_s_geometric" } else { "queries_per_s" };
    match metric.strip_prefix(crate::THROUGHPUT) {
        Some(rest) => format!("{rate}{}", rest.replace("session", "stream")),
        None => metric.to_owned(),
    }
}

/// `runs_per_s`, `cpu_ns_per_run`; what a command's output said keeps the name that its user gave it.
fn name_of_runs(metric: &str) -> String {
    match (metric.strip_suffix("_per_row"), metric.strip_prefix(crate::THROUGHPUT)) {
        _ if metric.starts_with(SAID) => metric.to_owned(),
        (Some(what), _) => format!("{what}_per_run"),
        (None, Some(rest)) => format!("runs_per_s{}", rest.replace("session", "process")),
        (None, None) => metric.to_owned(),
    }
}
