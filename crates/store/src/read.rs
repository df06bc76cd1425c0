//! Reading runs: one scan per table in the order of its key, joined by number.
//!
//! Nothing is sorted or joined by SQLite, every id must be the next of its series, and every
//! reference must point to something that was read before: time and memory stay in proportion to
//! the file's size for any contents.

use crate::error::Fault;
use crate::schema::Version;
use crate::value::{
    Ascending, BLOB_BYTES, BYTES_MAX, COUNT_MAX, Fields, MOMENT_MAX, NAME_BYTES, ORDINAL_MAX, TEXT_BYTES, all,
};
use crate::{long, looks, queries};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::{
    Counters, CpuTimes, CpuTimesSum, Reading, Run, RunStatus, SessionSlice, Slice, Study,
};

const CPU_MAX: u64 = MAX_CPUS as u64 - 1;

/// All runs with everything that belongs to them, in the order of storing.
pub(crate) fn runs(
    connection: &Connection,
    study: &Study,
    topology: &Topology,
    version: Version,
) -> Result<Vec<Run>, Fault> {
    let mut sessions = read_sessions(connection)?;
    let mut slices = read_slices(connection)?;
    let counters = read_counter_names(connection)?;
    add_counters(connection, &counters, &mut sessions, &mut slices)?;
    if version >= Version::Five {
        long::add_pieces(connection, &mut sessions)?;
    }
    queries::add(connection, sessions.iter_mut().map(|(_, _, session)| session), &counters)?;
    for (slice, session, value) in sessions {
        // Ids are numbered from 1.
        let sessions = slices.get_mut(slice.wrapping_sub(1)).map(|(_, slice)| &mut slice.sessions);
        match sessions {
            Some(sessions) if sessions.len() == session => sessions.push(value),
            _ => return Err(Fault::Damaged(format!("session {session} of slice {slice} is out of order"))),
        }
    }
    let mut runs = read_runs(connection, study)?;
    long::check_blocks(connection, version, runs.iter().map(|run| run.block))?;
    add_cpu_times(connection, topology, &mut slices, &mut runs)?;
    if version >= Version::Two {
        add_other_cpus(connection, &mut slices, &mut runs)?;
    }
    if version >= Version::Three {
        looks::add(connection, &mut slices, version)?;
    }
    for (run, slice) in slices {
        match runs.get_mut(run.wrapping_sub(1)) {
            Some(run) => run.slices.push(slice),
            None => return Err(Fault::Damaged(format!("a slice of run {run}, which is missing"))),
        }
    }
    add_readings(connection, &mut runs)?;
    Ok(runs)
}

