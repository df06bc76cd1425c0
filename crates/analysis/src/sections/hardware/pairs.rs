//! Measured pairs of logical CPUs: what they share and how far apart they are. One cell per pair, and for many logical
//! CPUs the groups of each level as squares below the pairs that were measured.

use crate::hardware::Hardware;
use crate::hardware::shown::{SHARINGS, by_groups, contradicts, level_name, sign, words};
use crate::sections::cells::{columns, share};
use std::collections::BTreeMap;
use threadwise_document::chart::PairChart;
use threadwise_document::numbers::cpu_list;
use threadwise_document::{Block, Cell, Chart, Figure, Shown, Table};
use threadwise_machine::CpuSet;
use threadwise_study::probe::{LatencyFigures, PairLatency, Probe, Sharing, Slowdown};

/// Most logical CPUs with a cell for every pair, and rows in order of their numbers.
const CELLS: usize = 64;
/// Most measured pairs without thinning: each is drawn twice, and in two charts.
const MAX_PAIRS: usize = 4_000;
/// Most squares; those of the nearest levels are left out first.
const MAX_SQUARES: usize = 4_000;
/// Most rows of a table of pairs; `probe --json` has all.
const MAX_ROWS: usize = 500;
/// Most groups of a level in the list.
const MAX_GROUPS: usize = 24;
/// Most logical CPUs of charts that share a line.
const NARROW: usize = 16;

/// Charts of pairs, with tables.
pub fn figures(probe: &Probe, hardware: &Hardware) -> Vec<Block> {
    let grouped = probe.cpus.len() > CELLS;
    let mut figures = Vec::new();
    if !grouped && !probe.pairs.is_empty() {
        figures.push(Figure {
            chart: Chart::Sharing,
            wide: true,
            title: "What two logical CPUs share".to_owned(),
            description:
                "The answer for each pair; an exclamation mark if the system declares it differently."
                    .to_owned(),
            table: sharing_table(probe, hardware),
        });
    }
    if !probe.latencies.is_empty() {
        let methods: [(&str, Method); 2] = [
            ("Cache-line latency by compare-and-swap", |pair| pair.cas),
            ("Cache-line latency by one writer and one reader", |pair| pair.two_lines),
        ];
        let description = latency_words(probe, grouped);
        figures.extend(methods.into_iter().zip(0..).map(|((title, method), at)| Figure {
            chart: Chart::Latency(at),
            wide: probe.cpus.len() > NARROW,
            title: title.to_owned(),
            description: description.clone(),
            table: if grouped { level_table(probe) } else { latency_table(title, probe, method) },
        }));
    }
    let on_page = |figure: Figure| Figure { table: figure.table.shown(Shown::Page), ..figure };
    figures.into_iter().map(|figure| Block::Figure(Box::new(on_page(figure)))).collect()
}

/// The figures of one of the two methods.
type Method = fn(&PairLatency) -> LatencyFigures;

fn latency_words(probe: &Probe, grouped: bool) -> String {
    let measured = probe.latencies.len();
    let cpus = || probe.cpus.iter();
    let is_inferred = |a: u32, b: u32| probe.latency(a, b).is_none() && inferred_level(probe, a, b).is_some();
    let more = match grouped {
        true if measured > MAX_PAIRS => format!(
            " Rows are ordered by measured groups. Blue points were measured, grey squares follow from groups. Of \
             {measured} measured pairs {} are drawn.",
            measured.div_ceil(step(probe))
        ),
        true => " Rows are ordered by measured groups. Blue points were measured, grey squares follow from groups."
            .to_owned(),
        false if cpus().any(|a| cpus().any(|b| a < b && is_inferred(a, b))) => {
            " Grey cells were not measured and follow from the groups of others.".to_owned()
        }
        false => String::new(),
    };
    format!("Least time one way in nanoseconds; darker is farther.{more}")
}

fn cut_caption(caption: &str, shown: usize, all: usize) -> String {
    match shown < all {
        true => format!("{caption}: {shown} of {all}, `probe --json` has all"),
        false => caption.to_owned(),
    }
}

