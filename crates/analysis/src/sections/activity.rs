//! What sessions did besides reading rows: waits, engine counters, CPU of engine and client, spinning, fixed work.
//! Empty if an engine reports nothing of it.

use crate::activity::{Locks, OTHER, RUNNING, Waits};
use crate::{Facts, Interval, Ratio, TreatmentSummary};
use std::collections::BTreeSet;
use threadwise_document::chart::{WaitChart, WaitRow};
use threadwise_document::numbers::capital;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Section, Shown, Table, prose};
use threadwise_study::workload::Nouns;

/// Longest name of a wait or counter.
const MAX_NAME: usize = 40;

/// The section; `None` if the engine reports nothing.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let nouns = &facts.study.nouns();
    let mut blocks = Vec::new();
    let sampled = measured(facts, |summary| summary.activity.waits.as_ref());
    if sampled.iter().any(|(_, waits)| !waits.enough) {
        let few = prose!("Treatments with too few samples of waits are not drawn.");
        blocks.push(Block::Text(few, Shown::Page));
    }
    let spun =
        measured(facts, |summary| summary.activity.locks.as_ref()).into_iter().filter(|_| has_spins(facts));
    let spun: Vec<(&str, &Locks)> = spun.collect();
    if !spun.is_empty() {
        blocks.push(Block::Text(prose!(
            "Cycles per spin have two figures. The upper bound counts all of the time on the cores in use as \
             spinning: seconds times cores times measured clock, over spins. The other one is made from the time that \
             sessions measured themselves spinning."
        ), Shown::Page));
        let clocks: BTreeSet<&str> = spun.iter().map(|(_, locks)| locks.clock.as_str()).collect();
        let clocks: Vec<&str> = clocks.into_iter().collect();
        blocks.push(Block::Text(prose!("Clock: {}.", clocks.join("; ")), Shown::Page));
    }
    let head = blocks.len();
    blocks.extend(waits(facts, nouns, &sampled));
    blocks.extend(wait_changes(&sampled).map(Block::Table));
    blocks.extend(fixed(facts, nouns).map(Block::Table));
    blocks.extend(locks(&spun).map(Block::Table));
    blocks.extend(cpu(facts, nouns).map(Block::Table));
    blocks.extend(counters(facts, nouns).map(Block::Table));
    let names: Vec<&str> = counted(facts).into_iter().collect();
    if !names.is_empty() {
        let text = prose!("engine counters (see the HTML report or --json): {}", names.join(", "));
        blocks.push(Block::Text(text, Shown::Terminal));
    }
    let title = match nouns.row {
        "query" => "Waits of streams, and cost per query",
        "run" => "Reads and writes of a run",
        _ => "Waits of sessions, and cost per row",
    };
    (blocks.len() > head).then(|| Section::new("activity", title, blocks))
}

/// Whether elapsed times of a fixed amount of work need a table: those of single queries and of commands are in tables
/// of their own.
fn shows_fixed(facts: &Facts<'_>) -> bool {
    let analysis = facts.analysis;
    analysis.commands.is_none() && analysis.queries.as_ref().is_none_or(|queries| queries.is_throughput)
}

/// Names of the engine counters that are above 0 in any treatment.
fn counted<'a>(facts: &Facts<'a>) -> BTreeSet<&'a str> {
    let all = facts.analysis.treatments.iter().flat_map(|summary| &summary.activity.counters);
    let above = all.filter(|counter| counter.per_row.as_ref().is_some_and(|value| value.mean > 0.0));
    above.map(|counter| counter.name.as_str()).collect()
}

/// Whether any treatment spun: an engine may count spins that never occur in a study.
fn has_spins(facts: &Facts<'_>) -> bool {
    let mut locks = facts.analysis.treatments.iter().filter_map(|summary| summary.activity.locks.as_ref());
    locks.any(|locks| locks.spins_per_row.as_ref().is_some_and(|spins| spins.mean > 0.0))
}

