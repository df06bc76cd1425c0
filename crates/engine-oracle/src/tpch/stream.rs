//! A stream of queries on one connection.
//!
//! What is measured of a query:
//!
//! - Its time from the call to the last row in the client. Planning is part of it, since a statement is parsed, planned and
//!   executed in one call; its plan is in the library cache after the first time, which the warm-up is.
//! - CPU time of a serial query: the session's DB CPU. Of a parallel one: V$SQL.CPU_TIME of its cursor, which the coordinator
//!   and the parallel execution servers add to (Oracle Database Reference 19c, "V$SQL"). V$PX_SESSTAT has a server's
//!   statistics only while that works. Each session's text is its own by a comment, so that no other session adds to its
//!   cursor.
//! - The degree of parallelism from V$PQ_SESSTAT (DOP of the last query), which a session can ask for itself alone.
//! - The executed plan from V$SQL_PLAN: of the cursor with the text's SQL_ID (the proxy computes it) whose executions grew.

use std::collections::BTreeMap;
use std::sync::Arc;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::tpch;
use threadwise_engine::{EngineError, clock};
use threadwise_engine_sql::tpch::{QueryFault, QueryStream, Setup, Texts, qualified, time_left};
use threadwise_engine_sql::{Connection, Opened, Parameter, Usage, Value};
use threadwise_study::{Counters, QueryExecution};

use super::plan;
use crate::connection::{OracleConnection, Prepared};
use crate::error::failed;
use crate::meter::{text, whole};

/// Errors of a call whose time was over.
const CANCELLED: [&str; 2] = ["DPY-4024", "ORA-01013"];

const NO_PLAN: &str = "plans and the CPU time of parallel queries are not known: the account lacks SELECT on V_$SQL and \
                       V_$SQL_PLAN (GRANT SELECT ON SYS.V_$… TO the account)";
const NO_DOP: &str = "observed degree of parallelism unknown: the account lacks SELECT on V_$PQ_SESSTAT (GRANT SELECT ON \
                      SYS.V_$PQ_SESSTAT TO the account)";

const ACTION: &str = "read how a query was executed";

/// What all executions of a statement took, by its plans: executions, CPU time in microseconds, bytes read and written.
type Cursors = BTreeMap<i64, [u64; 4]>;

/// A stream's connection.
pub(crate) struct OracleStream {
    connection: OracleConnection,
    backend: Option<Thread>,
    setup: Arc<Setup>,
    number: u32,
    /// Queries by their texts, prepared, with their SQL_ID.
    queries: BTreeMap<String, (Prepared, String)>,
    sees_cursors: bool,
    sees_dop: bool,
}

impl OracleStream {
    /// Of a connection that was set up.
    pub(super) fn new(opened: Opened<OracleConnection>, setup: &Arc<Setup>, number: u32) -> Opened<Self> {
        let (backend, setup) = (opened.backend.clone().ok(), Arc::clone(setup));
        opened.map(|connection| Self {
            connection,
            backend,
            setup,
            number,
            queries: BTreeMap::new(),
            sees_cursors: false,
            sees_dop: false,
        })
    }

    fn cursors(&mut self, sql_id: &str) -> Result<Option<Cursors>, EngineError> {
        let id = [Parameter::Text(sql_id)];
        let found = self.connection.maybe(ACTION, include_str!("../sql/query_usage.sql"), &id)?;
        let count = |row: &[Value], at: usize| whole(row, at).map_or(0, |count| count.max(0).unsigned_abs());
        let cursor = |row: &Vec<Value>| Some((whole(row, 0)?, [1, 2, 3, 4].map(|at| count(row, at))));
        Ok(found.map(|rows| rows.iter().filter_map(cursor).collect()))
    }

    fn plan(&mut self, sql_id: &str, child: i64) -> Result<Option<String>, EngineError> {
        let cursor = [Parameter::Text(sql_id), Parameter::Big(child)];
        let rows = self.connection.maybe(ACTION, include_str!("../sql/query_plan.sql"), &cursor)?;
        let plan = rows.map(|rows| plan::canonical(&rows, &self.setup.schema));
        Ok(plan)
    }

