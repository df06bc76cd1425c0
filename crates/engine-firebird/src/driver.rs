//! The driver: sessions are programs, and what Firebird does in its own way.
//!
//! One row a page: two do not fit, and the number of pages that a program with an empty cache reads shows that none
//! extends to a second page. The index is a B-tree apart from the rows; Firebird collects row numbers from it and
//! visits each row's page, since no answer comes from an index alone.

use std::fmt::{Arguments, Write as _};
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::insert::{Durability, Insert};
use threadwise_engine::workloads::logical_io::{range_sum, shuffled_keys};
use threadwise_engine_sql::{
    Blocks, Connection, Dialect, Driver, Keys, Names, Observer, Opened, Parameter, Rows, Spec, SqlWorkload,
    Usage, Value, fill, insert_template, numbers,
};
use threadwise_machine::CpuSet;
use threadwise_process::masks;
use threadwise_process::proc::thread_numbers;
use threadwise_study::Counters;

use crate::dialect::DIALECT;
use crate::error::failed;
use crate::home::{DATABASE, Home};
use crate::isql::Isql;
use crate::programs::Programs;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Keys of one call of a load; a statement has at most 64 KiB.
const KEYS: usize = 1250;

/// A note for every treatment.
pub(crate) const EACH_A_PROGRAM: &str =
    "each session is a separate program with its own engine and page cache (ServerMode = Classic)";

/// A database in a home.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub home: Home,
    pub programs: Programs,
    /// Logical CPUs of the control program; empty for those of the caller.
    pub service: CpuSet,
}

impl Connection for Isql {
    type Statement = String;

    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.define(action, sql)
    }

    fn rows(&mut self, action: &str, sql: &str, _: &[Parameter<'_>]) -> Result<Vec<Vec<Value>>, EngineError> {
        let value = |(_, text): (String, String)| match text.as_str() {
            "<null>" => Value::Null,
            _ => Value::Text(text),
        };
        let rows = self.counted_rows(action, sql)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect())
    }

    fn prepare(&mut self, sql: &str) -> Result<String, EngineError> {
        Ok(sql.to_owned())
    }

    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &String,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError> {
        let mut sql = statement.clone();
        for parameter in parameters {
            let text = match parameter {
                Parameter::Int(number) => number.to_string(),
                Parameter::Big(number) => number.to_string(),
                Parameter::Text(_) => return Err(failed(action.to_string(), "texts are not sent to isql")),
            };
            sql = sql.replacen('?', &text, 1);
        }
        let rows = self.rows(&action.to_string(), &sql, &[])?;
        let Some(row) = rows.first() else { return Ok(false) };
        answer.iter_mut().zip(row).for_each(|(number, value)| *number = value.whole());
        Ok(true)
    }

    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &String,
        _: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError> {
        self.define(&action.to_string(), statement).map(|()| None)
    }

    /// Of all threads of the program, and the pages of its statements.
    fn usage(&mut self, _: Option<Thread>) -> Result<Usage, EngineError> {
        Ok(self.used())
    }

    fn close(&mut self) {
        self.end();
    }
}

impl Isql {
    /// What the program has used so far.
    pub(crate) fn used(&self) -> Usage {
        let (pid, pages) = (self.pid(), self.pages);
        Usage {
            reads: Some([pages.fetches, pages.reads]),
            counted: [Some(("pages_written", pages.writes)), None, None],
            ..Usage::of_threads(pid, thread_numbers(pid))
        }
    }
}

/// Nothing is counted or seen but what sessions count themselves: reading MON$IO_STATS would ask the programs of all
/// sessions for theirs (see `counters`).
pub(crate) struct Nothing;

impl Observer<Isql> for Nothing {
    fn begin(&mut self, _: &mut Isql) -> Result<(), EngineError> {
        Ok(())
    }

    fn end(&mut self, _: &mut Isql) -> Result<Counters, EngineError> {
        Ok(Counters::new())
    }

    fn waits(&mut self, _: &mut Isql, _: &[i64]) -> Result<Option<Vec<String>>, EngineError> {
        Ok(None)
    }
}

impl Database {
    fn start(&self) -> Result<Isql, EngineError> {
        Isql::start(&self.home, &self.programs.isql, &[DATABASE])
    }
}

