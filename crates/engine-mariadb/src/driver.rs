//! The driver: what MariaDB does in its own way.

use mysql::prelude::Queryable;
use std::fmt::Write as _;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine_sql::{
    Blocks, Connection, Dialect, Driver, Keys, Names, Objects, Opened, Rows, Spec, SqlWorkload, fill,
    insert_template,
};
use threadwise_process::space::server_memory_bytes;

use crate::Server;
use crate::connection::MariadbConnection;
use crate::dialect::DIALECT;
use crate::durability::check_durability;
use crate::observe::MariadbObserver;
use crate::options::Waits;
use crate::product::Product;
use crate::thread::locate;
use crate::{blocks, transaction};

/// Rows of one INSERT statement of the load, and of one transaction.
const BATCH: usize = 1000;
const BATCHES_PER_TX: usize = 50;

/// A server, and how waits of its sessions are sampled.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub server: Server,
    pub waits: Waits,
    /// Whether it is the user's, whose settings stay as they are.
    pub is_theirs: bool,
}

/// The seed of a table in memory, which is empty after a restart.
fn seed_table(names: &Names<'_>) -> String {
    names.object("seed")
}

impl Database {
    /// Makes the table in memory again from its seed. The size limit is that of the creating session, so this raises it:
    /// to half of the free memory, so that a full table is an error of the server and not its end.
    fn fill_memory_table(&self, control: &mut MariadbConnection, rows: &Rows<'_>) -> Result<(), EngineError> {
        let (name, limit) = (rows.table(), (server_memory_bytes(Path::new("/")) / 2).max(64 << 20));
        control.run("raise the size of a table in memory", &format!("SET max_heap_table_size = {limit}"))?;
        control.run("drop a table in memory", &format!("DROP TABLE IF EXISTS {name}"))?;
        control.run("create a table in memory", &insert_template(rows).fill(DIALECT.rows))?;
        let sql = format!("INSERT INTO {name} SELECT * FROM {}", seed_table(&rows.names));
        control.run("seed a table in memory", &sql)
    }
}

impl Driver for Database {
    type Connection = MariadbConnection;
    type Observer = MariadbObserver;

