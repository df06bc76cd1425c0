//! Options of the workloads of steps, checked without a server.

use threadwise_engine::workloads::logical_io;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::{Spec, SqlWorkload};
use threadwise_study::Workload;

use crate::dialect::{BLOCK_BYTES, DIALECT, ROW_BYTES};
use crate::error::refuse;

/// Workloads of this engine.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload::LogicalIo,
    Workload::Insert,
    Workload::ParallelScan,
    Workload::Tpch,
    Workload::Transaction,
    Workload::Burn,
];

/// Bytes of an index entry with its pointer, at a fill of 90%, and its share of upper levels.
const INDEX_ENTRY_BYTES: u64 = 24;

/// Rows that a run of fixed time is given room for; beyond these, pages would be written out during the run.
const ROOM_ROWS: u64 = 1_000_000;

/// Reads and checks a request's options of a workload of steps.
///
/// # Errors
/// The first option that is impossible.
pub fn parse(load: &LoadRequest) -> Result<SqlWorkload, EngineError> {
    let mut workload = SqlWorkload::parse(DIALECT.engine, load, WORKLOADS, &[])?;
    match &mut workload.spec {
        Spec::LogicalIo(spec) => {
            if !load.options.contains_key("blocks") && load.options.contains_key("data_mib") {
                // The workload counts in its own blocks; the amount of data stays the same.
                spec.blocks = spec.blocks * logical_io::BLOCK_BYTES / BLOCK_BYTES;
            }
            if spec.work_unit > spec.blocks || spec.hot_blocks > spec.blocks {
                let why =
                    format!("this is {} blocks of 8 KiB, less than work_unit or hot_blocks", spec.blocks);
                return Err(refuse("data_mib", why));
            }
        }
        Spec::Insert(spec) => spec.no_single_batch(DIALECT.engine)?,
        Spec::Transaction(_) => {}
    }
    Ok(workload)
}

/// Bytes of tables and indexes of all sessions, with what a run adds.
pub(crate) fn data_bytes(workload: &SqlWorkload, sessions: u32) -> u64 {
    match &workload.spec {
        Spec::LogicalIo(spec) => {
            u64::from(workload.tables(sessions)) * spec.blocks * (BLOCK_BYTES + INDEX_ENTRY_BYTES)
        }
        Spec::Insert(spec) => {
            let inserted = spec.rows_per_session.map_or(ROOM_ROWS, |rows| rows * u64::from(sessions));
            (spec.seed_rows + inserted) * ROW_BYTES
        }
        Spec::Transaction(_) => 0,
    }
}
