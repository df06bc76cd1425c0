//! Runs with their slices, sessions, looks and readings: appended inside the caller's transaction, and read by one scan
//! per table in the order of its key, joined by number.
//!
//! Writing leaves the checks of values to the limits in `value` and `json`, so that a refused value is named instead of
//! reported as a failed CHECK. Reading sorts or joins nothing in SQLite; every id must be the next of its series, and
//! every reference must point to something that was read before: time and memory stay in proportion to the file's size
//! for any contents.

use crate::blocks;
use crate::error::{Fault, StoreError, one_line};
use crate::json;
use crate::queries::{self, PlanIds};
use crate::store::Store;
use crate::value::{self, BLOB_BYTES, COUNT_MAX, Fields, MOMENT_MAX, NAME_BYTES, TEXT_BYTES, all};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use threadwise_study::plan::long::is_long;
use threadwise_study::{Moment, Reading, Run, RunStatus, SessionSlice, Slice, SliceLook, Study};

const MOMENTS: [Moment; 3] = [Moment::Before, Moment::During, Moment::After];

impl Store {
    /// All runs of slices in the order in which they were stored, including superseded ones. Those of long windows are
    /// [`Store::long_runs`].
    ///
    /// # Errors
    /// A file that cannot be read, or impossible values in it.
    pub fn runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_of(|block| !is_long(block))
    }

    /// The same for long windows: one slice each, in blocks from [`threadwise_study::plan::long::FIRST_BLOCK`] on.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn long_runs(&self) -> Result<Vec<Run>, StoreError> {
        // Nothing is read twice if there are none.
        match self.study.design.long_windows.is_some() {
            true => self.runs_of(is_long),
            false => Ok(Vec::new()),
        }
    }

    fn runs_of(&self, which: fn(u32) -> bool) -> Result<Vec<Run>, StoreError> {
        let mut runs = self.file.reading(|connection| read(connection, &self.study))?;
        runs.retain(|run| which(run.block));
        Ok(runs)
    }

    /// Stores one run, completely and durably when this returns. `run.id` is ignored.
    ///
    /// A reading that is not a finite number is stored as a gap, a message is cut at 64 KiB, and answers
    /// of queries are left out.
    ///
    /// # Errors
    /// No space, a block that was not started or is over, a treatment that is not in the study,
    /// or a value that the file cannot hold ([`crate::Problem::Unstorable`]; the limits are in
    /// docs/STORE.md). Then nothing of the run is stored, and everything before it stays.
    pub fn append_run(&mut self, run: &Run) -> Result<u64, StoreError> {
        self.file.writing(|connection| {
            let id = add(connection, &self.study, run)?;
            queries::check_plans(connection)?;
            Ok(id)
        })
    }

    /// Stores the runs of an attempt at a block and its completion, `complete_s` seconds after the study's start,
    /// durably in one transaction, since each takes tens of milliseconds on common disks.
    ///
    /// # Errors
    /// As [`Store::append_run`] and [`Store::block_complete`]; then nothing of the block is stored.
    pub fn append_block(
        &mut self,
        runs: &[Run],
        block: u32,
        attempt: u32,
        complete_s: f64,
    ) -> Result<(), StoreError> {
        self.file.writing(|connection| {
            runs.iter().try_for_each(|run| add(connection, &self.study, run).map(drop))?;
            queries::check_plans(connection)?;
            blocks::complete(connection, block, attempt, complete_s)
        })
    }
}

/// Stores a run and returns its number.
fn add(connection: &Connection, study: &Study, run: &Run) -> Result<u64, Fault> {
    blocks::check_live(connection, run.block, run.attempt)?;
    let id = insert_run(connection, study, run)?;
    let plans = queries::plan_ids(connection, run)?;
    run.slices.iter().try_for_each(|slice| insert_slice(connection, id, slice, &plans))?;
    run.readings.iter().try_for_each(|reading| insert_reading(connection, id, reading))?;
    Ok(id as u64)
}

