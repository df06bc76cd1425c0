//! Engines that are Python packages, and TPC-H: `cargo xtask lab engines`.

pub mod engine_command;
pub mod tpch;

/// Three queries on one engine, whose answers are checked.
#[test]
#[ignore = "laboratory: engines"]
fn smoke_queries_of_tpch_are_answered() {
    let bench = tpch::Bench::new();
    bench.write("duckdb", "queries = \"1,6,14\"", tpch::TWO);
    let report = bench.measured();
    assert_eq!(report["study"]["engine"], "duckdb", "{report}");
}
