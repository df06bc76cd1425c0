//! The driver: what PostgreSQL does in its own way.

use postgres::Client;
use std::io::Write;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::insert::{Durability, Insert, TEXT_CHARS};
use threadwise_engine::workloads::logical_io::{range_sum, smaller_data};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine_sql::{
    Blocks, Connection, Dialect, Driver, Keys, Names, Opened, Rows, Spec, SqlWorkload, Template,
    insert_template, numbers,
};

use crate::Server;
use crate::backend::{backend_pid, expect, opened, settle, thread};
use crate::connection::PostgresConnection;
use crate::dialect::{BLOCK_BYTES, DIALECT};
use crate::error::{copy_failed, failed, query};
use crate::observe::PostgresObserver;
use crate::transaction;

/// Bytes of one message of the load.
const COPY_BYTES: usize = 1 << 16;

impl Driver for Server {
    type Connection = PostgresConnection;
    type Observer = PostgresObserver;

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn schema(&self) -> &str {
        Self::schema(self)
    }

    fn user(&self) -> &str {
        Self::user(self)
    }

    fn place(&self) -> String {
        format!(" in database '{}' at {}", self.database(), Self::place(self))
    }

    fn connect(&self, purpose: &str) -> Result<PostgresConnection, EngineError> {
        Ok(PostgresConnection::new(self, Self::connect(self, purpose)?))
    }

    fn open(&self, workload: &SqlWorkload, session: u32) -> Result<Opened<PostgresConnection>, EngineError> {
        let name = format!("threadwise session {session}");
        let mut client = match &workload.spec {
            Spec::Transaction(spec) => transaction::connect(self, &name, spec)?,
            Spec::LogicalIo(_) | Spec::Insert(_) => {
                let mut client = Self::connect(self, &name)?;
                // Reads need no durability; a commit does not wait for a disk.
                let commit = match &workload.spec {
                    Spec::Insert(Insert { durability: Durability::Full, .. }) => "on",
                    _ => "off",
                };
                settle(&mut client, self.version_num(), commit)?;
                client
            }
        };
        if let Spec::Insert(Insert { durability: Durability::Full, .. }) = &workload.spec {
            expect(&mut client, "fsync", "on", "durability=full needs it; set it or use durability=relaxed")?;
        }
        let mut session = opened(self, client)?.map(|client| PostgresConnection::new(self, client));
        let reads = matches!(workload.spec, Spec::LogicalIo(_));
        session.connection.counts_steps = reads && workload.place == Loop::Client;
        Ok(session)
    }

    fn observe(
        &self,
        control: &mut PostgresConnection,
        _: &SqlWorkload,
    ) -> Result<(PostgresObserver, Vec<String>), EngineError> {
        PostgresObserver::start(&mut control.client, self, None)
    }

    fn control_thread(
        &self,
        control: &mut PostgresConnection,
    ) -> Result<Result<Thread, String>, EngineError> {
        Ok(thread(self, backend_pid(&mut control.client)?))
    }

    fn fill_blocks(
        &self,
        control: &mut PostgresConnection,
        blocks: &Blocks<'_>,
        seed: u64,
    ) -> Result<(), EngineError> {
        let sql = Template::default()
            .with("table", blocks.table())
            .with("blocks", blocks.spec.blocks)
            .with("seed", seed.cast_signed())
            .fill(include_str!("sql/blocks_fill.sql"));
        control.run(&format!("load {} rows into {}", blocks.spec.blocks, blocks.table()), &sql)
    }

    fn prove_blocks(
        &self,
        control: &mut PostgresConnection,
        blocks: &Blocks<'_>,
    ) -> Result<String, EngineError> {
        let action = "check for one row a block";
        let sql =
            Template::default().with("table", blocks.table()).fill(include_str!("sql/blocks_proof.sql"));
        let found = numbers(control, action, &sql)?;
        let blocks = blocks.spec.blocks;
        let wanted = i64::try_from(blocks).ok();
        if found == [wanted; 3] {
            return Ok(format!(
                "{blocks} rows on {blocks} blocks of {BLOCK_BYTES} bytes, one row a block (proved by ctid and file size)"
            ));
        }
        let [rows, with_rows, all] = found.map(Option::unwrap_or_default);
        let why =
            format!("{rows} rows are on {with_rows} of the table's {all} blocks, instead of {blocks} each");
        Err(failed(action, why))
    }

    fn plan(
        &self,
        connection: &mut PostgresConnection,
        blocks: &Blocks<'_>,
    ) -> Result<Option<String>, EngineError> {
        let client = &mut connection.client;
        let name = blocks.bare();
        let step = |sql: &str| {
            let places = Template::default().with("table", blocks.table());
            places.with("first", "$1").with("last", "$2").fill(sql)
        };
        let plan = check_plan(client, &step(DIALECT.blocks_read), &name)?;
        if blocks.spec.updates() {
            check_plan(client, &step(DIALECT.blocks_update), &name)?;
        }
        let index = blocks.names.quoted(&format!("{name}_by_k"));
        connection.count_blocks(&blocks.table(), &index)?;
        Ok(Some(plan.replace(&name, "blocks")))
    }

    /// Reads everything twice by the step's own statement: the second time every block must be in the cache.
    fn warm_blocks(
        &self,
        connection: &mut PostgresConnection,
        blocks: &Blocks<'_>,
    ) -> Result<(), EngineError> {
        let (name, rows) = (blocks.table(), blocks.spec.blocks);
        read_all(connection, &name, rows)?;
        let missed = read_all(connection, &name, rows)?;
        if missed == 0 {
            return Ok(());
        }
        let sql = "SELECT pg_size_bytes(current_setting('shared_buffers'))";
        let [buffers] = numbers(connection, "read shared_buffers", sql)?;
        let buffers = buffers.map_or(0, i64::unsigned_abs);
        let why = format!(
            "not cached: the second pass over {name} read {missed} of {rows} blocks; shared_buffers is {} MiB: make it \
             larger, or {}",
            buffers >> 20,
            smaller_data(buffers, 1)
        );
        Err(failed("keep its data in the cache", why))
    }

