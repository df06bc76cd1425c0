//! Measurements of the hardware: declared and measured cores, pairs of logical CPUs, wake-ups, neighbours, clocks; as a section
//! of a study's report, and as the report of a probe alone.

mod pairs;
mod wakeups;

use super::cells::{columns, share};
use crate::Facts;
use crate::hardware::Hardware;
use crate::hardware::shown::{cores, extent, mhz, source_words};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::{PairChart, Shared};
use threadwise_document::{Block, Cell, Column, Document, Fact, Prose, Section, Shown, Table};
use threadwise_document::{numbers, prose};
use threadwise_machine::Topology;
use threadwise_study::probe::{Neighbour, Probe};

/// Most logical CPUs with a row of their own; if there are more, those with the busiest siblings.
const MAX_CPUS: usize = 64;

/// Heading, of the section and of the report of a probe alone.
const TITLE: &str = "The hardware, measured";

/// Findings of the probe; `None` without one.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let (probe, hardware) = facts.probe.zip(facts.hardware)?;
    let mut blocks = about(probe);
    let lines = hardware.verdict.iter().map(|finding| finding.line.clone());
    blocks.push(Block::List(lines.collect(), Shown::Page));
    blocks.extend(measured(probe, hardware));
    Some(Section::new("hardware", TITLE, blocks))
}

/// Its pairs.
pub fn chart(facts: &Facts<'_>) -> Option<PairChart> {
    facts.probe.zip(facts.hardware).map(|(probe, hardware)| pairs::chart(probe, hardware))
}

/// The report of a probe alone. `created_utc` is when it was measured, RFC 3339 in UTC, and may be empty.
pub fn probe_document(
    topology: &Topology,
    probe: &Probe,
    hardware: &Hardware,
    program_version: &str,
    created_utc: &str,
) -> Document {
    let blocks = about(probe).into_iter().chain(measured(probe, hardware));
    let machine = Block::Machine(Box::new(topology.clone()));
    Document {
        title: TITLE.to_owned(),
        about: Some(created_utc).filter(|when| !when.is_empty()).map(str::to_owned).into_iter().collect(),
        simulated: false,
        verdict: hardware.verdict.clone(),
        facts: figures(probe, hardware),
        sections: vec![
            Section::new("hardware", TITLE, blocks.collect()),
            Section::new("machine", "The machine, declared", vec![machine]),
        ],
        footer: format!("threadwise {program_version}"),
        charts: Shared { pairs: Some(pairs::chart(probe, hardware)), ..Shared::default() },
        ..Document::default()
    }
}

/// The figures in the summary of a probe's verdict.
fn figures(probe: &Probe, hardware: &Hardware) -> Vec<Fact> {
    let fact = |name: &str, value, note| Fact { name: name.to_owned(), value, note };
    let pairs = hardware.pairs;
    let without = pairs.masked + pairs.moving + pairs.unclear + pairs.unknown;
    vec![
        fact("logical CPUs", probe.cpus.len().to_string(), numbers::cpu_list(&probe.cpus)),
        fact("time", numbers::seconds(probe.duration_s), format!("{} form", probe.form.word())),
        fact(
            "pairs as declared",
            numbers::grouped(pairs.agree),
            format!("{} different", numbers::grouped(pairs.differ)),
        ),
        fact(
            "pairs without an answer",
            numbers::grouped(without),
            "masked, moving, unclear or not measured".to_owned(),
        ),
    ]
}

/// What was probed.
fn about(probe: &Probe) -> Vec<Block> {
    let mut lines = vec![prose!(
        "Probed: {} ({}), {} form, {}.",
        numbers::counted(probe.cpus.len(), "logical CPU"),
        numbers::cpu_list(&probe.cpus),
        probe.form.word(),
        Prose::figure(numbers::seconds(probe.duration_s)),
    )];
    let stopped = prose!("The probe was stopped before its end: only what it measured is shown.");
    lines.extend(probe.interrupted.then_some(stopped));
    lines.into_iter().map(Block::on_page).collect()
}

/// Cores, pairs and tables.
fn measured(probe: &Probe, hardware: &Hardware) -> Vec<Block> {
    let mut blocks = vec![Block::Cores(cores(hardware))];
    blocks.extend(pairs::figures(probe, hardware));
    blocks.extend(wakeups::table(probe).map(Block::Table));
    let tables = [differences(hardware), neighbours(probe), clocks(probe), gaps(probe)];
    blocks.extend(tables.into_iter().flatten().map(|table| Block::Table(table.shown(Shown::Page))));
    blocks
}