    fn dialect(&self) -> &'static Dialect {
        &self.server.product().dialect
    }

    fn schema(&self) -> &str {
        self.server.schema()
    }

    fn user(&self) -> &str {
        self.server.user()
    }

    fn connect(&self, _: &str) -> Result<MariadbConnection, EngineError> {
        Ok(MariadbConnection { conn: self.server.connect()?, server: self.server.clone() })
    }

    fn open(&self, workload: &SqlWorkload, _: u32) -> Result<Opened<MariadbConnection>, EngineError> {
        let mut conn = match &workload.spec {
            Spec::Transaction(spec) => transaction::connect(&self.server, spec)?,
            Spec::LogicalIo(_) | Spec::Insert(_) => {
                let mut conn = self.server.connect()?;
                // Read committed takes no gap locks, by which updates of one table would block each other.
                let isolation = if workload.shares_table() { "READ COMMITTED" } else { "REPEATABLE READ" };
                for sql in [
                    format!("SET optimizer_switch='{}'", self.server.product().plain_plans),
                    format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
                ] {
                    conn.query_drop(sql)
                        .map_err(|cause| self.server.product().query("set up a session", &cause))?;
                }
                conn
            }
        };
        let backend = locate(&mut conn, &self.server)?;
        let at_end = Some(self.server.cancel_at_end(&conn)?);
        let (id, is_near) = (i64::from(conn.connection_id()), backend.is_ok());
        let connection = MariadbConnection { conn, server: self.server.clone() };
        Ok(Opened { connection, id, backend, is_near, at_end })
    }

    fn observe(
        &self,
        control: &mut MariadbConnection,
        workload: &SqlWorkload,
    ) -> Result<(MariadbObserver, Vec<String>), EngineError> {
        MariadbObserver::start(control, self.waits, workload)
    }

    fn control_thread(&self, control: &mut MariadbConnection) -> Result<Result<Thread, String>, EngineError> {
        locate(&mut control.conn, &self.server)
    }

    fn fill_blocks(
        &self,
        control: &mut MariadbConnection,
        blocks: &Blocks<'_>,
        seed: u64,
    ) -> Result<(), EngineError> {
        blocks::fill(control, blocks, seed)
    }

    fn prove_blocks(
        &self,
        control: &mut MariadbConnection,
        blocks: &Blocks<'_>,
    ) -> Result<String, EngineError> {
        blocks::prove(control, blocks)
    }

    fn plan(
        &self,
        connection: &mut MariadbConnection,
        blocks: &Blocks<'_>,
    ) -> Result<Option<String>, EngineError> {
        blocks::plan(connection, blocks).map(Some)
    }

    fn warm_blocks(
        &self,
        connection: &mut MariadbConnection,
        blocks: &Blocks<'_>,
    ) -> Result<(), EngineError> {
        blocks::warm(connection, blocks)
    }

    /// `table=unlogged` is the engine MEMORY: rows of fixed length, a hash index, no log, lost when the server ends, and
    /// one lock for the whole table at each statement (mariadb.com/kb/en/memory-storage-engine).
    fn make_rows(
        &self,
        control: &mut MariadbConnection,
        rows: &Rows<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), EngineError> {
        let table = match rows.spec.table {
            Table::Durable => rows.table(),
            Table::Unlogged => seed_table(&rows.names),
        };
        let durable = Rows { spec: &Insert { table: Table::Durable, ..*rows.spec }, ..*rows };
        let sql = insert_template(&durable).fill(&DIALECT.rows.replace("{table}", &table));
        control.run("create a table", &sql)?;
        let mut keys = keys.peekable();
        for batches in 0_usize.. {
            if batches.is_multiple_of(BATCHES_PER_TX) {
                // Also ends the transaction before.
                control.run("begin a load", "START TRANSACTION")?;
            }
            if keys.peek().is_none() {
                break;
            }
            let mut sql = format!("INSERT INTO {table} (c1, c6) VALUES ");
            for key in keys.by_ref().take(BATCH) {
                let comma = if sql.ends_with(')') { "," } else { "" };
                // Writing to a String cannot fail.
                let _ = write!(sql, "{comma}({key},{key})");
            }
            control.run("seed rows", &sql)?;
        }
        control.run("commit a load", "COMMIT")?;
        control.run("analyze a table", &format!("ANALYZE TABLE {table}"))?;
        match rows.spec.table {
            Table::Durable => Ok(()),
            Table::Unlogged => self.fill_memory_table(control, rows),
        }
    }

    fn insert_procedures(&self, rows: &Rows<'_>) -> Vec<String> {
        vec![rows_loop_sql(self.server.product(), rows)]
    }

    fn insert_note(&self, spec: &Insert) -> Option<String> {
        let note = "table=unlogged is the storage engine MEMORY: a hash index, and one lock for the whole table at each \
                    statement";
        self.is_volatile(spec).then(|| note.to_owned())
    }

    fn is_volatile(&self, spec: &Insert) -> bool {
        spec.table == Table::Unlogged
    }

    fn put_back(&self, control: &mut MariadbConnection, rows: &Rows<'_>) -> Result<(), EngineError> {
        if self.is_volatile(rows.spec) {
            return self.fill_memory_table(control, rows);
        }
        control.run("remove the inserted rows", &fill(DIALECT.rows_put_back, &[("table", &rows.table())]))
    }

    fn insert_objects(&self) -> Objects {
        Objects { tables: vec!["seed".to_owned()], procedures: Vec::new() }
    }

    fn standing(
        &self,
        control: &mut MariadbConnection,
        workload: &SqlWorkload,
        names: &Names<'_>,
        sessions: u32,
    ) -> Result<Vec<String>, EngineError> {
        let note = match &workload.spec {
            Spec::LogicalIo(spec) => {
                blocks::prove_cached(control, *names, workload.tables(sessions), spec)?;
                "logical_reads are the server's Innodb_buffer_pool_read_requests, divided among sessions by rows; a row \
                 costs more than one, for the path down the primary key"
            }
            Spec::Transaction(_) => {
                "logical_reads and other counters are the whole server's, with what its other clients did meanwhile; \
                 reads are divided among sessions by transactions"
            }
            Spec::Insert(_) => return Ok(Vec::new()),
        };
        Ok(vec![note.to_owned()])
    }

    fn check(&self, control: &mut MariadbConnection, workload: &SqlWorkload) -> Result<(), EngineError> {
        match self.is_theirs {
            true => check_durability(control, workload),
            false => Ok(()),
        }
    }
}

