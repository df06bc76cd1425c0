//! Clock, busy share and power, treatment by treatment: one row for each logical CPU that a treatment used and for each
//! idle sibling of these, as turbostat prints them.

use crate::cpus::{CpuRow, Cpus, PackageRow, TreatmentCpus, Use};
use crate::estimate::ROWS_PER_JOULE;
use crate::{Facts, Interval};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::numbers::{counted, value};
use threadwise_document::{Block, Cell, Column, Fold, Prose, Row, Section, Shown, Table, prose};
use threadwise_study::NoteCode;
use threadwise_study::workload::Nouns;

/// Most rows of a treatment on the page, and of all treatments in one table. JSON has all.
const MAX_ROWS: usize = 64;
/// Most packages with a column.
const MAX_PACKAGES: usize = 8;

/// A figure that is unknown for all treatments.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Gap {
    /// What.
    pub what: &'static str,
    /// Why, in one line.
    pub why: String,
}

/// A figure of a row.
struct Figure {
    name: &'static str,
    unit: &'static str,
    of: fn(&CpuRow) -> Option<&Interval>,
}

const FIGURES: [Figure; 5] = [
    Figure { name: "busy", unit: "share", of: |row| row.busy_share.as_ref() },
    Figure { name: "MHz while busy", unit: "1", of: |row| row.busy_mhz.as_ref() },
    Figure { name: "MHz on average", unit: "1", of: |row| row.average_mhz.as_ref() },
    Figure { name: "MHz by cpufreq", unit: "1", of: |row| row.cpufreq_mhz.as_ref() },
    Figure { name: "instructions/cycle", unit: "1", of: |row| row.instructions_per_cycle.as_ref() },
];

/// The section; `None` if nothing was read.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let nouns = &facts.study.nouns();
    let cpus = facts.analysis.cpus.as_ref()?;
    let mut blocks = vec![Block::Text(about(), Shown::Page)];
    blocks.extend(by_cpu(cpus));
    blocks.extend(power(facts, cpus, nouns).map(Block::Table));
    let gaps = gaps(facts);
    if !gaps.is_empty() {
        let lines = gaps.iter().map(|gap| prose!("Unknown: {}: {}", gap.what, &gap.why)).collect();
        blocks.push(Block::List(lines, Shown::Page));
    }
    blocks.push(Block::Text(summary(facts, cpus, &gaps), Shown::Terminal));
    Some(Section::new("logical-cpus", "Clock, busy share and power of every logical CPU", blocks))
}

fn about() -> Prose {
    "A row is a logical CPU that a treatment used, or an idle sibling of one. Blocks draw different cores: each \
     figure is a mean over the blocks in which the logical CPU had that role for the treatment, without an interval \
     if there is one such block. Clocks and counters are read only of logical CPUs in use. MHz while busy are cycles \
     over the time not idle, MHz on average cycles over all time."
        .into()
}

/// One table, or one that opens for each treatment if they are long.
fn by_cpu(cpus: &Cpus) -> Vec<Block> {
    let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| has(cpus, figure)).collect();
    let of_treatments: Vec<(&TreatmentCpus, Vec<Vec<Cell>>)> = cpus
        .treatments
        .iter()
        .filter(|one| !one.logical_cpus.is_empty())
        .map(|one| (one, rows(one, &figures)))
        .collect();
    let total: usize = of_treatments.iter().map(|(_, rows)| rows.len()).sum();
    if total > MAX_ROWS {
        let fold = |(one, rows): (&TreatmentCpus, Vec<Vec<Cell>>)| {
            Block::Fold(Fold {
                above: "Every logical CPU, treatment by treatment",
                title: format!("{} ({})", one.treatment, counted(distinct(one), "logical CPU")),
                tables: vec![Table::new("", columns(&figures), rows)],
                ..Fold::default()
            })
        };
        return of_treatments.into_iter().map(fold).collect();
    }
    let mut table =
        Table::new("Every logical CPU, treatment by treatment", columns(&figures), []).shown(Shown::Page);
    for (one, rows) in of_treatments {
        table.rows.push(Row::Group(one.treatment.clone()));
        table.rows.extend(rows.into_iter().map(Row::Cells));
    }
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

