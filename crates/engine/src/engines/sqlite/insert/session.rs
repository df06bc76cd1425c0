//! One session of `insert` on SQLite: settings and their read-back, warm-up, transactions.

use rusqlite::{Connection, OpenFlags, Statement};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_study::SessionSlice;

use super::super::error::failed;
use super::super::ffi::{CacheCounters, take_cache_counters};
use super::super::files::{PAGE_BYTES, Space};
use super::super::settings::{expect, refuse_shared_cache_group, set};
use super::data::{self, Facts};
use super::spec::Spec;
use super::tally::{Tally, check_rows};
use super::waits::{self, Waits};
use crate::worker::fixed::fixed_work;
use crate::worker::{StepResult, step_loop};
use crate::workloads::insert::{Durability, Key, RandomKeys, Table, first_key, key_check};
use crate::{EngineError, Session, SessionRequest, Window};

/// Parameters shared by all rows of the statement: time, text, session.
const COMMON_PARAMETERS: usize = 3;

/// Parameters of each row: key, number in the transaction, number in the session.
const ROW_PARAMETERS: usize = 3;

/// A connection with its workload.
#[derive(Debug)]
pub(super) struct InsertSession {
    connection: Connection,
    file: PathBuf,
    spec: Spec,
    facts: Facts,
    sql: String,
    writer: Writer,
    tally: Arc<Tally>,
    waits: Arc<Waits>,
    space: Space,
    /// Sum of all readings of the connection's counters.
    totals: CacheCounters,
}

impl InsertSession {
    /// Opens the session's file with the settings that the module describes.
    ///
    /// # Errors
    /// A setting that SQLite does not accept.
    pub(super) fn open(
        request: &SessionRequest,
        spec: Spec,
        facts: &Facts,
        file: &Path,
        tally: Arc<Tally>,
    ) -> Result<Self, EngineError> {
        let waits = Arc::new(Waits::default());
        let connection = connect(file, &spec, data::cache_pages(&spec, facts, request.sessions), &waits)?;
        Ok(Self {
            connection,
            file: file.to_owned(),
            spec,
            facts: *facts,
            sql: insert_sql(spec.rows.rows_per_tx),
            writer: Writer::new(&spec, request),
            tally,
            waits,
            space: data::space(&request.load, &spec),
            totals: CacheCounters::default(),
        })
    }

    /// Its waits for the writer, to be read from another thread.
    #[cfg(test)]
    pub(super) fn waits(&self) -> Arc<Waits> {
        Arc::clone(&self.waits)
    }
}

impl Session for InsertSession {
    /// Reads the whole table, which is still as seeded: all sessions are warm before one works.
    fn warm(&mut self) -> Result<(), EngineError> {
        check_rows(&self.connection, &self.file, (self.facts.rows, self.facts.key_sum))
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { connection, spec, sql, writer, tally, waits, space, totals, .. } = self;
        let connection = &*connection;
        // Counts from between slices belong to none.
        add_cache_counters(connection, totals)?;
        let mut insert =
            connection.prepare_cached(sql).map_err(|cause| failed("prepare a transaction", cause))?;
        writer.bind_common(&mut insert).map_err(|cause| failed("prepare a transaction", cause))?;
        let (rows_before, sum_before) = (writer.rows, writer.key_sum);
        let rows = spec.rows.rows_per_tx;
        let step = || {
            let changed =
                writer.transaction(&mut insert, rows).map_err(|cause| space.sqlite("insert rows", &cause))?;
            if changed as u64 == rows {
                return Ok(StepResult { rows, checked: 1, wrong: 0, think_ns: 0 });
            }
            Err(EngineError::WrongAnswer(format!("a transaction inserted {changed} rows instead of {rows}")))
        };
        let counters = || {
            add_cache_counters(connection, totals)?;
            Ok([("cache_write_pages", totals.writes), ("cache_miss_pages", totals.misses)])
        };
        waits.begin(window);
        let done = match spec.rows.rows_per_session {
            Some(all) => fixed_work(window, all, step, counters),
            None => step_loop(window, step, counters),
        };
        tally.add(writer.rows - rows_before, writer.key_sum - sum_before);
        let mut slice = done?;
        let (busy_waits, busy_wait_ns) = waits.read();
        slice.counters.insert("busy_waits".to_owned(), busy_waits);
        slice.counters.insert("busy_wait_ns".to_owned(), busy_wait_ns);
        Ok(slice)
    }
}

