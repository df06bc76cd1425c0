//! The driver: what SQL Server does in its own way.
//!
//! A page of 8 KiB holds one row of 7,000 bytes of fixed width and never two ("Pages and extents architecture guide":
//! 8,060 bytes of rows). Rows are in a heap in random key order, with an index, so that each row of a step is on a
//! random page.
//!
//! `insert` is on disk, or in memory with a hash index and a natively compiled procedure. Source: "Control transaction
//! durability", "Memory-optimized tables", "Natively compiled stored procedures" and "Supported features for natively
//! compiled T-SQL modules" of the SQL Server documentation: no BREAK, only one row of VALUES, no hash functions. So rows
//! are inserted one by one there.

use std::fmt::Arguments;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::insert::{Durability, Insert, TEXT_CHARS, Table};
use threadwise_engine::workloads::logical_io::{range_sum, row_sum, shuffled_keys};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::workloads::transaction::{
    AnswerSize, BindValue, ColumnValues, Parameter as Declared, STATEMENT_LIMIT_SECONDS, Statement,
};
use threadwise_engine_sql::{
    self as sql, Blocks, Dialect, Driver, Keys, Names, Objects, Opened, Parameter, Rows, Spec, SqlWorkload,
    Template, Usage, Value, fill, insert_template, numbers,
};
use tiberius::{ColumnData, Row, ToSql, TokenRow};

use crate::client::connect::{Connection, Fault, Server, Unread, row_bytes};
use crate::client::dialect::DIALECT;
use crate::client::error::{advice, query};
use crate::client::observe::SqlserverObserver;
use crate::client::statements::{run, text, whole};
use crate::failed;
use crate::work::{PAGE_BYTES, is_batch};

/// Bytes that fill a row of `logical-io`.
const PAYLOAD_BYTES: u64 = 7000;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Time limit of a statement of the user: a closed connection ends it in the server.
const STATEMENT_LIMIT: Duration = Duration::from_secs(STATEMENT_LIMIT_SECONDS as u64);

/// Rows of one INSERT statement of the load, and of one transaction.
const BATCH: usize = 1000;

/// A server, and how it stores the table of `insert`.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub server: Server,
    /// Buckets of the index of a table in memory; `None` for a table on disk.
    pub buckets: Option<u64>,
    /// How often the server was bound to other logical CPUs while its connections were open.
    pub times_bound: Arc<AtomicU64>,
}

impl Database {
    /// A server with this table of `insert`.
    pub(crate) fn new(server: Server, buckets: Option<u64>) -> Self {
        Self { server, buckets, times_bound: Arc::default() }
    }

    /// A session's connection.
    ///
    /// # Errors
    /// The server is gone or refuses the login.
    pub(crate) fn open_session(&self, session: u32) -> Result<Opened<Connection>, EngineError> {
        let mut connection = self.server.connect(&format!("threadwise session {session}"))?;
        let [id] = numbers(&mut connection, "read the session's number", "SELECT CAST(@@SPID AS int)")?;
        let backend = Err("its sessions run on whichever of its threads is free".to_owned());
        let is_near = self.server.target().is_near();
        Ok(Opened { connection, id: id.unwrap_or(0), backend, is_near, at_end: None })
    }
}

/// A statement, which the server compiles when it is first executed.
pub(crate) struct Text {
    sql: String,
    /// Parameters of a statement of the user, `@P1` first.
    places: Vec<PlacedParameter>,
}

/// A parameter of a statement of the user.
struct PlacedParameter {
    /// Its index in the script.
    at: usize,
    /// Whether all of its range have 32 bits, so that an index of a column of 32 bits is used as it is.
    is_small: bool,
}

/// A parameter as the client library sends it.
struct Sent<'a>(Parameter<'a>);

impl ToSql for Sent<'_> {
    fn to_sql(&self) -> ColumnData<'_> {
        match self.0 {
            Parameter::Int(number) => ColumnData::I32(Some(number)),
            Parameter::Big(number) => ColumnData::I64(Some(number)),
            Parameter::Text(text) => ColumnData::String(Some(text.into())),
        }
    }
}