fn sharing_table(probe: &Probe, hardware: &Hardware) -> Table {
    let slowed = |slowdown: Option<Slowdown>| {
        slowdown.map_or_else(Cell::none, |slowdown| Cell::Value { value: slowdown.median, unit: "ratio" })
    };
    let rows = probe.pairs.iter().take(MAX_ROWS).map(|pair| {
        let differs = contradicts(hardware, pair.a, pair.b, pair.sharing);
        vec![
            Cell::Text(format!("{}, {}", pair.a, pair.b)),
            Cell::named(words(pair.sharing), if differs { "declared differently" } else { "" }),
            Cell::text(&pair.why),
            slowed(pair.wide),
            slowed(pair.chain),
            slowed(pair.load_store),
            pair.on_cpu_share.map_or_else(Cell::none, share),
            Cell::Text(format!("{} of {}", pair.rounds_used, pair.rounds)),
        ]
    });
    let figures =
        ["wide (independent adds)", "chain (dependent adds)", "load/store", "on a CPU", "rounds used"];
    let caption = cut_caption("Time together over time alone", rows.len(), probe.pairs.len());
    Table::new(caption, columns(&["pair", "answer", "why"], &figures), rows)
}

fn latency_table(title: &str, probe: &Probe, method: Method) -> Table {
    let rows = probe.latencies.iter().take(MAX_ROWS).map(|pair| {
        let LatencyFigures { min_ns, median_ns, spread_ns, samples } = method(pair);
        let level = pair.level.map(|level| level_name(probe, level as usize));
        let heads =
            [Cell::Text(format!("{}, {}", pair.a, pair.b)), level.map_or_else(Cell::none, Cell::Text)];
        let figures = [min_ns, median_ns, spread_ns].map(|value| Cell::Value { value, unit: "ns" });
        heads.into_iter().chain(figures).chain([Cell::Count(samples.into())]).collect()
    });
    let caption = cut_caption(title, rows.len(), probe.latencies.len());
    Table::new(caption, columns(&["pair", "level"], &["least", "median", "spread", "samples"]), rows)
}

fn level_table(probe: &Probe) -> Table {
    let rows = probe.levels.iter().enumerate().map(|(at, level)| {
        let pairs = probe.latencies.iter().filter(|pair| pair.level == Some(at as u32)).count();
        let shown: Vec<String> = level.groups.iter().take(MAX_GROUPS).map(cpu_list).collect();
        let more = match level.groups.len().saturating_sub(MAX_GROUPS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        vec![
            Cell::Text(level_name(probe, at)),
            Cell::Text(format!("{}{more}", shown.join("  "))),
            Cell::Bounds { low: level.low_ns, high: level.high_ns, unit: "ns" },
            Cell::Count(pairs as u64),
            Cell::Count(level.groups.len() as u64),
        ]
    });
    let columns = columns(
        &["level", "logical CPUs of a group"],
        &["least latency of a pair", "pairs measured", "groups"],
    );
    Table::new("Levels of latency", columns, rows)
}

/// One in this many measured pairs is drawn.
fn step(probe: &Probe) -> usize {
    probe.latencies.len().div_ceil(MAX_PAIRS).max(1)
}

/// The chart's data. Pairs that were neither measured nor inferred have no cell.
pub fn chart(probe: &Probe, hardware: &Hardware) -> PairChart {
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

/// The measured pairs of a large machine, thinned evenly if there are too many.
fn add_measured(chart: &mut PairChart, probe: &Probe, row_of: &BTreeMap<u32, usize>) {
    for latency in probe.latencies.iter().step_by(step(probe)) {
        let (Some(&a), Some(&b)) = (row_of.get(&latency.a), row_of.get(&latency.b)) else { continue };
        let level = latency.level.map(|level| level as usize);
        let figures = (rounded(latency.cas), rounded(latency.two_lines));
        chart.pairs.push((a.min(b), a.max(b), Some(figures.0), Some(figures.1), level, None, false));
    }
}

fn answer(sharing: Sharing) -> Option<usize> {
    SHARINGS.iter().position(|&known| known == sharing)
}

/// Two decimals are more than a latency has, and keep the file small.
fn rounded(figures: LatencyFigures) -> [f64; 3] {
    [figures.min_ns, figures.median_ns, figures.spread_ns].map(|value| (value * 100.0).round() / 100.0)
}

/// The nearest level with a group of both.
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

/// Each group as the rows that it covers. A group whose members are not together (levels that do not nest) gets a
/// square for each run of neighbours.
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