fn has(cpus: &Cpus, figure: &Figure) -> bool {
    cpus.treatments.iter().flat_map(|one| &one.logical_cpus).any(|row| (figure.of)(row).is_some())
}

fn distinct(one: &TreatmentCpus) -> usize {
    one.logical_cpus.iter().map(|row| row.cpu).collect::<BTreeSet<_>>().len()
}

fn columns(figures: &[&Figure]) -> Vec<Column> {
    let texts = ["logical CPU", "package", "core", "use"].map(Column::text);
    let figures = figures.iter().map(|figure| Column::figure(figure.name));
    texts.into_iter().chain([Column::figure("blocks")]).chain(figures).collect()
}

/// A row for each logical CPU; if they are too many, one for each package and use, with the range of their means.
fn rows(one: &TreatmentCpus, figures: &[&Figure]) -> Vec<Vec<Cell>> {
    if one.logical_cpus.len() <= MAX_ROWS {
        return one.logical_cpus.iter().map(|row| cells(row, figures)).collect();
    }
    let mut folded: BTreeMap<(Option<i64>, Use), Vec<&CpuRow>> = BTreeMap::new();
    for row in &one.logical_cpus {
        folded.entry((row.package, row.usage)).or_default().push(row);
    }
    let cells = |((package, usage), rows): ((Option<i64>, Use), Vec<&CpuRow>)| {
        let names = [
            Cell::text(format!("{}, range of means", counted(rows.len(), "logical CPU"))),
            number(package),
            Cell::none(),
            Cell::text(word(usage)),
            Cell::none(),
        ];
        let ranges =
            figures.iter().map(|figure| range(rows.iter().filter_map(|row| (figure.of)(row)), figure.unit));
        names.into_iter().chain(ranges).collect()
    };
    folded.into_iter().map(cells).collect()
}

fn cells(row: &CpuRow, figures: &[&Figure]) -> Vec<Cell> {
    let names = [
        Cell::text(row.cpu.to_string()),
        number(row.package),
        number(row.core),
        Cell::text(word(row.usage)),
        Cell::Count(row.blocks.into()),
    ];
    names.into_iter().chain(figures.iter().map(|figure| Cell::interval((figure.of)(row)))).collect()
}

fn range<'a>(means: impl Iterator<Item = &'a Interval>, unit: &'static str) -> Cell {
    let (low, high) = ends(means.map(|interval| interval.mean));
    if low <= high { Cell::Bounds { low, high, unit } } else { Cell::none() }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn number(number: Option<i64>) -> Cell {
    number.map_or_else(Cell::none, |number| Cell::text(number.to_string()))
}

fn word(usage: Use) -> &'static str {
    match usage {
        Use::Used => "used",
        Use::IdleSibling => "idle sibling",
    }
}

/// Power and work per joule, a row for each treatment; `None` if no energy was read.
fn power(facts: &Facts<'_>, cpus: &Cpus, nouns: &Nouns) -> Option<Table> {
    let packages = || cpus.treatments.iter().flat_map(|one| &one.packages);
    let names: BTreeSet<&str> = packages().map(|package| package.package.as_str()).collect();
    let has_memory: bool = packages().any(|package| package.memory_power_w.is_some());
    let shown: Vec<&str> = names.iter().copied().take(MAX_PACKAGES).collect();
    let per_joule = format!("{}/J", nouns.noun);
    let mut columns =
        vec![Column::text("treatment"), Column::figure("W, all packages"), Column::figure(per_joule)];
    columns.extend(shown.iter().map(|name| Column::figure(format!("W, package {name}"))));
    columns.extend(
        shown.iter().filter(|_| has_memory).map(|name| Column::figure(format!("W, memory of {name}"))),
    );
    let row = |one: &TreatmentCpus| {
        let metric = |name: &str| facts.summary(&one.treatment).and_then(|summary| summary.metrics.get(name));
        let package = |name: &str| one.packages.iter().find(|package| package.package == name);
        let cell = |name: &&str, figure: fn(&PackageRow) -> Option<&Interval>| {
            Cell::interval(package(name).and_then(figure))
        };
        let whole = [
            Cell::text(&one.treatment),
            Cell::interval(metric("power_w")),
            Cell::interval(metric(ROWS_PER_JOULE)),
        ];
        let powers = shown.iter().map(|name| cell(name, |package| package.power_w.as_ref()));
        let memory = shown
            .iter()
            .filter(|_| has_memory)
            .map(|name| cell(name, |package| package.memory_power_w.as_ref()));
        whole.into_iter().chain(powers).chain(memory).collect()
    };
    let caption = match names.len().saturating_sub(MAX_PACKAGES) {
        0 => "Power of packages, of the whole machine while slices ran".to_owned(),
        more => format!(
            "Power of packages, of the whole machine while slices ran ({more} more packages with --json)"
        ),
    };
    let rows: Vec<Vec<Cell>> =
        cpus.treatments.iter().filter(|one| !one.packages.is_empty()).map(row).collect();
    (!rows.is_empty()).then(|| Table::new(caption, columns, rows).shown(Shown::Page))
}