impl Connection {
    /// The rows of a statement with parameters, `@P1` first.
    fn ask(
        &mut self,
        action: Arguments<'_>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        let sent: Vec<Sent<'_>> = parameters.iter().copied().map(Sent).collect();
        let sent: Vec<&dyn ToSql> = sent.iter().map(|one| one as &dyn ToSql).collect();
        self.query(sql, &sent).map_err(|cause| query(action.to_string(), &cause))
    }
}

/// Values of rows.
pub(crate) fn values(rows: &[Row]) -> Vec<Vec<Value>> {
    let value = |row: &Row, at: usize| {
        whole(row, at).map(Value::Whole).or_else(|| text(row, at).map(Value::Text)).unwrap_or(Value::Null)
    };
    rows.iter().map(|row| (0..row.len()).map(|at| value(row, at)).collect()).collect()
}

impl sql::Connection for Connection {
    type Statement = Text;

    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        Self::run(self, sql).map_err(|cause| query(action, &cause))
    }

    fn rows(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, EngineError> {
        let rows = match parameters {
            [] => Self::rows(self, sql).map_err(|cause| query(action, &cause))?,
            all => self.ask(format_args!("{action}"), sql, all)?,
        };
        Ok(values(&rows))
    }

    fn prepare(&mut self, sql: &str) -> Result<Text, EngineError> {
        Ok(Text { sql: sql.to_owned(), places: Vec::new() })
    }

    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &Text,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError> {
        let rows = match parameters {
            [] => Self::rows(self, &statement.sql).map_err(|cause| query(action.to_string(), &cause))?,
            all => self.ask(action, &statement.sql, all)?,
        };
        let Some(row) = rows.first() else { return Ok(false) };
        answer.iter_mut().enumerate().for_each(|(at, number)| *number = whole(row, at));
        Ok(true)
    }

    /// A statement that gives the number of changed rows does so as a row, since NOCOUNT suppresses the other way.
    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &Text,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError> {
        let rows = self.ask(action, &statement.sql, parameters)?;
        Ok(rows.first().and_then(|row| whole(row, 0)).and_then(|rows| u64::try_from(rows).ok()))
    }

    /// A parameter that is used more than once is sent once.
    fn prepare_theirs(
        &mut self,
        statement: &Statement,
        parameters: &[Declared],
    ) -> Result<Text, EngineError> {
        let mut used = statement.parameters();
        used.sort_unstable();
        used.dedup();
        let number = |at: usize| used.iter().position(|used| *used == at).map_or(0, |place| place + 1);
        let sql = statement.text(|at| format!("@P{}", number(at)));
        let place = |at: &usize| {
            let range = parameters.get(*at).and_then(Declared::range);
            PlacedParameter {
                at: *at,
                is_small: range.is_some_and(|ends| ends.iter().all(|end| i32::try_from(*end).is_ok())),
            }
        };
        Ok(Text { sql, places: used.iter().map(place).collect() })
    }

    fn execute_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Text,
        values: &[BindValue],
    ) -> Result<(), EngineError> {
        let mut size = AnswerSize::default();
        self.read_theirs(statement, prepared, values, &mut |row| size.add_row(row_bytes(row)))
    }

    fn column_of_theirs(&mut self, query: &Statement, prepared: &Text) -> Result<ColumnValues, EngineError> {
        let mut column = ColumnValues::default();
        self.read_theirs(query, prepared, &[], &mut |row| {
            let text = || text(row, 0).map(|text| BindValue::Text(text.into()));
            column.add(whole(row, 0).map(BindValue::Whole).or_else(text))
        })?;
        Ok(column)
    }

    /// A statement, for CPU time in milliseconds.
    const READS_USAGE_INSIDE: bool = false;

    /// By sys.dm_exec_sessions; a login sees its own sessions there without any right. Values are of ended requests, CPU
    /// time in whole milliseconds.
    fn usage(&mut self, _: Option<Thread>) -> Result<Usage, EngineError> {
        let found = numbers(self, "read what a session used", include_str!("../sql/usage.sql"))?;
        let [cpu_ms, all, missed] = found.map(|number| number.and_then(|number| u64::try_from(number).ok()));
        Ok(Usage {
            cpu_ns: cpu_ms.unwrap_or(0) * 1_000_000,
            reads: all.zip(missed).map(|(all, missed)| [all, missed]),
            ..Usage::default()
        })
    }
}