/// The loop of `insert` inside the server.
fn rows_loop_sql(product: &Product, rows: &Rows<'_>) -> String {
    let [digest, of_bits] = product.digest;
    insert_template(rows).with("digest", digest).with("of_bits", of_bits).fill(product.dialect.rows_loop)
}

/// Bytes of the data of all sessions, with indexes and expected inserts, about.
pub(crate) fn data_bytes(workload: &SqlWorkload, sessions: u32) -> u64 {
    /// Bytes reserved for the inserts of a run of fixed time.
    const UNKNOWN_BYTES: u64 = 512 << 20;
    match &workload.spec {
        // Upper levels take a page for every 800 leaves, the index 20 bytes a row.
        Spec::LogicalIo(spec) => {
            let table = spec.blocks * DIALECT.block_bytes * 102 / 100 + spec.blocks * 2 * 20 + (1 << 20);
            table * u64::from(workload.tables(sessions))
        }
        Spec::Insert(spec) => {
            let row_bytes = DIALECT.row_bytes;
            let inserted =
                spec.rows_per_session.map_or(UNKNOWN_BYTES, |rows| rows * u64::from(sessions) * row_bytes);
            let copies = if spec.table == Table::Unlogged { 2 } else { 1 };
            spec.seed_rows * row_bytes * copies + inserted
        }
        Spec::Transaction(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::{MARIADB, MYSQL};
    use threadwise_engine_sql::insert_step_sql;
    use threadwise_study::{OptionValue, Options};

    const NAMES: Names<'_> = Names { schema: "s", suffix: "_x", quotes: DIALECT.quotes };

    #[test]
    fn the_loop_of_inserts_names_each_row_of_a_transaction() {
        let options: Options = [
            ("rows_per_tx".to_owned(), OptionValue::Integer(3)),
            ("key".to_owned(), OptionValue::Text("random".into())),
        ]
        .into();
        let spec = Insert::parse(&options, &[]).unwrap();
        let sql = rows_loop_sql(&MARIADB, &Rows { names: NAMES, spec: &spec });
        assert!(sql.contains("DECLARE k0, k1, k2 BIGINT") && sql.contains("k2 MOD 1000000007"), "{sql}");
        assert!(sql.contains("next_key + 3") && sql.contains("LEFT(MD5(CONCAT(seed, next_key + 2)), 15)"));
        assert!(!sql.contains('{') && !sql.contains("[["), "{sql}");
        let sql = rows_loop_sql(&MYSQL, &Rows { names: NAMES, spec: &spec });
        assert!(sql.contains("LEFT(SHA2(CONCAT(seed, next_key + 2), 256), 15)"), "{sql}");
        let (step, slots) = insert_step_sql(&DIALECT, &Rows { names: NAMES, spec: &spec });
        assert_eq!((step.matches("SYSDATE(6)").count(), step.matches('?').count(), slots.len()), (3, 9, 9));
    }
}