/// Why treatments have no percentiles of latency.
pub fn latency_gap(summary: &TreatmentSummary) -> &'static str {
    match summary.activity.server_loop {
        true => "no step latencies: the loop runs inside the server",
        false => "fewer than 1,000 steps per block",
    }
}

/// Treatments that have a value, by name.
fn measured<'a, T>(
    facts: &Facts<'a>,
    something: impl Fn(&'a TreatmentSummary) -> Option<&'a T>,
) -> Vec<(&'a str, &'a T)> {
    let all = facts.analysis.treatments.iter();
    all.filter_map(|summary| Some((summary.name.as_str(), something(summary)?))).collect()
}

fn waits(facts: &Facts<'_>, nouns: &Nouns, sampled: &[(&str, &Waits)]) -> Option<Block> {
    let (_, first) = sampled.iter().find(|(_, waits)| waits.enough)?;
    // More digits than a share of samples has make the page larger and nothing clearer.
    let rounded = |share: f64| (share * 1e5).round() / 1e5;
    let class = |name: &str| match name {
        RUNNING => "running",
        OTHER => "other",
        _ => "wait",
    };
    let rows = sampled.iter().filter(|(_, waits)| waits.enough).map(|(name, waits)| WaitRow {
        name: (*name).to_owned(),
        samples: waits.samples,
        shares: waits.shares.iter().map(|wait| rounded(wait.share.mean)).collect(),
    });
    let chart = WaitChart {
        names: first.shares.iter().map(|wait| (cut(&wait.name), class(&wait.name))).collect(),
        rows: rows.collect(),
    };
    let names = first.shares.iter().map(|wait| Column::figure(cut(&wait.name)).shorten_at(1));
    let columns = [Column::text("treatment"), Column::figure("samples")].into_iter().chain(names).collect();
    let row = |(name, waits): &(&str, &Waits)| {
        let cells = waits.shares.iter().map(|wait| match waits.enough {
            true => Cell::Interval(wait.share.clone()),
            false => Cell::Gap("too few samples".to_owned()),
        });
        [Cell::text(*name), Cell::Count(waits.samples)].into_iter().chain(cells).collect()
    };
    Some(Block::Figure(Box::new(Figure {
        chart: Chart::Waits(chart),
        wide: true,
        title: facts.titled(&format!("Waits of {}", nouns.sessions), ""),
        description: format!(
            "Shares of samples: what each {} was doing at evenly spaced moments of the slices.",
            nouns.session
        ),
        table: Table::new("waits, shares of samples", columns, sampled.iter().map(row)),
    })))
}

/// Paired changes of shares, one row per treatment and one column per name; the intervals are the adjusted ones.
fn wait_changes(sampled: &[(&str, &Waits)]) -> Option<Table> {
    let (_, first) = sampled.first()?;
    let changes = |waits: &&Waits| waits.shares.iter().any(|wait| wait.change.is_some());
    let rows = sampled.iter().filter(|(_, waits)| changes(waits)).map(|(name, waits)| {
        let cells = waits.shares.iter().map(|wait| changed(wait.change.as_ref()));
        std::iter::once(Cell::text(*name)).chain(cells).collect()
    });
    let family = sampled.iter().flat_map(|(_, waits)| &waits.shares).filter_map(|wait| wait.change.as_ref());
    let caption = format!(
        "waits, change of shares against the baseline in percentage points: paired by block, the intervals hold for all \
         {} together",
        family.map(|change| change.family).max()?
    );
    let names = first.shares.iter().map(|wait| Column::figure(cut(&wait.name)));
    let columns = std::iter::once(Column::text("treatment")).chain(names).collect();
    some_rows(&caption, columns, rows.collect()).map(|table| table.shown(Shown::Page))
}

/// A change with its adjusted interval; a dash without one.
fn changed(change: Option<&Ratio>) -> Cell {
    change.map_or_else(Cell::none, |change| match change.unit {
        "points" => Cell::Share(change.decisive().interval()),
        _ => Cell::Interval(change.decisive().interval()),
    })
}