/// A value of the user's transaction as the client library sends it.
struct Bound<'a> {
    value: &'a BindValue,
    is_small: bool,
}

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> ColumnData<'_> {
        match self.value {
            BindValue::Whole(number) => match i32::try_from(*number) {
                Ok(small) if self.is_small => ColumnData::I32(Some(small)),
                _ => ColumnData::I64(Some(*number)),
            },
            BindValue::Real(number) => ColumnData::F64(Some(*number)),
            BindValue::Text(text) => ColumnData::String(Some((&**text).into())),
        }
    }
}

impl Connection {
    /// Executes a statement of the user, and gives each row to `take`, up to its first error.
    fn read_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Text,
        values: &[BindValue],
        take: &mut dyn FnMut(&Row) -> Result<(), String>,
    ) -> Result<(), EngineError> {
        let none = BindValue::default();
        let value = |place: &PlacedParameter| Bound {
            value: values.get(place.at).unwrap_or(&none),
            is_small: place.is_small,
        };
        let sent: Vec<Bound<'_>> = prepared.places.iter().map(value).collect();
        let sent: Vec<&dyn ToSql> = sent.iter().map(|one| one as &dyn ToSql).collect();
        self.read_rows(&prepared.sql, &sent, STATEMENT_LIMIT, take).map_err(|cause| match cause {
            Unread::Fault(cause) => explain(statement, advice(&cause)),
            Unread::Ours(why) => explain(statement, why),
        })
    }
}

/// The error of a statement of the user.
fn explain(statement: &Statement, why: impl ToString) -> EngineError {
    failed(format!("execute {}", statement.place), why)
}

impl Driver for Database {
    type Connection = Connection;
    type Observer = SqlserverObserver;

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn schema(&self) -> &str {
        self.server.schema()
    }

    fn user(&self) -> &str {
        &self.server.target().user
    }

    fn place(&self) -> String {
        format!(" in database '{}'", self.server.database())
    }

    fn connect(&self, purpose: &str) -> Result<Connection, EngineError> {
        self.server.connect(purpose)
    }

    fn open(&self, workload: &SqlWorkload, session: u32) -> Result<Opened<Connection>, EngineError> {
        if let Spec::Transaction(transaction) = &workload.spec {
            transaction.expect_database(self.server.database())?;
        }
        self.open_session(session)
    }

    fn observe(
        &self,
        control: &mut Connection,
        workload: &SqlWorkload,
    ) -> Result<(SqlserverObserver, Vec<String>), EngineError> {
        Ok(SqlserverObserver::start(control, workload.place == Loop::Client))
    }

    fn control_thread(&self, _: &mut Connection) -> Result<Result<Thread, String>, EngineError> {
        Ok(Err("it has no thread of its own".to_owned()))
    }

    fn fill_blocks(
        &self,
        control: &mut Connection,
        blocks: &Blocks<'_>,
        seed: u64,
    ) -> Result<(), EngineError> {
        let rows = shuffled_keys(seed, blocks.spec.blocks).into_iter().map(|key| {
            let mut row = TokenRow::new();
            row.push(ColumnData::I32(i32::try_from(key).ok()));
            row.push(ColumnData::I64(Some(VALUE_BASE)));
            row.push(ColumnData::I64(Some(row_sum(u64::from(key)) - VALUE_BASE)));
            Ok(row)
        });
        let loaded = control.bulk(&blocks.table(), &["k", "value", "twin"], rows);
        loaded.map(drop).map_err(|cause| query("load rows", &cause))
    }

