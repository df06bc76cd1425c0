//! CPU seconds of each treatment, CPU time per unit of its work, and physical core-seconds.
//!
//! An operating system's CPU seconds count a core twice while both of its siblings are busy. How long cores were busy
//! has bounds (`queries::own_bounds`). Times are added up over the slices of a run first, since ticks of 10 ms are long
//! compared with a slice; sums have the bounds of their parts, only wider.

use crate::Facts;
use crate::queries::own_bounds;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::{Block, Cell, Column, Interval, Shown, Table};
use threadwise_statistics::{arithmetic, mean};
use threadwise_study::Run;

/// One run, seconds.
#[derive(Clone, Copy)]
struct Taken {
    cpu_s: f64,
    core_low_s: f64,
    core_high_s: f64,
    rows: f64,
}

/// CPU time of a treatment. Both bounds of a core's time are known, or none.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CoreTime {
    /// The treatment.
    pub treatment: String,
    /// CPU seconds of a run, over blocks; `None` with one block.
    pub cpu_s: Option<Interval>,
    /// Seconds of a run in which physical cores were busy with it, summed over cores: mean of the lower bound.
    pub core_low_s: Option<f64>,
    /// Mean of the upper bound.
    pub core_high_s: Option<f64>,
    /// Lower bound per unit of work, nanoseconds; a ratio of sums, so that a run with little work counts little.
    pub core_low_ns_per_row: Option<f64>,
    /// Upper bound per unit of work, nanoseconds.
    pub core_high_ns_per_row: Option<f64>,
}

/// CPU time of each treatment, in study order; empty for queries, which have it query by query, and without treatments
/// whose CPU time is unknown.
pub fn core_times(facts: &Facts<'_>) -> Vec<CoreTime> {
    if facts.analysis.queries.is_some() {
        return Vec::new();
    }
    let mut by_treatment: BTreeMap<&str, Vec<Taken>> = BTreeMap::new();
    for run in facts.runs.iter().filter(|run| run.status.is_valid()) {
        if let Some(taken) = taken(facts, run) {
            by_treatment.entry(run.treatment.as_str()).or_default().push(taken);
        }
    }
    let alpha = 1.0 - facts.level();
    let names = facts.study.treatments.iter().map(|treatment| treatment.name.as_str());
    names.filter_map(|name| Some(core_time(name, by_treatment.get(name)?, alpha))).collect()
}

fn core_time(name: &str, all: &[Taken], alpha: f64) -> CoreTime {
    let values = |value: &dyn Fn(&Taken) -> f64| all.iter().map(value).collect::<Vec<f64>>();
    let rows: f64 = values(&|one| one.rows).iter().sum();
    let of_all = |value: &dyn Fn(&Taken) -> f64| mean(values(value).into_iter());
    let a_row =
        |value: &dyn Fn(&Taken) -> f64| (rows > 0.0).then(|| values(value).iter().sum::<f64>() * 1e9 / rows);
    CoreTime {
        treatment: name.to_owned(),
        cpu_s: arithmetic(&values(&|one| one.cpu_s), "s", alpha),
        core_low_s: of_all(&|one| one.core_low_s),
        core_high_s: of_all(&|one| one.core_high_s),
        core_low_ns_per_row: a_row(&|one| one.core_low_s),
        core_high_ns_per_row: a_row(&|one| one.core_high_s),
    }
}

/// The table; `None` if nothing is known.
pub fn table(facts: &Facts<'_>) -> Option<Block> {
    let nouns = &facts.study.nouns();
    let rows: Vec<Vec<Cell>> = core_times(facts).into_iter().map(|one| row(facts, one)).collect();
    let columns = vec![
        Column::text("treatment"),
        Column::figure("CPU seconds of a run"),
        Column::figure(nouns.cpu),
        Column::figure("core-seconds of a run"),
        Column::figure(nouns.cpu.replacen("CPU", "core time", 1)),
    ];
    let caption = "CPU time, and time in which physical cores were busy with it: lower and upper bound";
    (!rows.is_empty()).then(|| Block::Table(Table::new(caption, columns, rows).shown(Shown::Page)))
}

