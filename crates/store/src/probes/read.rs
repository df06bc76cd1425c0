//! Reading probes.

use super::{BUSY_MAX, PROBED_MAX, ROWS_MAX, check_count};
use crate::StoredProbe;
use crate::error::Fault;
use crate::value::{Fields, MEASURE_MAX, NAME_BYTES, SET_BUDGET, SetBudget, TEXT_BYTES, all};
use rusqlite::Connection;
use threadwise_study::probe::{
    ClockReading, ClockSource, LatencyFigures, LatencyLevel, Neighbour, PairLatency, PairSharing, Probe,
    ProbeForm, SetTest, Sharing, Slowdown,
};

/// All probes in the order of storing.
pub(crate) fn probes(connection: &Connection) -> Result<Vec<StoredProbe>, Fault> {
    let budget = &mut SetBudget(SET_BUDGET);
    let mut probes = read_probes(connection, budget)?;
    add_pairs(connection, &mut probes)?;
    add_sets(connection, &mut probes, budget)?;
    add_neighbours(connection, &mut probes)?;
    let levels = add_levels(connection, &mut probes)?;
    add_groups(connection, &mut probes, &levels, budget)?;
    add_latencies(connection, &mut probes, &levels)?;
    add_clocks(connection, &mut probes)?;
    add_gaps(connection, &mut probes)?;
    Ok(probes)
}

fn read_probes(connection: &Connection, budget: &mut SetBudget) -> Result<Vec<StoredProbe>, Fault> {
    let sql = "SELECT id, started_s, form, cpus, duration_s, interrupted FROM probes ORDER BY id";
    all(connection, "probes", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let probe = Probe {
            form: row.known_word(2, ProbeForm::of_word)?,
            cpus: row.set(3, budget)?,
            duration_s: row.measure(4, MEASURE_MAX)?,
            interrupted: row.flag(5)?,
            ..Probe::default()
        };
        check_count(probe.cpus.len(), PROBED_MAX, "logical CPUs", Fault::Damaged)?;
        Ok(StoredProbe { started_s: row.real(1)?, probe })
    })
}

/// Reads a table whose rows belong to probes: column 0 is its id, column 1 the probe's.
fn each_of_a_probe(
    connection: &Connection,
    table: &'static str,
    columns: &str,
    probes: &mut [StoredProbe],
    mut add: impl FnMut(&Fields<'_, '_>, usize, &mut Probe) -> Result<usize, Fault>,
) -> Result<(), Fault> {
    let sql = format!("SELECT id, probe, {columns} FROM {table} ORDER BY id");
    all(connection, table, &sql, |row, at| {
        row.next_id(0, at + 1)?;
        let place = row.index(1, 1, probes.len())?;
        let count = add(row, place, &mut probes[place].probe)?;
        check_count(count, ROWS_MAX, table, Fault::Damaged)
    })?;
    Ok(())
}

fn add_pairs(connection: &Connection, probes: &mut [StoredProbe]) -> Result<(), Fault> {
    let columns = "a, b, sharing, wide_median, wide_low, wide_high, chain_median, chain_low, chain_high,
        load_store_median, load_store_low, load_store_high, on_cpu_share, rounds_used, rounds, why";
    each_of_a_probe(connection, "probe_pairs", columns, probes, |row, _, probe| {
        probe.pairs.push(PairSharing {
            a: row.logical_cpu(2)?,
            b: row.logical_cpu(3)?,
            sharing: row.known_word(4, Sharing::of_word)?,
            wide: slowdown(row, 5)?,
            chain: slowdown(row, 8)?,
            load_store: slowdown(row, 11)?,
            on_cpu_share: row.optional_measure(14, 1.0)?,
            rounds_used: row.small(15)?,
            rounds: row.small(16)?,
            why: row.text(17, TEXT_BYTES)?.to_owned(),
        });
        Ok(probe.pairs.len())
    })
}

/// Three columns from `at`, all of them or none.
fn slowdown(row: &Fields<'_, '_>, at: usize) -> Result<Option<Slowdown>, Fault> {
    let figures = [at, at + 1, at + 2].map(|at| row.optional_measure(at, MEASURE_MAX));
    match figures {
        [Ok(None), Ok(None), Ok(None)] => Ok(None),
        [median, low, high] => match (median?, low?, high?) {
            (Some(median), Some(low), Some(high)) => Ok(Some(Slowdown { median, low, high })),
            _ => Err(Fault::Damaged("probe_pairs has a slowdown without all of its figures".into())),
        },
    }
}

fn add_sets(
    connection: &Connection,
    probes: &mut [StoredProbe],
    budget: &mut SetBudget,
) -> Result<(), Fault> {
    each_of_a_probe(connection, "probe_sets", "ran, at_full_width", probes, |row, _, probe| {
        probe.sets.push(SetTest { ran: row.set(2, budget)?, at_full_width: row.set(3, budget)? });
        Ok(probe.sets.len())
    })
}