fn fixed(facts: &Facts<'_>, nouns: &Nouns) -> Option<Table> {
    let all = facts.analysis.treatments.iter().filter(|_| shows_fixed(facts));
    let row = |summary: &TreatmentSummary| {
        let elapsed = summary.metrics.get("elapsed_ns")?;
        let tail = Cell::interval(summary.metrics.get("idle_tail_share"));
        Some(vec![Cell::text(&summary.name), Cell::Interval(elapsed.clone()), tail])
    };
    let title = match nouns.session {
        "stream" => "streams, elapsed from the common start to the last stream's end",
        _ => "fixed work, elapsed from the common start to the last session's end",
    };
    some_rows(
        title,
        vec![Column::text("treatment"), shrinking("elapsed"), shrinking("idle tail")],
        all.filter_map(row).collect(),
    )
}

fn shrinking(name: &str) -> Column {
    Column::figure(name).shorten_at(1)
}

fn locks(spun: &[(&str, &Locks)]) -> Option<Table> {
    let row = |(name, locks): &(&str, &Locks)| {
        let mhz = locks
            .clock_mhz
            .map_or_else(|| Cell::Gap(locks.clock.clone()), |value| Cell::Value { value, unit: "1" });
        let figures = [
            &locks.spins_per_row,
            &locks.spinning_share,
            &locks.cycles_per_spin,
            &locks.cycles_per_spin_bound,
        ];
        let figures = figures.map(|figure| Cell::interval(figure.as_ref()));
        let change = changed(locks.spins_per_row_change.as_ref());
        [Cell::text(*name), mhz].into_iter().chain(figures).chain([change]).collect()
    };
    let figures = ["spins/row", "time spinning", "cycles/spin", "cycles/spin, at most"].map(shrinking);
    let change = Column::figure("spins/row to the baseline").shown(Shown::Page);
    let columns =
        [Column::text("treatment"), Column::figure("MHz")].into_iter().chain(figures).chain([change]);
    let columns = columns.collect();
    some_rows("spins", columns, spun.iter().map(row).collect())
}

fn cpu(facts: &Facts<'_>, nouns: &Nouns) -> Option<Table> {
    let rows = measured(facts, |summary| summary.activity.cpu.as_ref()).into_iter().map(|(name, cpu)| {
        let figures = [&cpu.engine_ns_per_row, &cpu.client_ns_per_row, &cpu.client_share];
        let figures = figures.map(|figure| Cell::interval(figure.as_ref()));
        std::iter::once(Cell::text(name)).chain(figures).collect()
    });
    let figures = ["engine", "client", "client's share"].map(shrinking);
    let columns = std::iter::once(Column::text("treatment")).chain(figures).collect();
    some_rows(&format!("CPU time per {}", nouns.row), columns, rows.collect())
}

fn counters(facts: &Facts<'_>, nouns: &Nouns) -> Option<Table> {
    let shown = counted(facts);
    let rows = facts.analysis.treatments.iter().flat_map(|summary| {
        let all = summary.activity.counters.iter().filter(|counter| shown.contains(counter.name.as_str()));
        all.map(|counter| {
            let cell = |value: &Option<Interval>| Cell::interval(value.as_ref());
            vec![
                Cell::text(&summary.name),
                Cell::text(cut(&counter.name)),
                cell(&counter.per_row),
                cell(&counter.per_s),
            ]
        })
    });
    let caption = match nouns.sessions {
        "processes" => "Counters of the processes".to_owned(),
        whose => format!("Engine counters, {whose} and server together"),
    };
    let columns = vec![
        Column::text("treatment"),
        Column::text("counter"),
        Column::figure(format!("per {}", nouns.row)),
        Column::figure("per second"),
    ];
    some_rows(&caption, columns, rows.collect()).map(|table| table.shown(Shown::Page))
}

fn some_rows(caption: &str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Option<Table> {
    (!rows.is_empty()).then(|| Table::new(capital(caption), columns, rows))
}

/// A name that fits into a line.
fn cut(name: &str) -> String {
    match name.chars().count() {
        0..=MAX_NAME => name.to_owned(),
        _ => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
    }
}