/// Figures that are unknown for every treatment, each with its reason.
pub fn gaps(facts: &Facts<'_>) -> Vec<Gap> {
    let Some(cpus) = &facts.analysis.cpus else { return Vec::new() };
    let any = |has: fn(&CpuRow) -> bool| cpus.treatments.iter().flat_map(|one| &one.logical_cpus).any(has);
    let has_power = cpus.treatments.iter().any(|one| !one.packages.is_empty());
    let all = [
        ("busy share", any(|row| row.busy_share.is_some()), "cpu times", ""),
        ("clock by the processor's own counters", any(|row| row.busy_mhz.is_some()), "clock", "aperf_cycles"),
        ("instructions per cycle", any(|row| row.instructions_per_cycle.is_some()), "counters", "cycles"),
        ("power and work per joule", has_power, "energy", "package_energy_uj"),
    ];
    let unknown = all.into_iter().filter(|(_, is_known, ..)| !is_known);
    unknown.map(|(what, _, sampler, metric)| Gap { what, why: why(facts, sampler, metric) }).collect()
}

/// Why a sampler read nothing: by a reading that is a gap, else by the study's notes.
fn why(facts: &Facts<'_>, sampler: &str, metric: &str) -> String {
    let readings = facts.runs.iter().filter(|run| run.status.is_valid()).flat_map(|run| &run.readings);
    let mut gaps =
        readings.filter(|reading| reading.sampler == sampler).filter(|reading| reading.gap.is_some());
    let first = gaps.next();
    let gap = first.into_iter().chain(gaps).find(|reading| reading.metric == metric).or(first);
    let noted = || {
        let code = NoteCode::NoReadings(sampler.to_owned());
        facts.notes.iter().find(|note| note.code == code).map(|note| note.reason().to_owned())
    };
    gap.and_then(|reading| reading.gap.clone()).or_else(noted).unwrap_or_else(|| "it was not read".to_owned())
}

/// One line for a terminal.
fn summary(facts: &Facts<'_>, cpus: &Cpus, gaps: &[Gap]) -> Prose {
    let used =
        || cpus.treatments.iter().flat_map(|one| &one.logical_cpus).filter(|row| row.usage == Use::Used);
    let mut parts: Vec<String> = Vec::new();
    for figure in FIGURES.iter().filter(|figure| has(cpus, figure)).take(2) {
        let (low, high) = ends(used().filter_map(|row| (figure.of)(row)).map(|interval| interval.mean));
        if low <= high {
            parts.push(format!("{} {}", figure.name, between(low, high, figure.unit)));
        }
    }
    let watts = facts.analysis.treatments.iter().filter_map(|one| one.metrics.get("power_w"));
    let (low, high) = ends(watts.map(|interval| interval.mean));
    if low <= high {
        parts.push(format!("{} W", between(low, high, "1")));
    }
    parts.extend(gaps.iter().map(|gap| format!("{} unknown", gap.what)));
    prose!(
        "logical CPUs in use, ranges of means: {} (see each one in the HTML report or --json)",
        parts.join("; ")
    )
}

fn between(low: f64, high: f64, unit: &str) -> String {
    let (low, high) = (value(low, unit), value(high, unit));
    if low == high { low } else { format!("{low} to {high}") }
}
