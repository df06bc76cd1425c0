//! Executions of queries: stored with their session's part of a slice, each distinct plan once.
//!
//! A plan is read with every execution that had it, so that a file of a few MiB could name one
//! large plan often enough to fill a reader's memory. Their text together has a limit for that
//! ([`PLANS_BYTES`]), which a writer also keeps: what was stored can be read.

use crate::error::Fault;
use crate::value::{BYTES_MAX, COUNT_MAX, Fields, ORDINAL_MAX, all, bounded, fits};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use threadwise_study::tpch::QUERIES;
use threadwise_study::{Counters, QueryExecution, Run, SessionSlice};

/// Longest plan in bytes. One of 60 operators, with lines of 200 characters, has 12 KB.
const PLAN_BYTES: usize = 1 << 20;
/// Most bytes of plan text of all executions of a study together, each with its own copy:
/// 90,000 executions of 3 KB. 40 treatments of 22 queries in 8 blocks are 7,040.
const PLANS_BYTES: u64 = 256 << 20;

/// Ids of the names that a run uses.
pub(crate) type Ids<'r, K> = BTreeMap<K, i64>;

/// Names in a run, and their ids.
pub(crate) struct Names<'r> {
    /// Counters.
    pub counters: Ids<'r, &'r str>,
    /// Plans by their text.
    pub plans: Ids<'r, &'r str>,
}

/// The executions of a run.
pub(crate) fn of_run(run: &Run) -> impl Iterator<Item = &QueryExecution> {
    run.slices.iter().flat_map(|slice| &slice.sessions).flat_map(|session| &session.queries)
}

/// Bytes of plan text of executions, each with its own copy.
fn plan_bytes<'q>(executions: impl Iterator<Item = &'q QueryExecution>) -> u64 {
    executions.filter_map(|one| one.plan.as_ref()).map(|plan| plan.len() as u64).sum()
}

/// Estimated bytes of a run's executions in the file, if all plans are new.
pub(crate) fn bytes_of(run: &Run) -> usize {
    let numbers = |one: &QueryExecution| 60 + 16 * one.counters.len();
    let plans: BTreeMap<&str, usize> =
        of_run(run).filter_map(|one| one.plan.as_deref()).map(|plan| (plan, 2 * plan.len())).collect();
    of_run(run).map(numbers).sum::<usize>() + plans.values().sum::<usize>()
}

/// The bytes of plan text in the file, each execution with its own copy.
pub(crate) fn stored_plan_bytes(connection: &Connection) -> Result<u64, Fault> {
    let sql = "SELECT ifnull(sum(executions * length(CAST(text AS BLOB))), 0)
               FROM (SELECT plan, count(*) AS executions FROM query_executions GROUP BY plan)
               JOIN plans ON plans.id = plan";
    connection.query_row(sql, [], |row| Ok(Fields { row, table: "plans" }.number(0, BYTES_MAX)))?
}

/// The bytes of plan text after adding a run to `stored`.
pub(crate) fn add_plan_bytes(stored: u64, run: &Run) -> Result<u64, Fault> {
    let bytes = stored.saturating_add(plan_bytes(of_run(run)));
    bounded(bytes, PLANS_BYTES, "text of the plans of all executions, in bytes,")?;
    Ok(bytes)
}

/// Finds or makes the id of each distinct plan of a run.
pub(crate) fn plan_ids<'r>(connection: &Connection, run: &'r Run) -> Result<BTreeMap<&'r str, i64>, Fault> {
    let mut ids = BTreeMap::new();
    for plan in of_run(run).filter_map(|one| one.plan.as_deref()) {
        if ids.contains_key(plan) {
            continue;
        }
        fits(plan.len(), PLAN_BYTES, "a plan")?;
        check_plan(plan, Fault::Unstorable)?;
        connection
            .prepare_cached("INSERT INTO plans (text) VALUES (?) ON CONFLICT DO NOTHING")?
            .execute([plan])?;
        let id = connection
            .prepare_cached("SELECT id FROM plans WHERE text = ?")?
            .query_row([plan], |row| row.get(0))?;
        ids.insert(plan, id);
    }
    Ok(ids)
}

/// A plan may have line ends; any other control character would act on a terminal.
fn check_plan(plan: &str, fault: fn(String) -> Fault) -> Result<(), Fault> {
    match plan.chars().find(|&c| c.is_control() && c != '\n') {
        Some(c) => Err(fault(format!("a plan has the control character U+{:04X}", u32::from(c)))),
        None => Ok(()),
    }
}