fn add_cache_counters(connection: &Connection, totals: &mut CacheCounters) -> Result<(), EngineError> {
    let since = take_cache_counters(connection)
        .map_err(|code| failed("read its cache counters", format!("result code {code}")))?;
    totals.hits += since.hits;
    totals.misses += since.misses;
    totals.writes += since.writes;
    Ok(())
}

/// A session's inserted rows, and its next keys.
#[derive(Debug)]
struct Writer {
    session: u32,
    keys: Keys,
    rows: u64,
    key_sum: i64,
}

#[derive(Debug)]
enum Keys {
    Next(i64),
    Random(Box<RandomKeys>),
}

impl Iterator for Keys {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        match self {
            Self::Next(next) => {
                *next += 1;
                Some(*next - 1)
            }
            Self::Random(keys) => keys.next(),
        }
    }
}

impl Writer {
    fn new(spec: &Spec, request: &SessionRequest) -> Self {
        let session = request.session;
        let keys = match spec.rows.key {
            Key::Sequential => Keys::Next(first_key(session)),
            Key::Random => Keys::Random(Box::new(RandomKeys::new(request.seed, u64::from(session) + 1))),
        };
        Self { session, keys, rows: 0, key_sum: 0 }
    }

    /// Binds the values that do not change between transactions; they stay bound until the statement goes back
    /// to the cache.
    fn bind_common(&self, insert: &mut Statement<'_>) -> Result<(), rusqlite::Error> {
        insert.raw_bind_parameter(2, data::text())?;
        insert.raw_bind_parameter(3, self.session)
    }

    /// Inserts the next rows and gives the number that SQLite reports. Rows count when it is done.
    fn transaction(&mut self, insert: &mut Statement<'_>, rows: u64) -> Result<usize, rusqlite::Error> {
        insert.raw_bind_parameter(1, now_us())?;
        let mut key_sum = 0;
        for (number, key) in (0..rows as usize).zip(&mut self.keys) {
            let at = COMMON_PARAMETERS + number * ROW_PARAMETERS;
            insert.raw_bind_parameter(at + 1, key)?;
            insert.raw_bind_parameter(at + 2, number as i64)?;
            insert.raw_bind_parameter(at + 3, self.rows as i64 + number as i64)?;
            key_sum += key_check(key);
        }
        let changed = insert.raw_execute()?;
        self.rows += changed as u64;
        self.key_sum += key_sum;
        Ok(changed)
    }
}

/// Microseconds since 1970, as servers store a timestamp; 0 if the clock is earlier.
fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// One INSERT of this many rows: c1 to c6 are key, time, text, session, number in the transaction,
/// number in the session.
fn insert_sql(rows: u64) -> String {
    let mut sql = String::from("INSERT INTO inserts (c1, c2, c3, c4, c5, c6) VALUES");
    for row in 0..rows as usize {
        let at = COMMON_PARAMETERS + row * ROW_PARAMETERS;
        let comma = if row == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(sql, "{comma} (?{}, ?1, ?2, ?3, ?{}, ?{})", at + 1, at + 2, at + 3);
    }
    sql
}

fn connect(
    file: &Path,
    spec: &Spec,
    cache_pages: i64,
    waits: &Arc<Waits>,
) -> Result<Connection, EngineError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)
        .map_err(|cause| failed("open its data", format!("{}: {cause}", file.display())))?;
    connection
        .busy_handler(Some(waits::handler(Arc::clone(waits))))
        .map_err(|cause| failed("count its waits", cause))?;
    refuse_shared_cache_group(&connection)?;
    expect(&connection, "page_size", PAGE_BYTES as i64)?;
    set(&connection, "mmap_size", "0", 0_i64)?;
    set(&connection, "cache_size", &cache_pages.to_string(), cache_pages)?;
    match (spec.rows.table, spec.rows.durability) {
        (Table::Unlogged, _) => {
            set(&connection, "journal_mode", "MEMORY", "memory".to_owned())?;
            set(&connection, "synchronous", "OFF", 0_i64)?;
        }
        (Table::Durable, durability) => {
            expect(&connection, "journal_mode", "wal".to_owned())?;
            expect(&connection, "wal_autocheckpoint", 1000_i64)?;
            match durability {
                Durability::Full => set(&connection, "synchronous", "FULL", 2_i64)?,
                Durability::Relaxed => set(&connection, "synchronous", "NORMAL", 1_i64)?,
            }
        }
    }
    expect(&connection, "locking_mode", "normal".to_owned())?;
    Ok(connection)
}
