//! `insert` on PostgreSQL: one table for all sessions of a treatment, in the shape of the published
//! measurements.

mod session;
mod statements;

use postgres::Client;
use std::io::Write;
use threadwise_engine::workloads::insert::{
    CHECK_MODULUS, Durability, Insert, RandomKeys, TEXT_CHARS, Table, key_check,
};
use threadwise_engine::workloads::options::{Loop, place_of_loop};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use super::shared::{Tally, expect};
use super::sql::{execute, fill};
use super::tables::is_loaded;
use crate::Server;
use crate::error::{failed, query};
pub(super) use session::InsertSession;

/// Bytes of a row with its item pointer (header 24, c1 and c2 8 each, c3 112 with its length, c4 and
/// c5, c6, pointer 4), and of its index entry on leaves that splits left half full.
pub(crate) const ROW_BYTES: u64 = 176 + 40;

/// Rows that a run of fixed time is given room for; beyond these, pages would be written out during the run.
const ROOM_ROWS: u64 = 1_000_000;

/// Bytes of one message of the load.
const COPY_BYTES: usize = 1 << 16;

/// The workload's options.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    pub(super) insert: Insert,
    pub(super) place: Loop,
}

impl Work {
    pub(super) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        let insert = Insert::parse(&load.options, &[])?;
        insert.no_single_batch("postgres")?;
        Ok(Self { insert, place: place_of_loop(&load.options)? })
    }

    pub(super) fn data_bytes(&self, sessions: u32) -> u64 {
        let inserted = self.insert.rows_per_session.map_or(ROOM_ROWS, |rows| rows * u64::from(sessions));
        (self.insert.seed_rows + inserted) * ROW_BYTES
    }

    fn synchronous_commit(&self) -> &'static str {
        match self.insert.durability {
            Durability::Full => "on",
            Durability::Relaxed => "off",
        }
    }
}

/// The table of a treatment.
pub(super) fn table(suffix: &str) -> String {
    match suffix {
        "" => "rows".to_owned(),
        suffix => format!("rows_{suffix}"),
    }
}

/// Makes the table, its seeded rows and its procedure.
pub(super) fn load(
    control: &mut Client,
    server: &Server,
    request: &LoadRequest,
    workload: &Work,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let (schema, table) = (server.schema(), table(suffix));
    let insert = &workload.insert;
    if !is_loaded(control, schema, &table)? {
        make(control, schema, &table, insert, request.seed)?;
    }
    verify(control, schema, &table, [seeded(request.seed, insert.seed_rows), Tally::default()])?;
    Ok(Loaded {
        bytes_per_session: insert.seed_rows * ROW_BYTES,
        rows_per_session: insert.seed_rows,
        notes: vec![format!("{} rows before, one table for all sessions", insert.seed_rows)],
    })
}

fn make(
    control: &mut Client,
    schema: &str,
    table: &str,
    insert: &Insert,
    seed: u64,
) -> Result<(), EngineError> {
    let unlogged = if insert.table == Table::Unlogged { "UNLOGGED" } else { "" };
    let values = [("schema", schema), ("table", table), ("unlogged", unlogged)];
    let action = format!("load {} rows into {schema}.{table}", insert.seed_rows);
    execute(control, &action, &fill(include_str!("create.sql"), &values))?;
    copy_seeds(control, &fill(include_str!("copy.sql"), &values), seed, insert.seed_rows)?;
    // After the rows: building it once is faster, and its leaves are full, unlike those of one that grew.
    execute(control, &format!("index {schema}.{table}"), &fill(include_str!("index.sql"), &values))?;
    execute(
        control,
        &format!("vacuum {schema}.{table}"),
        &format!("VACUUM (FREEZE, ANALYZE) {schema}.{table}"),
    )?;
    let procedure = statements::procedure_sql(schema, table, insert);
    execute(control, "create the procedure of a session", &procedure)
}

fn copy_seeds(control: &mut Client, sql: &str, seed: u64, rows: u64) -> Result<(), EngineError> {
    let action = "load rows";
    let mut writer = control.copy_in(sql).map_err(|cause| query(action, &cause))?;
    let text = "x".repeat(TEXT_CHARS);
    let mut lines = Vec::with_capacity(COPY_BYTES + 256);
    for (number, key) in (0..rows).zip(RandomKeys::new(seed, 0)) {
        // Writing to a Vec cannot fail.
        let _ = writeln!(lines, "{key}\t2000-01-01 00:00:00\t{text}\t0\t0\t{number}");
        if lines.len() >= COPY_BYTES {
            writer.write_all(&lines).map_err(|cause| copy_failed(action, &cause))?;
            lines.clear();
        }
    }
    writer.write_all(&lines).map_err(|cause| copy_failed(action, &cause))?;
    let copied = writer.finish().map_err(|cause| query(action, &cause))?;
    match copied == rows {
        true => Ok(()),
        false => Err(failed(action, format!("{copied} of {rows} rows arrived"))),
    }
}