fn row(facts: &Facts<'_>, one: CoreTime) -> Vec<Cell> {
    let each = facts.summary(&one.treatment).and_then(|summary| summary.metrics.get("cpu_ns_per_row"));
    let bounds = |low: Option<f64>, high: Option<f64>, unit: &'static str| match low.zip(high) {
        Some((low, high)) => Cell::Bounds { low, high, unit },
        None => Cell::none(),
    };
    vec![
        Cell::text(one.treatment),
        one.cpu_s.map_or_else(Cell::none, Cell::Interval),
        each.cloned().map_or_else(Cell::none, Cell::Interval),
        bounds(one.core_low_s, one.core_high_s, "s"),
        bounds(one.core_low_ns_per_row, one.core_high_ns_per_row, "ns"),
    ]
}

/// Times of a run; `None` if its CPU time or the busy times of its logical CPUs are unknown.
fn taken(facts: &Facts<'_>, run: &Run) -> Option<Taken> {
    let (mut cpu_s, mut window_s, mut rows) = (0.0, 0.0, 0.0);
    let mut busy_s: BTreeMap<u32, f64> = run.cpus.iter().map(|cpu| (*cpu, 0.0)).collect();
    for slice in &run.slices {
        let cpu_ns = slice.cpu_ns();
        if cpu_ns == 0 || slice.cpu_times.is_empty() {
            return None;
        }
        cpu_s += cpu_ns as f64 / 1e9;
        window_s += slice.window_ns as f64 / 1e9;
        rows += slice.rows() as f64;
        for times in &slice.cpu_times {
            if let Some(busy) = busy_s.get_mut(&times.cpu) {
                *busy += times.busy_ns as f64 / 1e9;
            }
        }
    }
    let mut cores: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
    for (cpu, busy) in busy_s {
        cores.entry(facts.topology.cpu(cpu).and_then(|cpu| cpu.core)).or_default().push(busy);
    }
    let cores: Vec<Vec<f64>> = cores.into_values().collect();
    let (core_low_s, core_high_s) = own_bounds(&cores, cpu_s, window_s);
    (window_s > 0.0).then_some(Taken { cpu_s, core_low_s, core_high_s, rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{cpu_times, machine, run, study};

    #[test]
    fn two_busy_siblings_are_two_cpu_seconds_and_one_core_second() {
        let study = study(&[""], &["C same-core 2"]);
        let topology = machine(1, 2, 2);
        let mut runs: Vec<Run> = ["A", "A'", "C"].into_iter().map(|name| run(0, name, &[1000])).collect();
        for run in &mut runs {
            let is_both = run.treatment == "C";
            let siblings: Vec<u32> = topology.cores[0].cpus.iter().collect();
            run.cpus = if is_both { siblings.clone() } else { vec![siblings[0]] };
            let slice = &mut run.slices[0];
            slice.window_ns = 1_000_000_000;
            slice.sessions[0].cpu_ns = if is_both { 2_000_000_000 } else { 1_000_000_000 };
            slice.cpu_times = run.cpus.iter().map(|cpu| cpu_times(*cpu, 100, 0)).collect();
        }
        let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
        let facts = Facts { runs: &runs, ..Facts::new(&study, &topology, &analysis) };
        let Some(Block::Table(table)) = table(&facts) else { panic!("no table") };
        let both = table.cells().find(|cells| cells[0] == Cell::text("C")).unwrap();
        let Cell::Bounds { low, high, .. } = &both[3] else { panic!("{both:?}") };
        assert!((low - 1.0).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{both:?}");
        let Cell::Interval(cpu) = &both[1] else { panic!("{both:?}") };
        assert!((cpu.mean - 2.0).abs() < 1e-9, "{both:?}");
    }
}