    fn make_rows(
        &self,
        control: &mut PostgresConnection,
        rows: &Rows<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), EngineError> {
        let template = insert_template(rows);
        let table = rows.table();
        control
            .run(&format!("load {} rows into {table}", rows.spec.seed_rows), &template.fill(DIALECT.rows))?;
        copy_seeds(&mut control.client, &template.fill(include_str!("sql/rows_copy.sql")), keys)?;
        // After the rows: building it once is faster, and its leaves are full, unlike those of one that grew.
        control.run(&format!("index {table}"), &template.fill(include_str!("sql/rows_index.sql")))?;
        control.run(&format!("vacuum {table}"), &format!("VACUUM (FREEZE, ANALYZE) {table}"))
    }

    fn insert_note(&self, spec: &Insert) -> Option<String> {
        Some(format!("{} rows before, one table for all sessions", spec.seed_rows))
    }

    /// Removes the rows that sessions inserted, and rebuilds the index; the table is then as loaded.
    fn put_back(&self, control: &mut PostgresConnection, rows: &Rows<'_>) -> Result<(), EngineError> {
        let table = rows.table();
        let delete = insert_template(rows).fill(DIALECT.rows_put_back);
        let vacuum = format!("VACUUM (FREEZE, ANALYZE) {table}");
        let action = format!("reset {table}");
        [delete, vacuum, format!("REINDEX TABLE {table}")]
            .iter()
            .try_for_each(|sql| control.run(&action, sql))
    }

    fn standing(
        &self,
        _: &mut PostgresConnection,
        workload: &SqlWorkload,
        _: &Names<'_>,
        _: u32,
    ) -> Result<Vec<String>, EngineError> {
        let note = match &workload.spec {
            Spec::LogicalIo(spec) if spec.think_time_us > 0 && workload.place == Loop::Server => {
                "pauses of the server's loop are rounded up to whole milliseconds (pg_sleep)"
            }
            Spec::Insert(_) if workload.place == Loop::Client => {
                "a step is one prepared INSERT, its own transaction, in one round trip"
            }
            _ => return Ok(Vec::new()),
        };
        Ok(vec![note.to_owned()])
    }
}

/// Reads everything by the step's own statement; gives the number of blocks that were not in the cache.
fn read_all(connection: &mut PostgresConnection, table: &str, rows: u64) -> Result<u64, EngineError> {
    let action = format!("read {table}");
    connection.run(&action, "BEGIN")?;
    let before = connection.blocks()?.unwrap_or_default();
    let sql = Template::default()
        .with("table", table)
        .with("first", 0)
        .with("last", rows.saturating_sub(1))
        .fill(DIALECT.blocks_read);
    let (found, expected) =
        (numbers(connection, &action, &sql)?, [rows as i64, range_sum(0, rows)].map(Some));
    let after = connection.blocks()?.unwrap_or_default();
    connection.run(&action, "COMMIT")?;
    if found != expected {
        let [found, expected] = [found, expected].map(|answer| answer.map(Option::unwrap_or_default));
        return Err(EngineError::WrongAnswer(format!(
            "{table}: its keys gave {} rows and sum {} instead of {} rows and sum {}",
            found[0], found[1], expected[0], expected[1]
        )));
    }
    Ok(after[1].saturating_sub(before[1]))
}

/// Refuses a plan that would answer from the index alone, sort blocks first, or read the whole table;
/// gives the plan in one line.
fn check_plan(client: &mut Client, sql: &str, table: &str) -> Result<String, EngineError> {
    let action = "plan a step";
    let explain = format!(
        "PREPARE threadwise_step(integer, integer) AS {sql};\n\
         EXPLAIN (COSTS OFF) EXECUTE threadwise_step(0, 0);\n\
         DEALLOCATE threadwise_step"
    );
    let messages = client.simple_query(&explain).map_err(|cause| query(action, &cause))?;
    let lines: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(|line| line.trim().to_owned()),
            _ => None,
        })
        .collect();
    let scan = format!("->  Index Scan using {table}_by_k on {table}");
    match lines.as_slice() {
        [_, second, third] if *second == scan && third.starts_with("Index Cond: ((k >= ") => {
            Ok(lines.join(" "))
        }
        _ => Err(failed(action, format!("the plan is '{}' instead of '{scan}'", lines.join("; ")))),
    }
}

fn copy_seeds(client: &mut Client, sql: &str, keys: &mut Keys<'_>) -> Result<(), EngineError> {
    let action = "load rows";
    let mut writer = client.copy_in(sql).map_err(|cause| query(action, &cause))?;
    let text = "x".repeat(TEXT_CHARS);
    let mut lines = Vec::with_capacity(COPY_BYTES + 256);
    for (number, key) in keys.enumerate() {
        // Writing to a Vec cannot fail.
        let _ = writeln!(lines, "{key}\t2000-01-01 00:00:00\t{text}\t0\t0\t{number}");
        if lines.len() >= COPY_BYTES {
            writer.write_all(&lines).map_err(|cause| copy_failed(action, &cause))?;
            lines.clear();
        }
    }
    writer.write_all(&lines).map_err(|cause| copy_failed(action, &cause))?;
    writer.finish().map(drop).map_err(|cause| query(action, &cause))
}
