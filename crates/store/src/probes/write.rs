//! Writing a probe.

use super::{PROBED_MAX, ROWS_MAX, check_count};
use crate::error::Fault;
use crate::value::{self, logical_cpu, measure, share};
use rusqlite::{Connection, params};
use threadwise_study::probe::{
    ClockReading, LatencyFigures, LatencyLevel, Neighbour, PairLatency, PairSharing, Probe, SetTest, Slowdown,
};

/// Estimated bytes of a probe in the file, for the advice when the disk is full.
pub(crate) fn bytes_of(probe: &Probe) -> u64 {
    let pairs: usize = probe.pairs.iter().map(|pair| 130 + pair.why.len()).sum();
    let neighbours: usize = probe.neighbours.iter().map(|neighbour| 70 + neighbour.why.len()).sum();
    // The worst set of CPUs is every other one.
    let sets = (probe.sets.len() + probe.levels.len()) * 6 * probe.cpus.len();
    let gaps: usize = probe.gaps.iter().map(|gap| 10 + gap.len()).sum();
    (300 + pairs + neighbours + sets + gaps + 90 * probe.latencies.len() + 50 * probe.clocks.len()) as u64
}

/// Stores a probe.
pub(crate) fn add(connection: &Connection, started_s: f64, probe: &Probe) -> Result<(), Fault> {
    check_counts(probe)?;
    connection
        .prepare_cached(
            "INSERT INTO probes (started_s, form, cpus, duration_s, interrupted) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            value::seconds(started_s, "start of the probe")?,
            probe.form.word(),
            probe.cpus.to_string(),
            measure(probe.duration_s, "duration of the probe")?,
            probe.interrupted,
        ])?;
    let id = connection.last_insert_rowid();
    insert_pairs(connection, id, &probe.pairs)?;
    insert_sets(connection, id, &probe.sets)?;
    insert_neighbours(connection, id, &probe.neighbours)?;
    let levels = insert_levels(connection, id, &probe.levels)?;
    insert_latencies(connection, id, &probe.latencies, &levels)?;
    insert_clocks(connection, id, &probe.clocks)?;
    let mut insert = connection.prepare_cached("INSERT INTO probe_gaps (probe, text) VALUES (?, ?)")?;
    for gap in &probe.gaps {
        insert.execute(params![id, value::message(gap)])?;
    }
    Ok(())
}

fn check_counts(probe: &Probe) -> Result<(), Fault> {
    let groups = probe.levels.iter().map(|level| level.groups.len()).sum();
    for (count, max, what) in [
        (probe.cpus.len(), PROBED_MAX, "logical CPUs"),
        (probe.pairs.len(), ROWS_MAX, "pairs"),
        (probe.sets.len(), ROWS_MAX, "sets"),
        (probe.neighbours.len(), ROWS_MAX, "neighbours"),
        (probe.latencies.len(), ROWS_MAX, "latencies"),
        (probe.levels.len(), ROWS_MAX, "latency levels"),
        (groups, ROWS_MAX, "latency groups"),
        (probe.clocks.len(), ROWS_MAX, "clocks"),
        (probe.gaps.len(), ROWS_MAX, "gaps"),
    ] {
        check_count(count, max, what, Fault::Unstorable)?;
    }
    probe.cpus.iter().try_for_each(|cpu| logical_cpu(cpu).map(drop))
}

fn slowdown(figures: Option<Slowdown>, what: &str) -> Result<[Option<f64>; 3], Fault> {
    let Some(Slowdown { median, low, high }) = figures else { return Ok([None; 3]) };
    Ok([Some(measure(median, what)?), Some(measure(low, what)?), Some(measure(high, what)?)])
}

fn insert_pairs(connection: &Connection, probe: i64, pairs: &[PairSharing]) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO probe_pairs (probe, a, b, sharing, wide_median, wide_low, wide_high, chain_median,
           chain_low, chain_high, load_store_median, load_store_low, load_store_high, on_cpu_share,
           rounds_used, rounds, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for pair in pairs {
        let [wide, wide_low, wide_high] = slowdown(pair.wide, "slowdown of the wide kernel")?;
        let [chain, chain_low, chain_high] = slowdown(pair.chain, "slowdown of the chain kernel")?;
        let [both, both_low, both_high] = slowdown(pair.load_store, "slowdown of the load/store kernel")?;
        insert.execute(params![
            probe,
            logical_cpu(pair.a)?,
            logical_cpu(pair.b)?,
            pair.sharing.word(),
            wide,
            wide_low,
            wide_high,
            chain,
            chain_low,
            chain_high,
            both,
            both_low,
            both_high,
            pair.on_cpu_share.map(|on| share(on, "share of time on a CPU")).transpose()?,
            pair.rounds_used,
            pair.rounds,
            value::message(&pair.why),
        ])?;
    }
    Ok(())
}

