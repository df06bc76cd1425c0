//! All worker programs and their modules: name and text.

/// The program that makes the data set with lineitem ordered by its ship date.
pub const CLUSTER_BY_SHIPDATE: &str = "cluster_by_shipdate.py";
/// The program that counts the rows of a data set.
pub const COUNT_ROWS: &str = "count_rows.py";

/// A file by its name.
macro_rules! carried {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../workers/", $name)))),*]
    };
}

pub(super) const FILES: [(&str, &str); 14] = carried![
    "clickhouse_worker.py",
    "cluster_by_shipdate.py",
    "count_rows.py",
    "datafusion_worker.py",
    "duckdb_worker.py",
    "oracle_proxy.py",
    "threadwise_crew.py",
    "threadwise_failure.py",
    "threadwise_load.py",
    "threadwise_measure.py",
    "threadwise_plan.py",
    "threadwise_session.py",
    "threadwise_short.py",
    "threadwise_worker.py",
];