    /// The degree of parallelism of the session's last query.
    fn dop(&mut self) -> Result<Option<u32>, EngineError> {
        let Some(rows) = self.connection.maybe(ACTION, include_str!("../sql/query_parallel.sql"), &[])?
        else {
            return Ok(None);
        };
        let number = |name: &str| {
            let row = rows.iter().find(|row| text(row, 0) == Some(name))?;
            whole(row, 1).and_then(|number| u32::try_from(number).ok())
        };
        let dop = [number("DOP"), number("Allocation Height")].into_iter().flatten().find(|dop| *dop > 0);
        Ok(Some(if number("Queries Parallelized") == Some(0) { 1 } else { dop.unwrap_or(1) }))
    }

    fn usage(&mut self) -> Result<Usage, EngineError> {
        self.connection.usage(self.backend)
    }
}

/// The plan that was executed in between, and what that took.
fn grown(before: &Cursors, after: &Cursors) -> Option<(i64, [u64; 4])> {
    after.iter().find_map(|(child, now)| {
        let then = before.get(child).copied().unwrap_or_default();
        let since = std::array::from_fn(|at| now[at].saturating_sub(then[at]));
        (now[0] > then[0]).then_some((*child, since))
    })
}

/// The text with a hint after the first SELECT outside of brackets, which is the main query's: the others of a WITH are
/// in brackets.
fn hinted(sql: &str, hint: &str) -> Option<String> {
    let mut depth = 0;
    let mut quoted = false;
    for (at, letter) in sql.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        let word = sql.get(at..at + 6).filter(|_| depth == 0 && !quoted);
        if word.is_some_and(|word| word.eq_ignore_ascii_case("select")) {
            let (begin, rest) = sql.split_at(at + 6);
            return Some(format!("{begin} /*+ {hint} */{rest}"));
        }
    }
    None
}

impl QueryStream for OracleStream {
    fn text(&self, query: u8, sql: String) -> Result<String, EngineError> {
        let Setup { dop, schema, .. } = &*self.setup;
        let hint = if *dop > 1 { format!("PARALLEL({dop})") } else { "NO_PARALLEL".to_owned() };
        let text: Vec<&str> = sql.lines().filter(|line| !line.starts_with("--")).collect();
        let text = hinted(&qualified(&text.join("\n"), schema), &hint).ok_or_else(|| {
            failed(format!("read query {}", tpch::name(query)), "it has no SELECT; start the study again")
        })?;
        Ok(format!("{text}\n/* threadwise stream {} */", self.number))
    }

    /// A large table may go around the buffer cache (serial direct path reads).
    fn warm(&mut self, reads: &[String], texts: &Texts) -> Result<(), EngineError> {
        for (query, text) in texts {
            let planned = self.connection.parse(text);
            let planned = planned
                .map_err(|cause| failed(format!("plan query {}", tpch::name(*query)), cause.advice()))?;
            self.queries.insert(text.clone(), planned);
        }
        self.sees_cursors = self.cursors("")?.is_some() && self.plan("", 0)?.is_some();
        self.sees_dop = self.setup.dop > 1 && self.dop()?.is_some();
        if !self.sees_cursors {
            self.setup.notes.add(NO_PLAN);
        }
        if self.setup.dop > 1 && !self.sees_dop {
            self.setup.notes.add(NO_DOP);
        }
        reads.iter().try_for_each(|sql| self.connection.run("read the tables once", sql))
    }

    /// CPU time is that of the queries.
    fn used(&mut self) -> Usage {
        self.usage().map_or_else(|_| Usage::default(), |used| Usage { cpu_ns: 0, ..used })
    }

    fn client_cpu_ns(&self) -> u64 {
        self.connection.client_cpu_ns()
    }

