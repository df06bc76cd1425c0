//! One session of `logical-io` on SQLite: settings and their read-back, warm-up, steps.

use rusqlite::{CachedStatement, Connection, OpenFlags};
use std::path::{Path, PathBuf};
use threadwise_study::SessionSlice;

use super::super::error::failed;
use super::super::ffi::{CacheCounters, take_cache_counters};
use super::super::files::PAGE_BYTES;
use super::super::settings::{expect, initialise, query, refuse_shared_cache_group, set};
use super::data;
use super::spec::spec;
use crate::worker::{StepResult, step_loop};
use crate::workloads::logical_io::{self, LogicalIo, Step, Steps};
use crate::{EngineError, Session, SessionRequest, Window};

/// A step that reads.
pub const READ_SQL: &str = include_str!("read.sql");

/// A step that updates.
const UPDATE_SQL: &str = include_str!("update.sql");

/// What the plan of a step must contain: a search by the index, then a fetch of the row.
const PLAN: &str = "USING INDEX blocks_by_k (k>? AND k<?)";

/// Pages of the cache beyond those of the file.
const SPARE_PAGES: u64 = 256;

/// A connection with its workload.
#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
    file: PathBuf,
    spec: LogicalIo,
    steps: Steps,
    /// Sum of all readings of the connection's counters.
    totals: CacheCounters,
}

impl SqliteSession {
    /// Opens the session's file with the settings that the module describes.
    ///
    /// # Errors
    /// Missing data, a setting that SQLite does not accept, or a plan that does not read rows.
    pub fn open(request: &SessionRequest) -> Result<Self, EngineError> {
        initialise()?;
        let spec = spec(&request.load)?;
        let file = data::session_file(&request.load, &spec, request.session);
        if !file.is_file() {
            let why = format!(
                "{} is missing; load the data for {} sessions first",
                file.display(),
                request.sessions
            );
            return Err(failed("open its data", why));
        }
        let connection = connect(&file, &spec)?;
        check_plan(&connection, READ_SQL)?;
        if spec.updates() {
            check_plan(&connection, UPDATE_SQL)?;
        }
        let steps = Steps::new(spec, request.seed, request.session);
        Ok(Self { connection, file, spec, steps, totals: CacheCounters::default() })
    }

    /// The connection, for measuring against a loop without this crate's accounting.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Reads everything: the step's own statement over the whole range visits every page.
    fn read_all(&self) -> Result<CacheCounters, EngineError> {
        let mut read = prepare(&self.connection, READ_SQL)?;
        take(&self.connection)?;
        let whole = Step { first: 0, update: false };
        read_step(&mut read, whole, self.spec.blocks).map_err(|error| match error {
            EngineError::WrongAnswer(why) => {
                EngineError::WrongAnswer(format!("{}: {why}", self.file.display()))
            }
            other => other,
        })?;
        take(&self.connection)
    }
}

impl Session for SqliteSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        self.read_all()?;
        let second = self.read_all()?;
        if second.misses == 0 {
            return Ok(());
        }
        let why = format!(
            "not cached: the second pass over {} fetched {} pages",
            self.file.display(),
            second.misses
        );
        Err(failed("keep its data in the cache", why))
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { connection, spec, steps, totals, .. } = self;
        let connection = &*connection;
        let mut read = prepare(connection, READ_SQL)?;
        let mut update = if spec.updates() { Some(prepare(connection, UPDATE_SQL)?) } else { None };
        let (count, think_ns) = (spec.work_unit, spec.think_time_ns());
        step_loop(
            window,
            || {
                let step = steps.draw();
                match &mut update {
                    Some(update) if step.update => update_step(update, step, count)?,
                    _ => read_step(&mut read, step, count)?,
                }
                Ok(StepResult { rows: count, checked: 1, wrong: 0, think_ns })
            },
            || {
                let since = take(connection)?;
                totals.hits += since.hits;
                totals.misses += since.misses;
                Ok([("logical_reads", totals.hits + totals.misses), ("physical_reads", totals.misses)])
            },
        )
    }
}

fn read_step(read: &mut CachedStatement<'_>, step: Step, count: u64) -> Result<(), EngineError> {
    let last = step.first + count - 1;
    let answer: (i64, Option<i64>) = read
        .query_row([step.first as i64, last as i64], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|cause| failed(format!("read keys {} to {last}", step.first), cause))?;
    let expected = (count as i64, Some(logical_io::range_sum(step.first, count)));
    if answer == expected {
        return Ok(());
    }
    let sum = answer.1.map_or("no sum".into(), |sum| format!("sum {sum}"));
    Err(EngineError::WrongAnswer(format!(
        "keys {} to {last} gave {} rows and {sum} instead of {count} rows and sum {}",
        step.first,
        answer.0,
        logical_io::range_sum(step.first, count)
    )))
}

fn update_step(update: &mut CachedStatement<'_>, step: Step, count: u64) -> Result<(), EngineError> {
    let last = step.first + count - 1;
    let changed = update
        .execute([step.first as i64, last as i64])
        .map_err(|cause| failed(format!("update keys {} to {last}", step.first), cause))?;
    if changed as u64 == count {
        return Ok(());
    }
    let why =
        format!("the update of keys {} to {last} changed {changed} rows instead of {count}", step.first);
    Err(EngineError::WrongAnswer(why))
}

fn prepare<'a>(connection: &'a Connection, sql: &str) -> Result<CachedStatement<'a>, EngineError> {
    connection.prepare_cached(sql).map_err(|cause| failed("prepare a step", cause))
}

fn take(connection: &Connection) -> Result<CacheCounters, EngineError> {
    take_cache_counters(connection)
        .map_err(|code| failed("read its cache counters", format!("result code {code}")))
}

fn connect(file: &Path, spec: &LogicalIo) -> Result<Connection, EngineError> {
    let access = match spec.updates() {
        true => OpenFlags::SQLITE_OPEN_READ_WRITE,
        false => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let connection = Connection::open_with_flags(file, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|cause| failed("open its data", format!("{}: {cause}", file.display())))?;
    refuse_shared_cache_group(&connection)?;
    expect(&connection, "page_size", PAGE_BYTES as i64)?;
    set(&connection, "mmap_size", "0", 0_i64)?;
    let pages: i64 = query(&connection, "page_count")?;
    let cache_pages = pages + SPARE_PAGES as i64;
    set(&connection, "cache_size", &cache_pages.to_string(), cache_pages)?;
    // In this mode the connection keeps the lock of its first read: no lock calls and no check for other
    // writers at every step. Readers of one shared file hold shared locks at the same time.
    set(&connection, "locking_mode", "EXCLUSIVE", "exclusive".to_owned())?;
    set(&connection, "synchronous", "OFF", 0_i64)?;
    set(&connection, "temp_store", "MEMORY", 2_i64)?;
    if spec.updates() {
        set(&connection, "journal_mode", "MEMORY", "memory".to_owned())?;
    }
    Ok(connection)
}

/// Refuses a plan that would answer from the index alone, or read the whole table.
fn check_plan(connection: &Connection, sql: &str) -> Result<(), EngineError> {
    let action = "plan a step";
    let mut statement =
        connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).map_err(|cause| failed(action, cause))?;
    let lines: Vec<String> = statement
        .query_map([0_i64, 0], |row| row.get(3))
        .and_then(Iterator::collect)
        .map_err(|cause| failed(action, cause))?;
    match lines.as_slice() {
        [line] if line.contains(PLAN) => Ok(()),
        _ => Err(failed(action, format!("the plan is '{}' instead of '{PLAN}'", lines.join("; ")))),
    }
}

#[cfg(test)]
mod tests;
