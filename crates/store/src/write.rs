//! Appending runs with their parts, blocks, notes.
//!
//! Each function runs inside the caller's transaction and leaves the checks of values to the
//! limits in `value`, so that a refused value is named instead of reported as a failed CHECK.

use crate::error::{Fault, one_line};
use crate::long;
use crate::looks;
use crate::queries::{self, Ids, Names};
use crate::value::{self, BLOB_BYTES, COUNT_MAX, MOMENT_MAX, ORDINAL_MAX, bounded};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_study::{
    Counters, CpuTimes, CpuTimesSum, Reading, Run, RunStatus, SessionSlice, Slice, Study,
};

/// Estimated bytes of a run in the file, for the advice when the disk is full.
pub(crate) fn bytes_of(run: &Run) -> u64 {
    let session =
        |one: &SessionSlice| 100 + one.latency.len() + 16 * (one.counters.len() + one.rows_by_piece.len());
    let slice = |one: &Slice| {
        let sessions = one.sessions.iter().map(session).sum::<usize>();
        90 + 32 * one.cpu_times.len() + 16 * one.counters.len() + sessions
    };
    let slices = run.slices.iter().map(slice).sum::<usize>();
    let readings = 60 * run.readings.len() + 32 * run.other_cpu_times.len();
    (200 + slices + readings + queries::bytes_of(run) + looks::bytes_of(run)) as u64
}

/// Stores a run and returns its number.
pub(crate) fn run(connection: &Connection, study: &Study, run: &Run) -> Result<u64, Fault> {
    check_live(connection, run.block, run.attempt)?;
    let id = insert_run(connection, study, run)?;
    let names = Names { counters: counter_ids(connection, run)?, plans: queries::plan_ids(connection, run)? };
    for slice in &run.slices {
        insert_slice(connection, id, slice, &names)?;
    }
    let sql = "INSERT INTO other_cpu_times (run, cpu, busy_ns, steal_ns, total_ns) VALUES (?, ?, ?, ?, ?)";
    insert_cpu_times(connection, sql, id, &run.other_cpu_times)?;
    insert_readings(connection, id, &run.readings)?;
    Ok(id as u64)
}

fn insert_run(connection: &Connection, study: &Study, run: &Run) -> Result<i64, Fault> {
    let Some((treatment, _)) = study.treatment(&run.treatment) else {
        let name = one_line(&run.treatment);
        return Err(Fault::Unstorable(format!("the study has no treatment '{name}'")));
    };
    if let Some(cpu) = run.cpus.iter().find(|&&cpu| cpu >= MAX_CPUS) {
        return Err(Fault::Unstorable(format!("logical CPU {cpu} is above the limit of {MAX_CPUS}")));
    }
    let (status, kind, message) = match &run.status {
        RunStatus::Valid | RunStatus::Superseded => ("valid", None, None),
        RunStatus::Failed { kind, message } => ("failed", Some(kind), Some(message)),
        RunStatus::Invalid { kind, message } => ("invalid", Some(kind), Some(message)),
    };
    connection
        .prepare_cached(
            "INSERT INTO runs (block, attempt, treatment, cpus, status, kind, message, superseded,
               started_s, prepare_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run.block,
            run.attempt,
            treatment as i64,
            value::cpus_text(&run.cpus),
            status,
            kind.map(|text| value::name(text, "kind of failure")).transpose()?,
            message.map(|text| value::message(text)),
            run.status == RunStatus::Superseded,
            value::seconds(run.started_s, "start of the run")?,
            bounded(run.prepare_ns, COUNT_MAX, "prepare_ns")?,
        ])?;
    Ok(connection.last_insert_rowid())
}

/// Finds or makes the id of each distinct counter name of a run.
fn counter_ids<'r>(connection: &Connection, run: &'r Run) -> Result<Ids<'r, &'r str>, Fault> {
    let sessions = run.slices.iter().flat_map(|slice| &slice.sessions).map(|session| &session.counters);
    let queries = queries::of_run(run).map(|execution| &execution.counters);
    let all = sessions.chain(run.slices.iter().map(|slice| &slice.counters)).chain(queries);
    let mut ids = BTreeMap::new();
    for counter in all.flat_map(Counters::keys) {
        if ids.contains_key(counter.as_str()) {
            continue;
        }
        let name = value::name(counter, "counter name")?;
        connection
            .prepare_cached("INSERT INTO counter_names (name) VALUES (?) ON CONFLICT DO NOTHING")?
            .execute([name])?;
        let id = connection
            .prepare_cached("SELECT id FROM counter_names WHERE name = ?")?
            .query_row([name], |row| row.get(0))?;
        ids.insert(counter.as_str(), id);
    }
    Ok(ids)
}