impl Driver for Database {
    type Connection = Isql;
    type Observer = Nothing;

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn schema(&self) -> &str {
        ""
    }

    fn user(&self) -> &str {
        ""
    }

    fn connect(&self, _: &str) -> Result<Isql, EngineError> {
        let isql = self.start()?;
        let threads = if self.service.is_empty() { Vec::new() } else { thread_numbers(isql.pid()) };
        let place = |tid| masks::set_thread(tid, &self.service);
        let placed = threads.into_iter().try_for_each(place);
        placed.map_err(|cause| failed("place the control session", cause))?;
        Ok(isql)
    }

    fn open(&self, _: &SqlWorkload, _: u32) -> Result<Opened<Isql>, EngineError> {
        let connection = self.start()?;
        let pid = connection.pid();
        Ok(Opened { connection, id: i64::from(pid), backend: Ok((pid, pid)), is_near: true, at_end: None })
    }

    fn observe(&self, _: &mut Isql, _: &SqlWorkload) -> Result<(Nothing, Vec<String>), EngineError> {
        Ok((Nothing, vec![EACH_A_PROGRAM.to_owned()]))
    }

    fn control_thread(&self, control: &mut Isql) -> Result<Result<Thread, String>, EngineError> {
        Ok(Ok((control.pid(), control.pid())))
    }

    fn fill_blocks(&self, control: &mut Isql, blocks: &Blocks<'_>, seed: u64) -> Result<(), EngineError> {
        let (table, base) = (blocks.table(), VALUE_BASE.to_string());
        let sql = fill(include_str!("sql/blocks_fill.sql"), &[("table", &table), ("base", &base)]);
        control.define("create a procedure", &sql)?;
        let keys = shuffled_keys(seed, blocks.spec.blocks);
        keys.chunks(KEYS).try_for_each(|keys| call(control, "fill_blocks", keys, 10))
    }

    /// The pages that a program with an empty cache reads for all rows.
    fn prove_blocks(&self, _: &mut Isql, blocks: &Blocks<'_>) -> Result<String, EngineError> {
        let (mut other, rows) = (self.start()?, blocks.spec.blocks);
        let reads = reads(&mut other, |isql| check_all(isql, blocks))?;
        // A pointer page for every thousand pages, and pages that the statements themselves need.
        if (rows..=rows + rows / 50 + 200).contains(&reads) {
            return Ok(format!(
                "{rows} rows, one on each page of {} bytes: an empty cache takes {reads} page reads for all",
                DIALECT.block_bytes
            ));
        }
        Err(failed("place one row on each page", format!("{rows} rows took {reads} page reads")))
    }

    /// Refuses a plan that would read the whole table.
    fn plan(&self, connection: &mut Isql, blocks: &Blocks<'_>) -> Result<Option<String>, EngineError> {
        let last = blocks.spec.work_unit - 1;
        let from = format!("from {} where k between 0 and {last}", blocks.table());
        let plan = connection.plan(&format!("select count(*), sum(value_ + twin) {from}"))?;
        match plan.contains(&format!("INDEX (BY_K_{})", blocks.bare().to_uppercase())) {
            true => Ok(Some(plan)),
            false => {
                Err(failed("plan a step", format!("the plan is '{plan}' instead of a range of the index")))
            }
        }
    }

    /// Proves that the data stays in the session's cache: a second reading of everything fetches hardly a page from the
    /// file.
    fn warm_blocks(&self, connection: &mut Isql, blocks: &Blocks<'_>) -> Result<(), EngineError> {
        let rows = blocks.spec.blocks;
        let sql = format!("select count(*) from {} where k between 0 and {rows}", blocks.table());
        let all = |isql: &mut Isql| {
            check_all(isql, blocks)?;
            match numbers(isql, "read the whole index", &sql)? {
                [found] if found == i64::try_from(rows).ok() => Ok(()),
                [found] => {
                    let (table, found) = (blocks.number, found.unwrap_or_default());
                    let why = format!("the index of table {table} has {found} keys instead of {rows}");
                    Err(EngineError::WrongAnswer(why))
                }
            }
        };
        all(connection)?;
        let reads = reads(connection, all)?;
        // A few pages are read in any case, however small the table: apparently those that other programs'
        // transactions change, such as the header.
        match reads <= rows / 100 + 64 {
            true => Ok(()),
            false => Err(failed(
                "keep the data in memory",
                format!(
                    "not cached: reading it again read {reads} pages from the file; raise --engine-option cache_pages, \
                     or make the data smaller (--set data_mib=N)"
                ),
            )),
        }
    }