/// The server's own message, if an error of the server ended the stream.
fn copy_failed(action: &str, cause: &std::io::Error) -> EngineError {
    match cause.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
        Some(inner) => query(action, inner),
        None => failed(action, cause),
    }
}

/// Seeded rows of a table, and the sum of their keys.
fn seeded(seed: u64, rows: u64) -> Tally {
    let key_sum = RandomKeys::new(seed, 0).take(rows as usize).map(key_check).sum();
    Tally { rows: rows as i64, key_sum }
}

/// Called before the sessions are opened, on a table used before: removes what an interrupted run left.
pub(super) fn make_ready(
    control: &mut Client,
    server: &Server,
    request: &LoadRequest,
    workload: &Work,
    suffix: &str,
) -> Result<(), EngineError> {
    let [before, left] = tallies(control, server.schema(), &table(suffix))?;
    if left.rows > 0 {
        return put_back(control, server, request, workload, suffix);
    }
    same(&table(suffix), "rows of the load", before, seeded(request.seed, workload.insert.seed_rows))
}

/// Called after the sessions are closed: the table must hold the seeded rows and those that sessions reported.
pub(super) fn check(
    control: &mut Client,
    server: &Server,
    request: &LoadRequest,
    workload: &Work,
    suffix: &str,
    inserted: Tally,
) -> Result<(), EngineError> {
    let before = seeded(request.seed, workload.insert.seed_rows);
    verify(control, server.schema(), &table(suffix), [before, inserted])
}

/// Removes the rows that sessions inserted, and rebuilds the index; the table is then as loaded.
pub(super) fn put_back(
    control: &mut Client,
    server: &Server,
    request: &LoadRequest,
    workload: &Work,
    suffix: &str,
) -> Result<(), EngineError> {
    let (schema, table) = (server.schema(), table(suffix));
    let values = [("schema", schema), ("table", table.as_str())];
    let action = format!("reset {schema}.{table}");
    execute(control, &action, &fill(include_str!("put_back.sql"), &values))?;
    execute(control, &action, &format!("VACUUM (FREEZE, ANALYZE) {schema}.{table}"))?;
    execute(control, &action, &format!("REINDEX TABLE {schema}.{table}"))?;
    verify(control, schema, &table, [seeded(request.seed, workload.insert.seed_rows), Tally::default()])
}

/// Refuses a table whose rows are not the seeded ones and those of the sessions.
fn verify(control: &mut Client, schema: &str, table: &str, wanted: [Tally; 2]) -> Result<(), EngineError> {
    let [before, inserted] = tallies(control, schema, table)?;
    same(table, "rows of the load", before, wanted[0])?;
    same(table, "rows that the sessions inserted", inserted, wanted[1])
}

fn same(table: &str, which: &str, found: Tally, wanted: Tally) -> Result<(), EngineError> {
    if found == wanted {
        return Ok(());
    }
    Err(EngineError::WrongAnswer(format!(
        "table {table} has {} {which} with the key sum {} instead of {} with {}",
        found.rows, found.key_sum, wanted.rows, wanted.key_sum
    )))
}

/// The table's rows of the load and of sessions.
fn tallies(control: &mut Client, schema: &str, table: &str) -> Result<[Tally; 2], EngineError> {
    let action = format!("check {schema}.{table}");
    let modulus = CHECK_MODULUS.to_string();
    let values = [("schema", schema), ("table", table), ("modulus", &modulus)];
    let row = control
        .query_one(&fill(include_str!("check.sql"), &values), &[])
        .map_err(|cause| query(action.as_str(), &cause))?;
    let read = |column: usize| row.try_get(column).map_err(|cause| query(action.as_str(), &cause));
    Ok([Tally { rows: read(0)?, key_sum: read(1)? }, Tally { rows: read(2)?, key_sum: read(3)? }])
}

/// Refuses full durability if the server does not provide it.
fn check_durability(control: &mut Client, insert: &Insert) -> Result<(), EngineError> {
    match insert.durability {
        Durability::Relaxed => Ok(()),
        Durability::Full => {
            expect(control, "fsync", "on", "durability=full needs it; set it or use durability=relaxed")
        }
    }
}
