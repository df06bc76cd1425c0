//! `logical-io` on PostgreSQL: tables of one row a block, one per session, read by index.

mod session;

use postgres::Client;
use threadwise_engine::workloads::logical_io::{BLOCK_BYTES, LogicalIo};
use threadwise_engine::workloads::options::{Loop, place_of_loop};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use super::sql::{execute, fill};
use super::tables::is_loaded;
use crate::Server;
use crate::error::{failed, query};
pub(super) use session::IoSession;

/// PostgreSQL's own block.
const PG_BLOCK_BYTES: u64 = 8192;

/// Bytes of an index entry with its pointer, at a fill of 90%, and its share of upper levels.
const INDEX_ENTRY_BYTES: u64 = 24;

/// The workload's options, in this engine's blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    pub(super) io: LogicalIo,
    pub(super) place: Loop,
}

impl Work {
    pub(super) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        let mut io = LogicalIo::parse(&load.options)?;
        if !load.options.contains_key("blocks") && load.options.contains_key("data_mib") {
            // The workload counts in its own blocks; the amount of data stays the same.
            io.blocks = io.blocks * BLOCK_BYTES / PG_BLOCK_BYTES;
        }
        if io.work_unit > io.blocks || io.hot_blocks > io.blocks {
            return Err(EngineError::Option {
                option: "data_mib".into(),
                why: format!("this is {} blocks of 8 KiB, less than work_unit or hot_blocks", io.blocks),
            });
        }
        Ok(Self { io, place: place_of_loop(&load.options)? })
    }

    pub(super) fn data_bytes(&self, sessions: u32) -> u64 {
        let tables = if self.io.shared { 1 } else { u64::from(sessions) };
        tables * self.io.blocks * (PG_BLOCK_BYTES + INDEX_ENTRY_BYTES)
    }

    pub(super) fn table(&self, session: u32, suffix: &str) -> String {
        let number = if self.io.shared { 0 } else { session };
        match suffix {
            "" => format!("blocks_{number}"),
            suffix => format!("blocks_{suffix}_{number}"),
        }
    }

    pub(super) fn tables(&self, sessions: u32, suffix: &str) -> Vec<String> {
        let count = if self.io.shared { 1 } else { sessions };
        (0..count).map(|session| self.table(session, suffix)).collect()
    }
}

/// Makes the tables that do not exist yet.
pub(super) fn load(
    control: &mut Client,
    server: &Server,
    request: &LoadRequest,
    workload: &Work,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    for table in workload.tables(request.sessions, suffix) {
        if !is_loaded(control, server.schema(), &table)? {
            make(control, server.schema(), &table, workload.io.blocks, request.seed)?;
        }
    }
    let bytes = workload.data_bytes(1);
    Ok(Loaded {
        bytes_per_session: bytes,
        rows_per_session: workload.io.blocks,
        notes: vec![format!(
            "{} rows on {} blocks of {PG_BLOCK_BYTES} bytes, one row a block (proved by ctid and file size)",
            workload.io.blocks, workload.io.blocks
        )],
    })
}

fn make(control: &mut Client, schema: &str, table: &str, blocks: u64, seed: u64) -> Result<(), EngineError> {
    let (blocks_text, seed_text) = (blocks.to_string(), seed.cast_signed().to_string());
    let values = [("schema", schema), ("table", table), ("blocks", &blocks_text), ("seed", &seed_text)];
    let action = format!("load {blocks} rows into {schema}.{table}");
    execute(control, &action, &fill(include_str!("create.sql"), &values))?;
    execute(control, &action, &fill(include_str!("fill.sql"), &values))?;
    execute(control, &format!("index {schema}.{table}"), &fill(include_str!("index.sql"), &values))?;
    // Sets what a later reader would otherwise write: hint bits, frozen rows, the visibility map.
    execute(
        control,
        &format!("vacuum {schema}.{table}"),
        &format!("VACUUM (FREEZE, ANALYZE) {schema}.{table}"),
    )?;
    prove(control, &fill(include_str!("proof.sql"), &values), blocks)?;
    // Last: a table with its procedure is complete.
    execute(control, "create the procedure of a session", &fill(include_str!("procedure.sql"), &values))
}

/// Refuses a table that does not have one row on every block.
fn prove(control: &mut Client, sql: &str, blocks: u64) -> Result<(), EngineError> {
    let action = "check for one row a block";
    let row = control.query_one(sql, &[]).map_err(|cause| query(action, &cause))?;
    let read = |column: usize| row.try_get::<_, i64>(column).map_err(|cause| query(action, &cause));
    let (rows, with_rows, of_file) = (read(0)?, read(1)?, read(2)?);
    let wanted = blocks as i64;
    match (rows, with_rows, of_file) == (wanted, wanted, wanted) {
        true => Ok(()),
        false => Err(failed(
            action,
            format!(
                "{rows} rows are on {with_rows} of the table's {of_file} blocks, instead of {wanted} each"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use threadwise_study::{OptionValue, Options};

    fn work(pairs: &[(&str, OptionValue)]) -> Result<Work, EngineError> {
        Work::parse(&LoadRequest {
            workload: "logical-io".into(),
            options: pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: Options::new(),
            data_dir: PathBuf::new(),
            treatment: "a".into(),
            sessions: 2,
            seed: 1,
        })
    }

    #[test]
    fn data_in_mib_is_in_blocks_of_8_kib() {
        assert_eq!(work(&[("data_mib", OptionValue::Integer(64))]).unwrap().io.blocks, 8192);
        assert_eq!(work(&[("blocks", OptionValue::Integer(500))]).unwrap().io.blocks, 500);
        let message = work(&[("data_mib", OptionValue::Number(0.3))]).unwrap_err().to_string();
        assert!(message.contains("38 blocks of 8 KiB"), "{message}");
    }

    #[test]
    fn shared_data_is_one_table() {
        let apart = work(&[]).unwrap();
        assert_eq!(apart.tables(2, "x1"), ["blocks_x1_0", "blocks_x1_1"]);
        let shared = work(&[("shared", OptionValue::Flag(true))]).unwrap();
        assert_eq!(shared.tables(2, ""), ["blocks_0"]);
        assert_eq!(apart.data_bytes(2), 2 * shared.data_bytes(2));
    }
}