/// Stores the executions of one session in one slice, without their answers.
pub(crate) fn insert(
    connection: &Connection,
    session_slice: i64,
    queries: &[QueryExecution],
    names: &Names<'_>,
) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO query_executions (session_slice, ordinal, query, started_ns, elapsed_ns, planning_ns,
           cpu_ns, dop, rows, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let mut count = connection
        .prepare_cached("INSERT INTO query_counters (query_execution, counter, value) VALUES (?, ?, ?)")?;
    for (ordinal, one) in queries.iter().enumerate() {
        let optional = |value: Option<u64>, what| value.map(|v| bounded(v, COUNT_MAX, what)).transpose();
        insert.execute(params![
            session_slice,
            bounded(ordinal as u64, ORDINAL_MAX, "ordinal of an execution")?,
            from_one(u64::from(one.query), u64::from(QUERIES), "number of a query")?,
            bounded(one.started_ns, COUNT_MAX, "started_ns")?,
            from_one(one.elapsed_ns, COUNT_MAX, "elapsed_ns")?,
            optional(one.planning_ns, "planning_ns")?,
            optional(one.cpu_ns, "cpu_ns of a query")?,
            one.dop.map(|dop| from_one(u64::from(dop), ORDINAL_MAX, "dop")).transpose()?,
            bounded(one.rows, COUNT_MAX, "rows of an answer")?,
            one.plan.as_deref().and_then(|plan| names.plans.get(plan)),
        ])?;
        let id = connection.last_insert_rowid();
        for (name, &value) in &one.counters {
            let counter = names.counters.get(name.as_str());
            count.execute(params![id, counter, bounded(value, COUNT_MAX, name)?])?;
        }
    }
    Ok(())
}

fn from_one(value: u64, max: u64, what: &str) -> Result<i64, Fault> {
    match value {
        0 => Err(Fault::Unstorable(format!("{what} is 0; at least 1 is needed"))),
        _ => bounded(value, max, what),
    }
}

/// Reads all executions into their sessions, which are in the order of their ids. `counters` are the
/// names of the counters.
pub(crate) fn add<'s>(
    connection: &Connection,
    sessions: impl Iterator<Item = &'s mut SessionSlice>,
    counters: &[String],
) -> Result<(), Fault> {
    let mut executions = read_executions(connection, &read_plans(connection)?)?;
    let sql = "SELECT query_execution, counter, value FROM query_counters ORDER BY query_execution, counter";
    let mut rows = crate::value::Ascending::default();
    all(connection, "query_counters", sql, |row, _| {
        let (execution, counter) = (row.index(0, 1, executions.len())?, row.index(1, 1, counters.len())?);
        rows.next("query_counters", execution, counter)?;
        executions[execution].2.counters.insert(counters[counter].clone(), row.count(2)?);
        Ok(())
    })?;
    let mut sessions: Vec<&mut SessionSlice> = sessions.collect();
    for (session, ordinal, execution) in executions {
        // Ids are numbered from 1.
        let queries = sessions.get_mut(session.wrapping_sub(1)).map(|session| &mut session.queries);
        match queries {
            Some(queries) if queries.len() == ordinal => queries.push(execution),
            _ => {
                let what = format!("execution {ordinal} of session slice {session} is out of order");
                return Err(Fault::Damaged(what));
            }
        }
    }
    Ok(())
}

fn read_plans(connection: &Connection) -> Result<Vec<String>, Fault> {
    all(connection, "plans", "SELECT id, text FROM plans ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        let text = row.text(1, PLAN_BYTES)?;
        check_plan(text, Fault::Damaged)?;
        Ok(text.to_owned())
    })
}

/// Every execution with its session's slice and its place there.
fn read_executions(
    connection: &Connection,
    plans: &[String],
) -> Result<Vec<(usize, usize, QueryExecution)>, Fault> {
    let sql = "SELECT id, session_slice, ordinal, query, started_ns, elapsed_ns, planning_ns, cpu_ns, dop,
                 rows, plan FROM query_executions ORDER BY id";
    let mut left = PLANS_BYTES;
    all(connection, "query_executions", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let plan = match row.optional(10, BYTES_MAX)? {
            None => None,
            Some(_) => Some(&plans[row.index(10, 1, plans.len())?]),
        };
        left = left.checked_sub(plan.map_or(0, |plan| plan.len() as u64)).ok_or_else(|| {
            Fault::Damaged(format!("the plans of its executions have more than {PLANS_BYTES} bytes"))
        })?;
        let dop = row.optional(8, ORDINAL_MAX)?.map(|_| row.positive(8, ORDINAL_MAX)).transpose()?;
        let execution = QueryExecution {
            query: row.positive(3, u64::from(QUERIES))? as u8,
            started_ns: row.count(4)?,
            elapsed_ns: row.positive(5, COUNT_MAX)?,
            planning_ns: row.optional(6, COUNT_MAX)?,
            cpu_ns: row.optional(7, COUNT_MAX)?,
            dop: dop.map(|dop| dop as u32),
            rows: row.count(9)?,
            plan: plan.cloned(),
            counters: Counters::new(),
            answer: None,
        };
        Ok((row.number(1, BYTES_MAX)? as usize, row.number(2, ORDINAL_MAX)? as usize, execution))
    })
}