fn insert_slice(connection: &Connection, run: i64, slice: &Slice, names: &Names<'_>) -> Result<(), Fault> {
    if slice.window_ns == 0 {
        return Err(Fault::Unstorable(format!("slice {} has a window of 0 ns", slice.sequence)));
    }
    connection
        .prepare_cached(
            "INSERT INTO slices (run, sequence, round, start_ns, window_ns) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run,
            bounded(slice.sequence, COUNT_MAX, "sequence")?,
            bounded(u64::from(slice.round), ORDINAL_MAX, "round")?,
            bounded(slice.start_ns, MOMENT_MAX, "start_ns")?,
            bounded(slice.window_ns, COUNT_MAX, "window_ns")?,
        ])?;
    let id = connection.last_insert_rowid();
    for (number, session) in slice.sessions.iter().enumerate() {
        insert_session(connection, id, number as u64, session, names)?;
    }
    let mut insert =
        connection.prepare_cached("INSERT INTO slice_counters (slice, counter, value) VALUES (?, ?, ?)")?;
    for (name, &count) in &slice.counters {
        let counter = names.counters.get(name.as_str());
        insert.execute(params![id, counter, bounded(count, COUNT_MAX, name)?])?;
    }
    let sql = "INSERT INTO cpu_times (slice, cpu, busy_ns, steal_ns, total_ns) VALUES (?, ?, ?, ?, ?)";
    insert_cpu_times(connection, sql, id, &slice.cpu_times)?;
    insert_other_cpus(connection, id, &slice.other_cpus)?;
    looks::insert(connection, id, &slice.looks)
}

fn insert_session(
    connection: &Connection,
    slice: i64,
    number: u64,
    session: &SessionSlice,
    names: &Names<'_>,
) -> Result<(), Fault> {
    value::fits(session.latency.len(), BLOB_BYTES, "a latency histogram")?;
    let wait = session.run_queue_wait_ns;
    connection
        .prepare_cached(
            "INSERT INTO session_slices (slice, session, steps, rows, answers_checked, answers_wrong, cpu_ns,
               voluntary_switches, involuntary_switches, run_queue_wait_ns, latency, finished_ns)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            slice,
            bounded(number, ORDINAL_MAX, "session")?,
            bounded(session.steps, COUNT_MAX, "steps")?,
            bounded(session.rows, COUNT_MAX, "rows")?,
            bounded(session.answers_checked, COUNT_MAX, "answers_checked")?,
            bounded(session.answers_wrong, COUNT_MAX, "answers_wrong")?,
            bounded(session.cpu_ns, COUNT_MAX, "cpu_ns")?,
            bounded(session.voluntary_switches, COUNT_MAX, "voluntary_switches")?,
            bounded(session.involuntary_switches, COUNT_MAX, "involuntary_switches")?,
            wait.map(|wait| bounded(wait, COUNT_MAX, "run_queue_wait_ns")).transpose()?,
            session.latency,
            session.finished_ns.map(|end| bounded(end, COUNT_MAX, "finished_ns")).transpose()?,
        ])?;
    let id = connection.last_insert_rowid();
    let mut insert =
        connection.prepare_cached("INSERT INTO counters (session_slice, counter, value) VALUES (?, ?, ?)")?;
    for (name, &count) in &session.counters {
        let counter = names.counters.get(name.as_str());
        insert.execute(params![id, counter, bounded(count, COUNT_MAX, name)?])?;
    }
    long::insert_pieces(connection, id, &session.rows_by_piece)?;
    queries::insert(connection, id, &session.queries, names)
}

/// Times of logical CPUs, of a slice or of a run according to `sql`.
fn insert_cpu_times(
    connection: &Connection,
    sql: &str,
    owner: i64,
    cpu_times: &[CpuTimes],
) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(sql)?;
    let mut least = 0;
    for times in cpu_times {
        if times.cpu < least || times.cpu >= MAX_CPUS {
            return Err(Fault::Unstorable(format!("times of logical CPU {} are out of order", times.cpu)));
        }
        least = times.cpu + 1;
        insert.execute(params![
            owner,
            times.cpu,
            bounded(times.busy_ns, COUNT_MAX, "busy_ns")?,
            bounded(times.steal_ns, COUNT_MAX, "steal_ns")?,
            bounded(times.total_ns, COUNT_MAX, "total_ns")?,
        ])?;
    }
    Ok(())
}

fn insert_other_cpus(connection: &Connection, slice: i64, sum: &CpuTimesSum) -> Result<(), Fault> {
    if sum.cpus == 0 {
        return Ok(());
    }
    let sql = "INSERT INTO other_cpus (slice, cpus, busy_ns, steal_ns, total_ns) VALUES (?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![
        slice,
        bounded(u64::from(sum.cpus), u64::from(MAX_CPUS), "cpus")?,
        bounded(sum.busy_ns, MOMENT_MAX, "busy_ns")?,
        bounded(sum.steal_ns, MOMENT_MAX, "steal_ns")?,
        bounded(sum.total_ns, MOMENT_MAX, "total_ns")?,
    ])?;
    Ok(())
}