fn read_runs(connection: &Connection, study: &Study) -> Result<Vec<Run>, Fault> {
    let sql = "SELECT id, block, attempt, treatment, cpus, status, kind, message, superseded, started_s,
                 prepare_ns FROM runs ORDER BY id";
    all(connection, "runs", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let treatment = row.index(3, 0, study.treatments.len())?;
        Ok(Run {
            id: at + 1,
            block: row.ordinal(1)?,
            attempt: row.ordinal(2)?,
            treatment: study.treatments[treatment].name.clone(),
            cpus: row.cpus(4)?,
            status: read_status(row)?,
            slices: Vec::new(),
            started_s: row.real(9)?,
            prepare_ns: row.count(10)?,
            other_cpu_times: Vec::new(),
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

/// Every slice with the number of its run.
fn read_slices(connection: &Connection) -> Result<Vec<(usize, Slice)>, Fault> {
    let sql = "SELECT id, run, sequence, round, start_ns, window_ns FROM slices ORDER BY id";
    all(connection, "slices", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let slice = Slice {
            sequence: row.count(2)?,
            round: row.ordinal(3)?,
            start_ns: row.number(4, MOMENT_MAX)?,
            window_ns: row.count(5)?,
            sessions: Vec::new(),
            counters: Counters::new(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        };
        if slice.window_ns == 0 {
            return Err(Fault::Damaged(format!("slice {} has a window of 0 ns", at + 1)));
        }
        Ok((row.number(1, BYTES_MAX)? as usize, slice))
    })
}

/// Every session's part in a slice, with the numbers of its slice and session.
fn read_sessions(connection: &Connection) -> Result<Vec<(usize, usize, SessionSlice)>, Fault> {
    let sql = "SELECT id, slice, session, steps, rows, answers_checked, answers_wrong, cpu_ns,
                 voluntary_switches, involuntary_switches, run_queue_wait_ns, latency, finished_ns
               FROM session_slices ORDER BY id";
    all(connection, "session_slices", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let session = SessionSlice {
            steps: row.count(3)?,
            rows: row.count(4)?,
            answers_checked: row.count(5)?,
            answers_wrong: row.count(6)?,
            cpu_ns: row.count(7)?,
            voluntary_switches: row.count(8)?,
            involuntary_switches: row.count(9)?,
            run_queue_wait_ns: row.optional(10, COUNT_MAX)?,
            counters: Counters::new(),
            latency: row.blob(11, BLOB_BYTES)?.to_vec(),
            finished_ns: row.optional(12, COUNT_MAX)?,
            queries: Vec::new(),
            metrics: BTreeMap::new(),
            items: Vec::new(),
            rows_by_piece: Vec::new(),
        };
        Ok((row.number(1, BYTES_MAX)? as usize, row.number(2, ORDINAL_MAX)? as usize, session))
    })
}

fn read_counter_names(connection: &Connection) -> Result<Vec<String>, Fault> {
    all(connection, "counter_names", "SELECT id, name FROM counter_names ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        Ok(row.text(1, NAME_BYTES)?.to_owned())
    })
}

fn add_counters(
    connection: &Connection,
    names: &[String],
    sessions: &mut [(usize, usize, SessionSlice)],
    slices: &mut [(usize, Slice)],
) -> Result<(), Fault> {
    let sql = "SELECT session_slice, counter, value FROM counters ORDER BY session_slice, counter";
    let mut rows = Ascending::default();
    all(connection, "counters", sql, |row, _| {
        let (session, counter) = (row.index(0, 1, sessions.len())?, row.index(1, 1, names.len())?);
        rows.next("counters", session, counter)?;
        sessions[session].2.counters.insert(names[counter].clone(), row.count(2)?);
        Ok(())
    })?;
    let sql = "SELECT slice, counter, value FROM slice_counters ORDER BY slice, counter";
    let mut rows = Ascending::default();
    all(connection, "slice_counters", sql, |row, _| {
        let (slice, counter) = (row.index(0, 1, slices.len())?, row.index(1, 1, names.len())?);
        rows.next("slice_counters", slice, counter)?;
        slices[slice].1.counters.insert(names[counter].clone(), row.count(2)?);
        Ok(())
    })?;
    Ok(())
}

/// Times of the runs' logical CPUs and of their siblings. A file of version 1 has those of all others
/// here too, by slice: they are summed while they are read, since they may be nearly all of the file.
fn add_cpu_times(
    connection: &Connection,
    topology: &Topology,
    slices: &mut [(usize, Slice)],
    runs: &mut [Run],
) -> Result<(), Fault> {
    let near: Vec<CpuSet> = runs.iter().map(|run| topology.with_siblings(run.cpus.iter().copied())).collect();
    let mut others: Vec<BTreeMap<u32, CpuTimes>> = vec![BTreeMap::new(); runs.len()];
    let sql = "SELECT slice, cpu, busy_ns, steal_ns, total_ns FROM cpu_times ORDER BY slice, cpu";
    let mut rows = Ascending::default();
    all(connection, "cpu_times", sql, |row, _| {
        let slice = row.index(0, 1, slices.len())?;
        let times = read_times(row, 1)?;
        rows.next("cpu_times", slice, times.cpu as usize)?;
        let (run, slice) = &mut slices[slice];
        // A slice of a missing run is refused later.
        let run = run.wrapping_sub(1);
        if near.get(run).is_none_or(|near| near.contains(times.cpu)) {
            slice.cpu_times.push(times);
        } else {
            slice.other_cpus.add(&times);
            let none = CpuTimes { cpu: times.cpu, ..CpuTimes::default() };
            others[run].entry(times.cpu).or_insert(none).add(&times);
        }
        Ok(())
    })?;
    for (run, others) in runs.iter_mut().zip(others) {
        run.other_cpu_times = others.into_values().collect();
    }
    Ok(())
}

/// A logical CPU and its times, from column `at` on.
fn read_times(row: &Fields<'_, '_>, at: usize) -> Result<CpuTimes, Fault> {
    Ok(CpuTimes {
        cpu: row.number(at, CPU_MAX)? as u32,
        busy_ns: row.count(at + 1)?,
        steal_ns: row.count(at + 2)?,
        total_ns: row.count(at + 3)?,
    })
}

/// Times of all other logical CPUs: together by slice, and each by run. Those in the part of a file that
/// version 1 wrote have been summed already.
fn add_other_cpus(
    connection: &Connection,
    slices: &mut [(usize, Slice)],
    runs: &mut [Run],
) -> Result<(), Fault> {
    let sql = "SELECT slice, cpus, busy_ns, steal_ns, total_ns FROM other_cpus ORDER BY slice";
    let mut rows = Ascending::default();
    all(connection, "other_cpus", sql, |row, _| {
        let slice = row.index(0, 1, slices.len())?;
        rows.next("other_cpus", slice, 0)?;
        let sum = CpuTimesSum {
            cpus: row.number(1, u64::from(MAX_CPUS))? as u32,
            busy_ns: row.number(2, MOMENT_MAX)?,
            steal_ns: row.number(3, MOMENT_MAX)?,
            total_ns: row.number(4, MOMENT_MAX)?,
        };
        slices[slice].1.other_cpus = sum;
        Ok(())
    })?;
    let sql = "SELECT run, cpu, busy_ns, steal_ns, total_ns FROM other_cpu_times ORDER BY run, cpu";
    let mut rows = Ascending::default();
    all(connection, "other_cpu_times", sql, |row, _| {
        let (run, times) = (row.index(0, 1, runs.len())?, read_times(row, 1)?);
        rows.next("other_cpu_times", run, times.cpu as usize)?;
        runs[run].other_cpu_times.push(times);
        Ok(())
    })?;
    Ok(())
}

fn add_readings(connection: &Connection, runs: &mut [Run]) -> Result<(), Fault> {
    let sql = "SELECT id, sampler, metric FROM metrics ORDER BY id";
    let metrics = all(connection, "metrics", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let sampler = match row.text(1, NAME_BYTES)? {
            // Names of the same readings in files of earlier versions.
            "stranger" | "co-runner" => "neighbour",
            name => name,
        };
        Ok((sampler.to_owned(), row.text(2, NAME_BYTES)?.to_owned()))
    })?;
    let sql = "SELECT id, run, metric, cpu, start_ns, end_ns, value, gap FROM readings ORDER BY id";
    all(connection, "readings", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let (run, metric) = (row.index(1, 1, runs.len())?, row.index(2, 1, metrics.len())?);
        let (sampler, metric) = metrics[metric].clone();
        runs[run].readings.push(Reading {
            sampler,
            metric,
            cpu: row.optional(3, CPU_MAX)?.map(|cpu| cpu as u32),
            start_ns: row.number(4, MOMENT_MAX)?,
            end_ns: row.number(5, MOMENT_MAX)?,
            value: row.optional_real(6)?,
            gap: row.optional_text(7, TEXT_BYTES)?.map(str::to_owned),
        });
        Ok(())
    })?;
    Ok(())
}

