//! `parallel-scan` on PostgreSQL: a leader and its parallel workers aggregate one table, and the answer says how many
//! rows each process aggregated, and when its first and its last rows were.
//!
//! The table is in the buffer pool of one server that all treatments share. PostgreSQL divides the work: a process that
//! is free takes the next blocks (`heap_parallelscan_nextpage` in `access/table/tableam.c`). The workload needs a
//! function in the server's own language and visible server processes, so it runs on private clusters alone.

mod looks;
mod processes;
mod session;
mod treatment;

use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::parallel_scan::{ParallelScan, value_sql};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_engine_sql::{Connection, Parameter, fill};
use threadwise_study::parallel::ROW_BYTES;

use super::tpch::MAX_DOP;
use crate::Server;
use crate::connection::PostgresConnection;
use crate::error::failed;
pub(crate) use treatment::Scans;

/// Increased whenever the same options give another table.
const FORMAT: u32 = 2;

/// A scan of a table that is larger than a quarter of the buffer pool goes through a small ring of buffers (`initscan`
/// in `access/heap/heapam.c`) and reads from the kernel's cache again.
const POOL_OF_TABLE: u64 = 4;

/// Reads and checks the options.
///
/// # Errors
/// The first option that is unknown or impossible; more than one session, whose workers could not be separated.
pub(super) fn parse(load: &LoadRequest) -> Result<ParallelScan, EngineError> {
    let sessions = load.sessions;
    if sessions > 1 {
        let why =
            format!("{sessions} sessions; parallel-scan has one, whose workers are its parallelism (dop)");
        return Err(refuse("sessions", why));
    }
    ParallelScan::parse(&load.options, MAX_DOP)
}

/// Bytes of the table.
fn data_bytes(scan: &ParallelScan) -> u64 {
    scan.rows.saturating_mul(ROW_BYTES)
}

/// Bytes that the buffer pool must hold.
pub(super) fn pool_bytes(scan: &ParallelScan) -> u64 {
    data_bytes(scan).saturating_mul(POOL_OF_TABLE)
}

/// The schema of the table and its function, which keeps it apart in a server with other data.
pub(super) fn schema_name(scan: &ParallelScan) -> String {
    format!("parallel_scan_{}", scan.rows)
}

/// Name of the table in its schema.
const TABLE: &str = "numbers";

/// Makes the table, or finds it complete.
pub(super) fn load(
    control: &mut PostgresConnection,
    server: &Server,
    scan: &ParallelScan,
    schema: &str,
) -> Result<Loaded, EngineError> {
    if !is_ours(server, schema) {
        return Err(not_ours());
    }
    let rows = scan.rows;
    let mut loaded = Loaded {
        rows_per_session: rows,
        notes: vec![format!(
            "one table of {rows} rows of two integers; the answer of every scan is checked: its rows, and a sum that is \
             known"
        )],
        ..Loaded::default()
    };
    if mark_of(control, schema)?.as_deref() == Some(mark(scan).as_str()) {
        return Ok(loaded);
    }
    let rows = rows.to_string();
    let values = [("schema", schema), ("table", TABLE), ("rows", rows.as_str()), ("value", &value_sql())];
    control.run(&format!("load {rows} rows"), &fill(include_str!("create.sql"), &values))?;
    // Sets what a later reader would otherwise write: hint bits, frozen rows, the visibility map.
    control.run("vacuum the table", &format!("VACUUM (FREEZE, ANALYZE) {schema}.{TABLE}"))?;
    // Last: a table with its mark is complete.
    let comment = format!("COMMENT ON TABLE {schema}.{TABLE} IS '{}'", mark(scan));
    control.run("mark the table as complete", &comment)?;
    loaded.bytes_per_session = data_bytes(scan);
    Ok(loaded)
}

/// Refuses a table that does not exist, or is not complete.
///
/// # Errors
/// It is missing or incomplete.
pub(super) fn must_be_whole(
    control: &mut PostgresConnection,
    server: &Server,
    scan: &ParallelScan,
    schema: &str,
) -> Result<(), EngineError> {
    match mark_of(control, schema)?.as_deref() {
        _ if !is_ours(server, schema) => Err(not_ours()),
        Some(found) if found == mark(scan) => Ok(()),
        _ => Err(failed("find the loaded table", format!("schema {schema} has none; load it before start"))),
    }
}

/// A schema of its own means a private server, on this machine.
fn is_ours(server: &Server, schema: &str) -> bool {
    !schema.is_empty() && server.is_local()
}

/// The error for a server that is not private.
pub(crate) fn not_ours() -> EngineError {
    let why = "parallel-scan makes a function in the server's own language, which needs a superuser, and samples its \
               processes: it runs on a private server (--engine postgres)";
    refuse("workload", why.into())
}

fn mark(scan: &ParallelScan) -> String {
    format!("threadwise parallel-scan {} rows format {FORMAT}, whole", scan.rows)
}

fn mark_of(control: &mut PostgresConnection, schema: &str) -> Result<Option<String>, EngineError> {
    let sql = "SELECT obj_description(to_regclass($1), 'pg_class')";
    let rows = control.rows("look for the table", sql, &[Parameter::Text(&format!("{schema}.{TABLE}"))])?;
    Ok(rows.first().and_then(|row| row.first()?.text()).map(str::to_owned))
}