fn insert_readings(connection: &Connection, run: i64, readings: &[Reading]) -> Result<(), Fault> {
    let mut ids: Ids<'_, (&str, &str)> = BTreeMap::new();
    let mut insert = connection.prepare_cached(
        "INSERT INTO readings (run, metric, cpu, start_ns, end_ns, value, gap) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for reading in readings {
        let key = (reading.sampler.as_str(), reading.metric.as_str());
        let metric = match ids.get(&key) {
            Some(&id) => id,
            None => {
                let id = metric_id(connection, key)?;
                ids.insert(key, id);
                id
            }
        };
        if let Some(cpu) = reading.cpu.filter(|&cpu| cpu >= MAX_CPUS) {
            return Err(Fault::Unstorable(format!("a reading of logical CPU {cpu}")));
        }
        let value = reading.value.filter(|value| value.is_finite());
        let lost = reading.value.is_some() && value.is_none();
        let gap = reading.gap.as_deref().or(lost.then_some("the sampler gave no finite number"));
        insert.execute(params![
            run,
            metric,
            reading.cpu,
            bounded(reading.start_ns, MOMENT_MAX, "start_ns")?,
            bounded(reading.end_ns, MOMENT_MAX, "end_ns")?,
            value,
            gap.map(value::message),
        ])?;
    }
    Ok(())
}

fn metric_id(connection: &Connection, (sampler, metric): (&str, &str)) -> Result<i64, Fault> {
    let names = [value::name(sampler, "sampler name")?, value::name(metric, "metric name")?];
    connection
        .prepare_cached("INSERT INTO metrics (sampler, metric) VALUES (?, ?) ON CONFLICT DO NOTHING")?
        .execute(names)?;
    let id = connection
        .prepare_cached("SELECT id FROM metrics WHERE sampler = ? AND metric = ?")?
        .query_row(names, |row| row.get(0))?;
    Ok(id)
}

/// Refuses additions to an attempt that was not started, or is complete or superseded.
fn check_live(connection: &Connection, block: u32, attempt: u32) -> Result<(), Fault> {
    let over: Option<bool> = connection
        .prepare_cached(
            "SELECT complete_s IS NOT NULL OR superseded FROM blocks WHERE block = ? AND attempt = ?",
        )?
        .query_row([block, attempt], |row| row.get(0))
        .optional()?;
    match over {
        Some(false) => Ok(()),
        Some(true) => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} is over"))),
        None => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} was not started"))),
    }
}

/// Begins an attempt at a block.
pub(crate) fn block_started(
    connection: &Connection,
    block: u32,
    attempt: u32,
    started_s: f64,
) -> Result<(), Fault> {
    let live: Option<u32> = connection
        .prepare_cached("SELECT attempt FROM blocks WHERE block = ? AND (superseded = 0 OR attempt = ?)")?
        .query_row([block, attempt], |row| row.get(0))
        .optional()?;
    if let Some(live) = live {
        let what =
            format!("block {block} was started as attempt {live}, which is not superseded or is the same");
        return Err(Fault::Unstorable(what));
    }
    connection.prepare_cached("INSERT INTO blocks (block, attempt, started_s) VALUES (?, ?, ?)")?.execute(
        params![
            bounded(u64::from(block), ORDINAL_MAX, "block")?,
            bounded(u64::from(attempt), ORDINAL_MAX, "attempt")?,
            value::seconds(started_s, "start of the block")?,
        ],
    )?;
    long::block_started(connection, block)
}

/// Completes an attempt at a block.
pub(crate) fn block_complete(
    connection: &Connection,
    block: u32,
    attempt: u32,
    complete_s: f64,
) -> Result<(), Fault> {
    check_live(connection, block, attempt)?;
    connection
        .prepare_cached("UPDATE blocks SET complete_s = ? WHERE block = ? AND attempt = ?")?
        .execute(params![value::seconds(complete_s, "end of the block")?, block, attempt])?;
    Ok(())
}

/// Marks attempts that were begun but not completed.
pub(crate) fn supersede_incomplete_blocks(connection: &Connection) -> Result<Vec<u32>, Fault> {
    let open = "FROM blocks WHERE complete_s IS NULL AND superseded = 0";
    let mut statement = connection.prepare(&format!("SELECT block {open} ORDER BY block"))?;
    let blocks = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<u32>, _>>()?;
    connection.execute(
        &format!("UPDATE runs SET superseded = 1 WHERE (block, attempt) IN (SELECT block, attempt {open})"),
        [],
    )?;
    connection.execute("UPDATE blocks SET superseded = 1 WHERE complete_s IS NULL AND superseded = 0", [])?;
    Ok(blocks)
}