/// Complete blocks, ascending, including those of long windows.
pub(crate) fn complete_blocks(connection: &Connection) -> Result<Vec<u32>, Fault> {
    Ok(complete_attempts(connection)?.into_iter().map(|(block, _)| block).collect())
}

/// The same with the complete attempt.
pub(crate) fn complete_attempts(connection: &Connection) -> Result<Vec<(u32, u32)>, Fault> {
    let sql = "SELECT block, attempt, complete_s, superseded FROM blocks ORDER BY block, attempt";
    let mut rows = Ascending::default();
    let blocks = all(connection, "blocks", sql, |row, _| {
        let (block, attempt) = (row.ordinal(0)?, row.ordinal(1)?);
        rows.next("blocks", block as usize, attempt as usize)?;
        Ok((row.optional_real(2)?.is_some() && !row.flag(3)?).then_some((block, attempt)))
    })?;
    Ok(blocks.into_iter().flatten().collect())
}

/// One more than the highest attempt at a block, or 0.
pub(crate) fn next_attempt(connection: &Connection, block: u32) -> Result<u32, Fault> {
    let mut statement = connection
        .prepare_cached("SELECT attempt FROM blocks WHERE block = ? ORDER BY attempt DESC LIMIT 1")?;
    let attempt = |row: &rusqlite::Row<'_>| Ok(Fields { row, table: "blocks" }.ordinal(0));
    let last = statement.query_row([block], attempt).optional()?.transpose()?;
    Ok(last.map_or(0, |attempt| attempt + 1))
}