fn differences(hardware: &Hardware) -> Option<Table> {
    Table::of(
        "Where declaration and measurement differ",
        &hardware.differences,
        &[
            (Column::text("logical CPUs"), &|one| Cell::Text(numbers::cpu_list(&one.cpus))),
            (Column::text("declared"), &|one| Cell::text(&one.declared)),
            (Column::text("measured"), &|one| Cell::text(&one.measured)),
            (Column::text("figures"), &|one| Cell::Text(one.text.to_string())),
        ],
    )
    .filled()
}

fn neighbours(probe: &Probe) -> Option<Table> {
    let mut all: Vec<&Neighbour> = probe.neighbours.iter().collect();
    let mut caption = "A neighbour on the siblings".to_owned();
    if all.len() > MAX_CPUS {
        all.sort_by(|a, b| b.busy_share.unwrap_or(-1.0).total_cmp(&a.busy_share.unwrap_or(-1.0)));
        all.truncate(MAX_CPUS);
        caption = format!("{caption}: the busiest {MAX_CPUS} of {}", probe.neighbours.len());
    }
    Table::of(
        caption,
        all,
        &[
            (Column::text("logical CPU"), &|one| Cell::text(one.cpu.to_string())),
            (Column::text("why"), &|one| Cell::text(&one.why)),
            (Column::figure("sibling busy"), &|one| {
                one.busy_share.map_or_else(|| Cell::text("unknown"), share)
            }),
            (Column::figure("adds per step p10"), &|one| Cell::value(one.adds_per_step_p10, "1")),
            (Column::figure("p50"), &|one| Cell::value(one.adds_per_step_p50, "1")),
            (Column::figure("p90"), &|one| Cell::value(one.adds_per_step_p90, "1")),
            (Column::figure("off the CPU"), &|one| share(one.off_cpu_share)),
            (Column::figure("windows"), &|one| Cell::count(one.windows)),
        ],
    )
    .filled()
}

/// MHz, rounded: more digits are not meaningful.
fn whole_mhz(mhz: f64) -> Cell {
    if mhz.is_finite() { Cell::Count(mhz.round() as u64) } else { Cell::none() }
}

/// Terms as in turbostat's manual page; one row per reading, or one per range if there are many CPUs.
fn clocks(probe: &Probe) -> Option<Table> {
    let read: BTreeSet<u32> =
        probe.clocks.iter().filter(|reading| mhz(reading).is_some()).map(|reading| reading.cpu).collect();
    match (probe.clocks.is_empty(), read.len() > MAX_CPUS) {
        (true, _) => return None,
        (false, true) => return Some(clock_ranges(probe)),
        (false, false) => {}
    }
    let figure = |value: Option<f64>| value.map_or_else(Cell::none, whole_mhz);
    Some(Table::of(
        "Clocks",
        &probe.clocks,
        &[
            (Column::text("logical CPU"), &|clock| Cell::text(clock.cpu.to_string())),
            (Column::text("source"), &|clock| Cell::text(source_words(clock.source))),
            (Column::figure("busy CPUs"), &|clock| Cell::count(clock.busy_cpus)),
            (Column::figure("Avg_MHz"), &|clock| figure(clock.avg_mhz)),
            (Column::figure("Busy%"), &|clock| {
                Cell::value(clock.busy_pct.map(|percent| percent / 100.0), "share")
            }),
            (Column::figure("Bzy_MHz"), &|clock| figure(clock.bzy_mhz)),
            (Column::figure("TSC_MHz"), &|clock| figure(clock.tsc_mhz)),
        ],
    ))
}

fn clock_ranges(probe: &Probe) -> Table {
    let mut ranges: BTreeMap<(u32, &str), Vec<f64>> = BTreeMap::new();
    for reading in &probe.clocks {
        let key = (reading.busy_cpus, source_words(reading.source));
        ranges.entry(key).or_default().extend(mhz(reading));
    }
    let rows = ranges.iter().filter_map(|((busy, source), values)| {
        let (least, middle, most) = extent(values.iter().copied())?;
        let heads = [Cell::text(*source), Cell::Count((*busy).into()), Cell::Count(values.len() as u64)];
        Some(heads.into_iter().chain([least, middle, most].map(whole_mhz)).collect())
    });
    let figures = ["busy CPUs", "readings", "least MHz", "middle MHz", "most MHz"];
    Table::new("Clocks while not idle", columns(&["source"], &figures), rows)
}

fn gaps(probe: &Probe) -> Option<Table> {
    let rows = probe.gaps.iter().map(|gap| vec![Cell::text(gap)]);
    Table::new("What could not be measured", vec![Column::text("")], rows).filled()
}