fn add_neighbours(connection: &Connection, probes: &mut [StoredProbe]) -> Result<(), Fault> {
    let columns = "cpu, windows, adds_per_step_p10, adds_per_step_p50, adds_per_step_p90, busy_share,
        off_cpu_share, why";
    each_of_a_probe(connection, "strangers", columns, probes, |row, _, probe| {
        probe.neighbours.push(Neighbour {
            cpu: row.logical_cpu(2)?,
            windows: row.small(3)?,
            adds_per_step_p10: row.optional_measure(4, MEASURE_MAX)?,
            adds_per_step_p50: row.optional_measure(5, MEASURE_MAX)?,
            adds_per_step_p90: row.optional_measure(6, MEASURE_MAX)?,
            busy_share: row.optional_measure(7, 1.0)?,
            off_cpu_share: row.measure(8, 1.0)?,
            why: row.text(9, TEXT_BYTES)?.to_owned(),
        });
        Ok(probe.neighbours.len())
    })
}

/// Adds the levels and returns the places of each: of its probe, and of itself in that probe.
fn add_levels(connection: &Connection, probes: &mut [StoredProbe]) -> Result<Vec<(usize, usize)>, Fault> {
    let mut places = Vec::new();
    each_of_a_probe(connection, "latency_levels", "name, low_ns, high_ns", probes, |row, at, probe| {
        places.push((at, probe.levels.len()));
        probe.levels.push(LatencyLevel {
            name: row.optional_text(2, NAME_BYTES)?.map(str::to_owned),
            low_ns: row.measure(3, MEASURE_MAX)?,
            high_ns: row.measure(4, MEASURE_MAX)?,
            groups: Vec::new(),
        });
        Ok(probe.levels.len())
    })?;
    Ok(places)
}

fn add_groups(
    connection: &Connection,
    probes: &mut [StoredProbe],
    levels: &[(usize, usize)],
    budget: &mut SetBudget,
) -> Result<(), Fault> {
    let sql = "SELECT id, level, cpus FROM latency_groups ORDER BY id";
    all(connection, "latency_groups", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let (probe, level) = levels[row.index(1, 1, levels.len())?];
        let groups = &mut probes[probe].probe.levels[level].groups;
        groups.push(row.set(2, budget)?);
        check_count(groups.len(), ROWS_MAX, "latency groups", Fault::Damaged)
    })?;
    Ok(())
}

fn add_latencies(
    connection: &Connection,
    probes: &mut [StoredProbe],
    levels: &[(usize, usize)],
) -> Result<(), Fault> {
    let columns = "a, b, cas_min_ns, cas_median_ns, cas_spread_ns, cas_samples, two_lines_min_ns,
        two_lines_median_ns, two_lines_spread_ns, two_lines_samples, level";
    each_of_a_probe(connection, "latencies", columns, probes, |row, at, probe| {
        let level = match row.optional_index(12, levels.len() + 1)? {
            None => None,
            Some(0) => return Err(Fault::Damaged("latencies.level is 0, but ids begin with 1".into())),
            Some(id) => match levels[id as usize - 1] {
                (probe, level) if probe == at => Some(level as u32),
                _ => return Err(Fault::Damaged(format!("latencies.level {id} is of another probe"))),
            },
        };
        probe.latencies.push(PairLatency {
            a: row.logical_cpu(2)?,
            b: row.logical_cpu(3)?,
            cas: latency(row, 4)?,
            two_lines: latency(row, 8)?,
            level,
        });
        Ok(probe.latencies.len())
    })
}

fn latency(row: &Fields<'_, '_>, at: usize) -> Result<LatencyFigures, Fault> {
    Ok(LatencyFigures {
        min_ns: row.measure(at, MEASURE_MAX)?,
        median_ns: row.measure(at + 1, MEASURE_MAX)?,
        spread_ns: row.measure(at + 2, MEASURE_MAX)?,
        samples: row.small(at + 3)?,
    })
}

fn add_clocks(connection: &Connection, probes: &mut [StoredProbe]) -> Result<(), Fault> {
    let columns = "cpu, busy_cpus, source, avg_mhz, busy_pct, bzy_mhz, tsc_mhz";
    each_of_a_probe(connection, "clocks", columns, probes, |row, _, probe| {
        probe.clocks.push(ClockReading {
            cpu: row.logical_cpu(2)?,
            busy_cpus: row.number(3, BUSY_MAX)? as u32,
            source: row.known_word(4, ClockSource::of_word)?,
            avg_mhz: row.optional_measure(5, MEASURE_MAX)?,
            busy_pct: row.optional_measure(6, MEASURE_MAX)?,
            bzy_mhz: row.optional_measure(7, MEASURE_MAX)?,
            tsc_mhz: row.optional_measure(8, MEASURE_MAX)?,
        });
        Ok(probe.clocks.len())
    })
}

fn add_gaps(connection: &Connection, probes: &mut [StoredProbe]) -> Result<(), Fault> {
    each_of_a_probe(connection, "probe_gaps", "text", probes, |row, _, probe| {
        probe.gaps.push(row.text(2, TEXT_BYTES)?.to_owned());
        Ok(probe.gaps.len())
    })
}
