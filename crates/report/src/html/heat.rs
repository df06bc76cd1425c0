//! Measured pairs as the page's charts take them: a cell a pair, and for many logical CPUs the
//! groups of each level as squares below the pairs that were measured.

use super::data::PairChart;
use crate::hardware::{SHARINGS, by_groups, contradicts, level_name, sign, words};
use std::collections::BTreeMap;
use threadwise_analysis::hardware::Hardware;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{LatencyFigures, Probe, Sharing};

/// Up to this many logical CPUs every pair has a cell, and rows are in order of their numbers.
pub const CELLS: usize = 64;
/// More measured pairs than this are thinned: each is drawn twice, and in two charts.
pub const MAX_PAIRS: usize = 4_000;
/// More squares than this are not drawn, the nearest levels' first.
const MAX_SQUARES: usize = 4_000;

/// The chart's data. Pairs that were neither measured nor inferred have no cell.
pub fn pair_chart(probe: &Probe, hardware: &Hardware) -> PairChart {
    let grouped = probe.cpus.len() > CELLS;
    let cpus = if grouped { by_groups(probe) } else { probe.cpus.iter().collect() };
    let row_of: BTreeMap<u32, usize> = cpus.iter().copied().zip(0..).collect();
    let mut chart = PairChart {
        grouped,
        levels: (0..probe.levels.len()).map(|at| level_name(probe, at)).collect(),
        answers: SHARINGS.iter().map(|&sharing| (sign(sharing, true), words(sharing))).collect(),
        ..PairChart::default()
    };
    if grouped {
        chart.squares = squares(probe, &row_of);
        add_measured(&mut chart, probe, &row_of);
    } else {
        add_all(&mut chart, probe, hardware, &cpus);
    }
    chart.cpus = cpus;
    chart
}

/// Every pair of a small machine.
fn add_all(chart: &mut PairChart, probe: &Probe, hardware: &Hardware, cpus: &[u32]) {
    for (row, &a) in cpus.iter().enumerate() {
        for (column, &b) in cpus.iter().enumerate().skip(row + 1) {
            let sharing = probe.sharing(a, b);
            let latency = probe.latency(a, b);
            let level = match latency {
                Some(latency) => latency.level.map(|level| level as usize),
                None => inferred_level(probe, a, b),
            };
            if sharing.is_none() && latency.is_none() && level.is_none() {
                continue;
            }
            let differs = sharing.is_some_and(|sharing| contradicts(hardware, a, b, sharing));
            let cas = latency.map(|latency| rounded(latency.cas));
            let two_lines = latency.map(|latency| rounded(latency.two_lines));
            chart.pairs.push((row, column, cas, two_lines, level, sharing.and_then(answer), differs));
        }
    }
    chart.squares = (0..probe.levels.len()).map(|at| (at, 0, 0, middle_ns(probe, at))).collect();
}

/// The measured pairs of a large machine, thinned evenly where there are too many.
fn add_measured(chart: &mut PairChart, probe: &Probe, row_of: &BTreeMap<u32, usize>) {
    let step = probe.latencies.len().div_ceil(MAX_PAIRS).max(1);
    for latency in probe.latencies.iter().step_by(step) {
        let (Some(&a), Some(&b)) = (row_of.get(&latency.a), row_of.get(&latency.b)) else { continue };
        let level = latency.level.map(|level| level as usize);
        let figures = (rounded(latency.cas), rounded(latency.two_lines));
        chart.pairs.push((a.min(b), a.max(b), Some(figures.0), Some(figures.1), level, None, false));
    }
}

fn answer(sharing: Sharing) -> Option<usize> {
    SHARINGS.iter().position(|&own| own == sharing)
}

/// Two decimals are more than a latency has, and keep the file small.
fn rounded(figures: LatencyFigures) -> [f64; 3] {
    [figures.min_ns, figures.median_ns, figures.spread_ns].map(|value| (value * 100.0).round() / 100.0)
}

/// The nearest level in a group of which both are.
fn inferred_level(probe: &Probe, a: u32, b: u32) -> Option<usize> {
    let together = |group: &CpuSet| group.contains(a) && group.contains(b);
    probe.levels.iter().position(|level| level.groups.iter().any(together))
}

/// Middle of a level on a logarithmic scale.
fn middle_ns(probe: &Probe, level: usize) -> f64 {
    probe.levels.get(level).map_or(0.0, |level| {
        let middle = (level.low_ns.max(0.0) * level.high_ns.max(0.0)).sqrt();
        (middle * 100.0).round() / 100.0
    })
}

/// Each group as the rows that it covers. A group whose members do not stand together (levels that
/// do not nest) gets a square for each run of neighbours.
fn squares(probe: &Probe, row_of: &BTreeMap<u32, usize>) -> Vec<(usize, usize, usize, f64)> {
    let mut squares = Vec::new();
    for (at, level) in probe.levels.iter().enumerate().rev() {
        for group in &level.groups {
            let mut rows: Vec<usize> = group.iter().filter_map(|cpu| row_of.get(&cpu).copied()).collect();
            rows.sort_unstable();
            let runs = rows.chunk_by(|a, b| a + 1 == *b).filter(|run| run.len() > 1);
            let ends = runs.filter_map(|run| Some((*run.first()?, *run.last()?)));
            squares.extend(ends.map(|(first, last)| (at, first, last, middle_ns(probe, at))));
        }
    }
    squares.truncate(MAX_SQUARES);
    squares
}