fn insert_run(connection: &Connection, study: &Study, run: &Run) -> Result<i64, Fault> {
    let Some((treatment, _)) = study.treatment(&run.treatment) else {
        let name = one_line(&run.treatment);
        return Err(Fault::Unstorable(format!("the study has no treatment '{name}'")));
    };
    let (status, kind, message) = match &run.status {
        RunStatus::Valid | RunStatus::Superseded => ("valid", None, None),
        RunStatus::Failed { kind, message } => ("failed", Some(kind), Some(message)),
        RunStatus::Invalid { kind, message } => ("invalid", Some(kind), Some(message)),
    };
    connection
        .prepare_cached(
            "INSERT INTO runs (block, attempt, treatment, cpus, status, kind, message, superseded,
               started_s, prepare_ns, other_cpu_times) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run.block,
            run.attempt,
            treatment as i64,
            json::text(&run.cpus)?,
            status,
            kind.map(|text| value::name(text, "kind of failure")).transpose()?,
            message.map(|text| value::message(text)),
            run.status == RunStatus::Superseded,
            value::seconds(run.started_s, "start of the run")?,
            run.prepare_ns,
            json::text(&run.other_cpu_times)?,
        ])?;
    Ok(connection.last_insert_rowid())
}

fn insert_slice(connection: &Connection, run: i64, slice: &Slice, plans: &PlanIds<'_>) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO slices (run, sequence, round, start_ns, window_ns, counters, cpu_times, other_cpus)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run,
            slice.sequence,
            slice.round,
            slice.start_ns,
            slice.window_ns,
            json::text(&slice.counters)?,
            json::text(&slice.cpu_times)?,
            json::text(&slice.other_cpus)?,
        ])?;
    let id = connection.last_insert_rowid();
    for (number, session) in slice.sessions.iter().enumerate() {
        insert_session(connection, id, number, session, plans)?;
    }
    for SliceLook { moment, look } in &slice.looks {
        connection
            .prepare_cached("INSERT INTO looks (slice, moment, json) VALUES (?, ?, ?)")?
            .execute(params![id, moment.word(), json::text(look)?])?;
    }
    Ok(())
}

fn insert_session(
    connection: &Connection,
    slice: i64,
    number: usize,
    session: &SessionSlice,
    plans: &PlanIds<'_>,
) -> Result<(), Fault> {
    value::fits(session.latency.len(), BLOB_BYTES, "a latency histogram")?;
    connection
        .prepare_cached(
            "INSERT INTO session_slices (slice, session, steps, rows, answers_checked, answers_wrong, cpu_ns,
               voluntary_switches, involuntary_switches, run_queue_wait_ns, latency, finished_ns, counters,
               rows_by_piece) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            slice,
            number as i64,
            session.steps,
            session.rows,
            session.answers_checked,
            session.answers_wrong,
            session.cpu_ns,
            session.voluntary_switches,
            session.involuntary_switches,
            session.run_queue_wait_ns,
            session.latency,
            session.finished_ns,
            json::text(&session.counters)?,
            json::text(&session.rows_by_piece)?,
        ])?;
    queries::insert(connection, connection.last_insert_rowid(), &session.queries, plans)
}

fn insert_reading(connection: &Connection, run: i64, reading: &Reading) -> Result<(), Fault> {
    let value = reading.value.filter(|value| value.is_finite());
    let lost = reading.value.is_some() && value.is_none();
    let gap = reading.gap.as_deref().or(lost.then_some("the sampler gave no finite number"));
    connection
        .prepare_cached(
            "INSERT INTO readings (run, sampler, metric, cpu, start_ns, end_ns, value, gap)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run,
            value::name(&reading.sampler, "sampler name")?,
            value::name(&reading.metric, "metric name")?,
            reading.cpu,
            reading.start_ns,
            reading.end_ns,
            value,
            gap.map(value::message),
        ])?;
    Ok(())
}

/// All runs with everything that belongs to them, in the order of storing.
fn read(connection: &Connection, study: &Study) -> Result<Vec<Run>, Fault> {
    let mut runs = read_runs(connection, study)?;
    add_readings(connection, &mut runs)?;
    add_slices(connection, &mut runs)?;
    let mut slices: Vec<&mut Slice> = runs.iter_mut().flat_map(|run| &mut run.slices).collect();
    add_looks(connection, &mut slices)?;
    add_sessions(connection, &mut slices)?;
    queries::add(connection, slices.into_iter().flat_map(|slice| &mut slice.sessions))?;
    Ok(runs)
}

fn read_runs(connection: &Connection, study: &Study) -> Result<Vec<Run>, Fault> {
    let sql = "SELECT id, block, attempt, treatment, cpus, status, kind, message, superseded, started_s,
                 prepare_ns, other_cpu_times FROM runs ORDER BY id";
    all(connection, "runs", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let treatment = row.index(3, 0, study.treatments.len())?;
        Ok(Run {
            id: at + 1,
            block: row.ordinal(1)?,
            attempt: row.ordinal(2)?,
            treatment: study.treatments[treatment].name.clone(),
            cpus: json::value(row, 4)?,
            status: read_status(row)?,
            slices: Vec::new(),
            started_s: row.real(9)?,
            prepare_ns: row.count(10)?,
            other_cpu_times: json::value(row, 11)?,
            readings: Vec::new(),
        })
    })
}

