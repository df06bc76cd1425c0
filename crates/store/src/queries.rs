//! Executions of queries: stored with their session's part of a slice, each distinct plan once.
//!
//! A plan is read with every execution that had it, so that a file of a few MiB could name one
//! large plan often enough to fill a reader's memory. Their text together has a limit for that
//! ([`PLANS_BYTES`]), which a writer also keeps: what was stored can be read.

use crate::error::Fault;
use crate::json;
use crate::value::{BYTES_MAX, COUNT_MAX, ORDINAL_MAX, all, first, fits};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use threadwise_study::tpch::QUERIES;
use threadwise_study::{QueryExecution, Run, SessionSlice};

/// Longest plan in bytes. One of 60 operators, with lines of 200 characters, has 12 KB.
const PLAN_BYTES: usize = 1 << 20;
/// Most bytes of plan text of all executions of a study together, each with its own copy:
/// 90,000 executions of 3 KB. 40 treatments of 22 queries in 8 blocks are 7,040.
const PLANS_BYTES: u64 = 256 << 20;

/// Ids of the plans of a run, by their text.
pub(crate) type PlanIds<'r> = BTreeMap<&'r str, i64>;

/// The executions of a run.
fn of_run(run: &Run) -> impl Iterator<Item = &QueryExecution> {
    run.slices.iter().flat_map(|slice| &slice.sessions).flat_map(|session| &session.queries)
}

/// Refuses plans that would be too much for readers together.
pub(crate) fn check_plans(connection: &Connection) -> Result<(), Fault> {
    let sql = "SELECT ifnull(sum(executions * length(CAST(text AS BLOB))), 0)
               FROM (SELECT plan, count(*) AS executions FROM query_executions GROUP BY plan)
               JOIN plans ON plans.id = plan";
    match first(connection, "plans", sql, [], |row| row.number(0, BYTES_MAX))? {
        Some(bytes) if bytes > PLANS_BYTES => Err(Fault::Unstorable(format!(
            "the text of the plans of all executions has {bytes} bytes, more than {PLANS_BYTES}"
        ))),
        _ => Ok(()),
    }
}

/// Finds or makes the id of each distinct plan of a run.
pub(crate) fn plan_ids<'r>(connection: &Connection, run: &'r Run) -> Result<PlanIds<'r>, Fault> {
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
    plans: &PlanIds<'_>,
) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO query_executions (session_slice, ordinal, query, started_ns, elapsed_ns, planning_ns,
           cpu_ns, dop, rows, plan, counters) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (ordinal, one) in queries.iter().enumerate() {
        insert.execute(params![
            session_slice,
            ordinal as i64,
            one.query,
            one.started_ns,
            one.elapsed_ns,
            one.planning_ns,
            one.cpu_ns,
            one.dop,
            one.rows,
            one.plan.as_deref().and_then(|plan| plans.get(plan)),
            json::text(&one.counters)?,
        ])?;
    }
    Ok(())
}

/// Reads all executions into their sessions, which are in the order of their ids.
pub(crate) fn add<'s>(
    connection: &Connection,
    sessions: impl Iterator<Item = &'s mut SessionSlice>,
) -> Result<(), Fault> {
    let plans = read_plans(connection)?;
    let mut sessions: Vec<&mut SessionSlice> = sessions.collect();
    let sql = "SELECT id, session_slice, ordinal, query, started_ns, elapsed_ns, planning_ns, cpu_ns, dop,
                 rows, plan, counters FROM query_executions ORDER BY id";
    let mut left = PLANS_BYTES;
    all(connection, "query_executions", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let session = row.index(1, 1, sessions.len())?;
        let queries = &mut sessions[session].queries;
        row.next_id(2, queries.len() as u64)?;
        let plan = row.optional_index(10, 1, plans.len())?.map(|at| &plans[at]);
        left = left.checked_sub(plan.map_or(0, |plan| plan.len() as u64)).ok_or_else(|| {
            Fault::Damaged(format!("the plans of its executions have more than {PLANS_BYTES} bytes"))
        })?;
        let dop = row.optional(8, ORDINAL_MAX)?.map(|_| row.positive(8, ORDINAL_MAX)).transpose()?;
        queries.push(QueryExecution {
            query: row.positive(3, u64::from(QUERIES))? as u8,
            started_ns: row.count(4)?,
            elapsed_ns: row.positive(5, COUNT_MAX)?,
            planning_ns: row.optional(6, COUNT_MAX)?,
            cpu_ns: row.optional(7, COUNT_MAX)?,
            dop: dop.map(|dop| dop as u32),
            rows: row.count(9)?,
            plan: plan.cloned(),
            counters: json::value(row, 11)?,
            answer: None,
        });
        Ok(())
    })?;
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