    fn make_rows(&self, control: &mut Isql, rows: &Rows<'_>, keys: &mut Keys<'_>) -> Result<(), EngineError> {
        let template = insert_template(rows);
        control.define("create a table", &template.fill(DIALECT.rows))?;
        let index = format!("alter table {} add constraint by_c1 primary key (c1)", rows.table());
        control.define("create an index", &index)?;
        control.define("create a procedure", &template.fill(include_str!("sql/rows_fill.sql")))?;
        let keys: Vec<i64> = keys.collect();
        keys.chunks(KEYS).try_for_each(|keys| call(control, "fill_rows", keys, 20))
    }

    fn insert_note(&self, _: &Insert) -> Option<String> {
        let note = "Firebird stores a row's 111 equal characters in a few bytes; each step is an autonomous transaction";
        Some(note.to_owned())
    }

    fn standing(
        &self,
        _: &mut Isql,
        workload: &SqlWorkload,
        _: &Names<'_>,
        _: u32,
    ) -> Result<Vec<String>, EngineError> {
        let note = match workload.spec {
            Spec::LogicalIo(_) => {
                "logical_reads are page fetches, as MON$IO_STATS has them; a row costs more than one, for the pointer page \
                 and the index"
            }
            _ => {
                "pages that two sessions change travel between their caches through the file, as in a Classic server and \
                 unlike a SuperServer"
            }
        };
        Ok(vec![note.to_owned()])
    }

    /// Refuses a database with another durability of commits.
    fn check(&self, control: &mut Isql, workload: &SqlWorkload) -> Result<(), EngineError> {
        if !matches!(workload.spec, Spec::Insert(_)) {
            return Ok(());
        }
        let (action, wanted) = ("check the durability of commits", i64::from(forced_writes(workload)));
        let [found] = numbers(control, action, "select mon$forced_writes from mon$database")?;
        match found == Some(wanted) {
            true => Ok(()),
            false => {
                let found = found.unwrap_or_default();
                Err(failed(action, format!("forced writes are {found} instead of {wanted}")))
            }
        }
    }
}

/// Whether commits wait for the disk.
pub(crate) fn forced_writes(workload: &SqlWorkload) -> bool {
    workload.durability() == Some(Durability::Full)
}

/// Calls a procedure of the load with these keys, each as a text of this width.
fn call(
    control: &mut Isql,
    procedure: &str,
    keys: &[impl std::fmt::Display],
    width: usize,
) -> Result<(), EngineError> {
    let mut text = String::with_capacity(width * keys.len());
    for key in keys {
        // Writing to a String cannot fail.
        let _ = write!(text, "{key:>width$}");
    }
    Isql::run(control, "load rows", &format!("execute procedure {procedure}('{text}')"))
}

/// Reads all rows of a table, and checks their contents.
fn check_all(isql: &mut Isql, blocks: &Blocks<'_>) -> Result<(), EngineError> {
    let (rows, number) = (blocks.spec.blocks, blocks.number);
    let sql = format!("select count(*), sum(value_ + twin) from {}", blocks.table());
    let held = numbers(isql, "read the whole table", &sql)?;
    let expected = [i64::try_from(rows).ok(), Some(range_sum(0, rows))];
    if held == expected {
        return Ok(());
    }
    let [[held, sum], [rows, expected]] = [held, expected].map(|both| both.map(Option::unwrap_or_default));
    let why = format!("table {number} holds {held} rows with sum {sum} instead of {rows} with {expected}");
    Err(EngineError::WrongAnswer(why))
}

/// Pages that a program reads from the file for something.
fn reads(
    isql: &mut Isql,
    read: impl FnOnce(&mut Isql) -> Result<(), EngineError>,
) -> Result<u64, EngineError> {
    let before = isql.pages.reads;
    read(isql)?;
    Ok(isql.pages.reads - before)
}