fn read_status(row: &Fields<'_, '_>) -> Result<RunStatus, Fault> {
    let status = row.word(5, &[("valid", 0), ("failed", 1), ("invalid", 2)])?;
    if row.flag(8)? {
        return Ok(RunStatus::Superseded);
    }
    if status == 0 {
        return Ok(RunStatus::Valid);
    }
    let (kind, message) = (row.text(6, NAME_BYTES)?.to_owned(), row.text(7, TEXT_BYTES)?.to_owned());
    Ok(if status == 1 { RunStatus::Failed { kind, message } } else { RunStatus::Invalid { kind, message } })
}

fn add_slices(connection: &Connection, runs: &mut [Run]) -> Result<(), Fault> {
    let mut last = 0;
    let sql = "SELECT id, run, sequence, round, start_ns, window_ns, counters, cpu_times, other_cpus
               FROM slices ORDER BY id";
    all(connection, "slices", sql, |row, at| {
        row.next_id(0, at + 1)?;
        last = row.owner(1, last, runs.len())?;
        runs[last].slices.push(Slice {
            sequence: row.count(2)?,
            round: row.ordinal(3)?,
            start_ns: row.number(4, MOMENT_MAX)?,
            window_ns: row.positive(5, COUNT_MAX)?,
            sessions: Vec::new(),
            counters: json::value(row, 6)?,
            cpu_times: json::value(row, 7)?,
            other_cpus: json::value(row, 8)?,
            looks: Vec::new(),
        });
        Ok(())
    })?;
    Ok(())
}

fn add_sessions(connection: &Connection, slices: &mut [&mut Slice]) -> Result<(), Fault> {
    let mut last = 0;
    let sql = "SELECT id, slice, session, steps, rows, answers_checked, answers_wrong, cpu_ns,
                 voluntary_switches, involuntary_switches, run_queue_wait_ns, latency, finished_ns, counters,
                 rows_by_piece FROM session_slices ORDER BY id";
    all(connection, "session_slices", sql, |row, at| {
        row.next_id(0, at + 1)?;
        last = row.owner(1, last, slices.len())?;
        let sessions = &mut slices[last].sessions;
        row.next_id(2, sessions.len() as u64)?;
        sessions.push(SessionSlice {
            steps: row.count(3)?,
            rows: row.count(4)?,
            answers_checked: row.count(5)?,
            answers_wrong: row.count(6)?,
            cpu_ns: row.count(7)?,
            voluntary_switches: row.count(8)?,
            involuntary_switches: row.count(9)?,
            run_queue_wait_ns: row.optional(10, COUNT_MAX)?,
            latency: row.blob(11, BLOB_BYTES)?.to_vec(),
            finished_ns: row.optional(12, COUNT_MAX)?,
            counters: json::value(row, 13)?,
            rows_by_piece: json::value(row, 14)?,
            queries: Vec::new(),
            metrics: BTreeMap::new(),
            items: Vec::new(),
        });
        Ok(())
    })?;
    Ok(())
}

fn add_looks(connection: &Connection, slices: &mut [&mut Slice]) -> Result<(), Fault> {
    let sql = "SELECT id, slice, moment, json FROM looks ORDER BY id";
    all(connection, "looks", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let slice = row.index(1, 1, slices.len())?;
        let moment = row.word(2, &MOMENTS.map(|moment| (moment.word(), moment)))?;
        slices[slice].looks.push(SliceLook { moment, look: json::value(row, 3)? });
        Ok(())
    })?;
    Ok(())
}

fn add_readings(connection: &Connection, runs: &mut [Run]) -> Result<(), Fault> {
    let sql = "SELECT id, run, sampler, metric, cpu, start_ns, end_ns, value, gap FROM readings ORDER BY id";
    all(connection, "readings", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let run = row.index(1, 1, runs.len())?;
        runs[run].readings.push(Reading {
            sampler: row.text(2, NAME_BYTES)?.to_owned(),
            metric: row.text(3, NAME_BYTES)?.to_owned(),
            cpu: row.optional_cpu(4)?,
            start_ns: row.number(5, MOMENT_MAX)?,
            end_ns: row.number(6, MOMENT_MAX)?,
            value: row.optional_real(7)?,
            gap: row.optional_text(8, TEXT_BYTES)?.map(str::to_owned),
        });
        Ok(())
    })?;
    Ok(())
}