    fn execute(&mut self, text: &str, until_ns: u64) -> Result<QueryExecution, QueryFault> {
        let Some((text, (prepared, sql_id))) = self.queries.remove_entry(text) else {
            return Err(QueryFault::Failed("it was not planned".to_owned()));
        };
        let done = self.measured(&prepared, &sql_id, until_ns);
        self.queries.insert(text, (prepared, sql_id));
        done
    }
}

impl OracleStream {
    /// One execution. What it used is read outside of its time.
    fn measured(
        &mut self,
        prepared: &Prepared,
        sql_id: &str,
        until_ns: u64,
    ) -> Result<QueryExecution, QueryFault> {
        let is_parallel = self.setup.dop > 1;
        let cursors = if self.sees_cursors { self.cursors(sql_id)? } else { None };
        let before = self.usage()?;
        let limit_ms = u32::try_from(time_left(until_ns).as_millis()).unwrap_or(u32::MAX);
        self.connection.limit(limit_ms)?;
        let began_ns = clock::monotonic_ns();
        let answered = self.connection.execute(prepared, &[]);
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        let rows = answered.map_err(|cause| match CANCELLED.contains(&cause.code.as_str()) {
            true => QueryFault::Cancelled(cause.advice()),
            false => QueryFault::Failed(cause.advice()),
        })?;
        self.connection.limit(0)?;
        // First, since it is about the last query.
        let dop = if !is_parallel {
            Some(1)
        } else if self.sees_dop {
            self.dop()?
        } else {
            None
        };
        let after = self.usage()?;
        let since = match cursors {
            Some(before) => self.cursors(sql_id)?.and_then(|after| grown(&before, &after)),
            None => None,
        };
        let plan = match since {
            Some((child, _)) => self.plan(sql_id, child)?.filter(|plan| !plan.is_empty()),
            None => None,
        };
        let cpu_ns = match is_parallel {
            true => since.map(|(_, [_, cpu_us, ..])| cpu_us * 1000),
            false => self.connection.meter.has_time.then(|| after.cpu_ns.saturating_sub(before.cpu_ns)),
        };
        let counters =
            since.map(|(_, [_, _, read, written])| [("read_bytes", read), ("spill_bytes", written)]);
        let counters: Counters =
            counters.into_iter().flatten().map(|(name, count)| (name.to_owned(), count)).collect();
        let answer = rows.rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect();
        let answer = Some(answer);
        Ok(QueryExecution { elapsed_ns, cpu_ns, dop, plan, counters, answer, ..QueryExecution::default() })
    }
}

/// A value of an answer: CHAR without the blanks at its end.
fn shown(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Whole(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.trim_end_matches(' ').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_tpch::{Dialect, Parameters, sql};

    #[test]
    fn the_hint_is_the_main_querys() {
        assert_eq!(
            hinted("WITH a AS (SELECT 1 FROM x) SELECT (SELECT 2) FROM a", "PARALLEL(3)").unwrap(),
            "WITH a AS (SELECT 1 FROM x) SELECT /*+ PARALLEL(3) */ (SELECT 2) FROM a"
        );
        assert_eq!(hinted("(SELECT 1)", "X"), None);
        for query in 1..=22 {
            let parameters = Parameters::validation(query, 1.0).unwrap();
            let text = qualified(&sql(Dialect::Oracle, query, &parameters).unwrap(), "TW_");
            assert!(text.contains("TW_") && hinted(&text, "X").is_some(), "query {query}: {text}");
        }
    }

    #[test]
    fn the_cursor_that_was_executed_is_the_one_that_grew() {
        let before = Cursors::from([(0, [3, 50, 8, 1]), (1, [1, 9, 9, 9])]);
        let mut after = before.clone();
        assert_eq!(grown(&before, &after), None);
        after.insert(1, [2, 29, 17, 9]);
        assert_eq!(grown(&before, &after), Some((1, [1, 20, 8, 0])));
        after.insert(2, [1, 5, 0, 0]);
        assert_eq!(grown(&before, &after).unwrap().0, 1);
    }
}