    fn prove_blocks(&self, control: &mut Connection, blocks: &Blocks<'_>) -> Result<String, EngineError> {
        check_whole(control, blocks)?;
        let rows = blocks.spec.blocks;
        let proof = prove(control, &self.server, &blocks.table(), rows)?;
        Ok(format!("{rows} rows of {PAYLOAD_BYTES} bytes, one a page of {PAGE_BYTES} bytes; {proof}"))
    }

    fn warm_blocks(&self, connection: &mut Connection, blocks: &Blocks<'_>) -> Result<(), EngineError> {
        check_whole(connection, blocks)
    }

    /// Keys come by bulk load and are inserted from there a few at a time, in their random order, so that pages are as
    /// full as inserts leave them; a single load would be sorted first.
    fn make_rows(
        &self,
        control: &mut Connection,
        rows: &Rows<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), EngineError> {
        let (staging, table) = (rows.names.object("keys"), rows.table());
        run(control, "create a table", &table_sql(rows, self.buckets))?;
        let create = fill(include_str!("../sql/seed_keys.sql"), &[("table", &staging)]);
        run(control, "create a table", &create)?;
        let mut number = 0;
        let numbered = keys.map(|key| {
            number += 1;
            let mut row = TokenRow::new();
            row.push(ColumnData::I32(i32::try_from(number).ok()));
            row.push(ColumnData::I64(Some(key)));
            Ok(row)
        });
        control.bulk(&staging, &["n", "k"], numbered).map_err(|cause| query("load keys", &cause))?;
        for first in (1..=number).step_by(BATCH) {
            let sql = Template::default()
                .with("table", &table)
                .with("staging", &staging)
                .with("text", "x".repeat(TEXT_CHARS))
                .with("first", first)
                .with("last", first + BATCH - 1)
                .fill(include_str!("../sql/seed_rows.sql"));
            run(control, "seed rows", &sql)?;
        }
        run(control, "drop the keys", &format!("DROP TABLE {staging}"))
    }

    fn insert_procedures(&self, rows: &Rows<'_>) -> Vec<String> {
        let spec = rows.spec;
        let delayed = if spec.durability == Durability::Relaxed { "ON" } else { "OFF" };
        let template = insert_template(rows)
            .flag("memory", self.buckets.is_some())
            .with("few", rows.names.object("insert_few"))
            .with("delayed", delayed);
        let (batch, few) = (include_str!("../sql/rows_batch.sql"), include_str!("../sql/rows_few.sql"));
        match self.buckets {
            Some(_) if is_batch(spec) => vec![template.fill(batch)],
            Some(_) => vec![template.fill(few), template.fill(DIALECT.rows_loop)],
            None => vec![template.fill(DIALECT.rows_loop)],
        }
    }

    fn insert_note(&self, _: &Insert) -> Option<String> {
        self.buckets.map(|buckets| {
            format!(
                "storage=memory-optimised: rows in memory, found by a hash index of {buckets} buckets; natively compiled"
            )
        })
    }

    fn insert_objects(&self) -> Objects {
        Objects { tables: vec!["keys".to_owned()], procedures: vec!["insert_few".to_owned()] }
    }

    fn standing(
        &self,
        control: &mut Connection,
        _: &SqlWorkload,
        _: &Names<'_>,
        _: u32,
    ) -> Result<Vec<String>, EngineError> {
        // A session that has logged in and run a query has used something.
        let used = sql::Connection::usage(control, None)?;
        let is_counted = used.cpu_ns > 0 || used.reads.is_some_and(|[all, _]| all > 0);
        let note = match is_counted {
            true => {
                "CPU time and logical reads of each session are from sys.dm_exec_sessions, CPU time in whole milliseconds"
            }
            false => {
                "the server does not count what its sessions use: CPU time is unknown and given as 0, logical reads are \
                 left out"
            }
        };
        Ok(vec![note.to_owned()])
    }

    /// Refuses options that the user's database does not support: threadwise does not change its settings.
    fn check(&self, control: &mut Connection, workload: &SqlWorkload) -> Result<(), EngineError> {
        match &workload.spec {
            Spec::Insert(spec) => check_settings(control, self, spec),
            Spec::LogicalIo(_) | Spec::Transaction(_) => Ok(()),
        }
    }
}