fn insert_sets(connection: &Connection, probe: i64, sets: &[SetTest]) -> Result<(), Fault> {
    let mut insert =
        connection.prepare_cached("INSERT INTO probe_sets (probe, ran, at_full_width) VALUES (?, ?, ?)")?;
    for set in sets {
        set.ran.iter().chain(set.at_full_width.iter()).try_for_each(|cpu| logical_cpu(cpu).map(drop))?;
        insert.execute(params![probe, set.ran.to_string(), set.at_full_width.to_string()])?;
    }
    Ok(())
}

fn insert_neighbours(connection: &Connection, probe: i64, neighbours: &[Neighbour]) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO strangers (probe, cpu, windows, adds_per_step_p10, adds_per_step_p50, adds_per_step_p90,
           busy_share, off_cpu_share, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let adds = |adds: Option<f64>| adds.map(|adds| measure(adds, "adds per step")).transpose();
    for neighbour in neighbours {
        insert.execute(params![
            probe,
            logical_cpu(neighbour.cpu)?,
            neighbour.windows,
            adds(neighbour.adds_per_step_p10)?,
            adds(neighbour.adds_per_step_p50)?,
            adds(neighbour.adds_per_step_p90)?,
            neighbour.busy_share.map(|busy| share(busy, "busy share of a sibling")).transpose()?,
            share(neighbour.off_cpu_share, "share of time off CPU")?,
            value::message(&neighbour.why),
        ])?;
    }
    Ok(())
}

/// Stores the levels and returns their ids.
fn insert_levels(connection: &Connection, probe: i64, levels: &[LatencyLevel]) -> Result<Vec<i64>, Fault> {
    let mut insert = connection
        .prepare_cached("INSERT INTO latency_levels (probe, name, low_ns, high_ns) VALUES (?, ?, ?, ?)")?;
    let mut group = connection.prepare_cached("INSERT INTO latency_groups (level, cpus) VALUES (?, ?)")?;
    let mut ids = Vec::new();
    for level in levels {
        insert.execute(params![
            probe,
            level.name.as_deref().map(|name| value::name(name, "name of a latency level")).transpose()?,
            measure(level.low_ns, "latency")?,
            measure(level.high_ns, "latency")?,
        ])?;
        let id = connection.last_insert_rowid();
        for cpus in &level.groups {
            cpus.iter().try_for_each(|cpu| logical_cpu(cpu).map(drop))?;
            group.execute(params![id, cpus.to_string()])?;
        }
        ids.push(id);
    }
    Ok(ids)
}

fn insert_latencies(
    connection: &Connection,
    probe: i64,
    latencies: &[PairLatency],
    levels: &[i64],
) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO latencies (probe, a, b, cas_min_ns, cas_median_ns, cas_spread_ns, cas_samples,
           two_lines_min_ns, two_lines_median_ns, two_lines_spread_ns, two_lines_samples, level)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for pair in latencies {
        let [cas_min, cas_median, cas_spread] = latency(&pair.cas)?;
        let [two_min, two_median, two_spread] = latency(&pair.two_lines)?;
        let level = pair.level.map(|level| {
            let what = || Fault::Unstorable(format!("latency level {level} of {}", levels.len()));
            levels.get(level as usize).copied().ok_or_else(what)
        });
        insert.execute(params![
            probe,
            logical_cpu(pair.a)?,
            logical_cpu(pair.b)?,
            cas_min,
            cas_median,
            cas_spread,
            pair.cas.samples,
            two_min,
            two_median,
            two_spread,
            pair.two_lines.samples,
            level.transpose()?,
        ])?;
    }
    Ok(())
}

fn latency(figures: &LatencyFigures) -> Result<[f64; 3], Fault> {
    Ok([
        measure(figures.min_ns, "latency")?,
        measure(figures.median_ns, "latency")?,
        measure(figures.spread_ns, "spread of a latency")?,
    ])
}

fn insert_clocks(connection: &Connection, probe: i64, clocks: &[ClockReading]) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO clocks (probe, cpu, busy_cpus, source, avg_mhz, busy_pct, bzy_mhz, tsc_mhz)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let figure = |value: Option<f64>, what| value.map(|value| measure(value, what)).transpose();
    for clock in clocks {
        insert.execute(params![
            probe,
            logical_cpu(clock.cpu)?,
            value::bounded(u64::from(clock.busy_cpus), super::BUSY_MAX, "number of busy logical CPUs")?,
            clock.source.word(),
            figure(clock.avg_mhz, "Avg_MHz")?,
            figure(clock.busy_pct, "Busy%")?,
            figure(clock.bzy_mhz, "Bzy_MHz")?,
            figure(clock.tsc_mhz, "TSC_MHz")?,
        ])?;
    }
    Ok(())
}