/// Reads all pages of a table and of its index, and checks their contents.
fn check_whole(connection: &mut Connection, blocks: &Blocks<'_>) -> Result<(), EngineError> {
    let (name, blocks) = (blocks.table(), blocks.spec.blocks);
    let sql = fill(include_str!("../sql/blocks_whole.sql"), &[("table", &name)]);
    let found = numbers(connection, "read the whole table", &sql)?;
    let rows = i64::try_from(blocks).ok();
    let expected = [rows, rows, Some(range_sum(0, blocks))];
    match found == expected {
        true => Ok(()),
        false => Err(EngineError::WrongAnswer(format!(
            "{name} holds {found:?} rows, keys and sum instead of {expected:?}"
        ))),
    }
}

/// Checks that each row has a page of its own; gives the note about it, also where this right is missing and it is unknown.
fn prove(control: &mut Connection, server: &Server, table: &str, blocks: u64) -> Result<String, EngineError> {
    let counted = control.rows(&fill(include_str!("../sql/blocks_pages.sql"), &[("table", table)]));
    let pages = match counted {
        Ok(rows) => rows.first().and_then(|row| whole(row, 0)).and_then(|pages| u64::try_from(pages).ok()),
        Err(cause @ Fault::Server(_)) if server.is_babelfish() => {
            return Ok(format!("not proved: the server does not count pages ({})", advice(&cause)));
        }
        Err(cause) => return Err(query("count the pages of a table", &cause)),
    };
    match pages {
        Some(pages) if (blocks..=blocks + blocks / 50 + 8).contains(&pages) => {
            Ok(format!("{pages} data pages in sys.allocation_units"))
        }
        None => Ok("not proved: the login may not see sys.allocation_units".to_owned()),
        Some(pages) => Err(failed(
            "place one row on each page",
            format!("{blocks} rows take {pages} pages; is the database compressed?"),
        )),
    }
}

fn table_sql(rows: &Rows<'_>, buckets: Option<u64>) -> String {
    let (template, spec) = (insert_template(rows), rows.spec);
    let durability = if spec.table == Table::Durable { "SCHEMA_AND_DATA" } else { "SCHEMA_ONLY" };
    match buckets {
        None => template.fill(DIALECT.rows),
        Some(buckets) => template
            .with("buckets", buckets)
            .with("durability", durability)
            .fill(include_str!("../sql/rows_memory.sql")),
    }
}

fn check_settings(control: &mut Connection, database: &Database, spec: &Insert) -> Result<(), EngineError> {
    let name = database.server.database();
    if database.buckets.is_some() {
        let has = control.rows(include_str!("../sql/memory_filegroup.sql"));
        if !has.is_ok_and(|rows| rows.first().and_then(|row| text(row, 0)).is_some()) {
            let why = format!(
                "database '{name}' has no filegroup for tables in memory: ALTER DATABASE [{name}] ADD FILEGROUP … \
                 CONTAINS MEMORY_OPTIMIZED_DATA, with a file; or measure with --set storage=disk"
            );
            return Err(failed("use tables in memory", why));
        }
    }
    let found = control.rows(include_str!("../sql/delayed_durability.sql"));
    let found = found.ok().and_then(|rows| text(rows.first()?, 0)).unwrap_or_default();
    let why = match (spec.durability, found.trim()) {
        (Durability::Relaxed, "ALLOWED" | "FORCED") | (Durability::Full, "DISABLED" | "ALLOWED" | "") => {
            return Ok(());
        }
        (Durability::Relaxed, "") => {
            "the server has no delayed durability: measure with --set durability=full"
        }
        (Durability::Relaxed, _) => {
            "the study asks for delayed durability, which the database does not allow; threadwise does not change \
             that: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, or measure with --set durability=full"
        }
        (Durability::Full, _) => {
            "the study asks for commits that wait for the log, and the database delays all of them; threadwise does \
             not change that: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, or --set durability=relaxed"
        }
    };
    Err(failed(format!("check the durability of commits in database '{name}'"), why))
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
