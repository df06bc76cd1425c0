//! All treatments: totals, ratios, CPU, core-seconds, plans; speed or throughput over DOP; totals without queries of
//! another plan.

use super::charts;
use super::found::{Found, bare, data_words, query_names};
use crate::facts::runs_words;
use crate::kinds::rate::other_ratios;
use crate::queries::{Change, TreatmentQueries};
use threadwise_document::chart::DopChart;
use threadwise_document::numbers::set_percent;
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Interval, Prose, Row, Says, Section, Shown, Table, prose,
};
use threadwise_study::Role;

/// The section.
pub fn section(found: Found<'_>) -> Section {
    let text = |text: Prose| Block::Text(text, Shown::Page);
    let mut blocks: Vec<Block> = about(found).into_iter().map(text).collect();
    let charts = charts::dops(found);
    let wide = charts.len() == 1;
    blocks.extend(charts.into_iter().map(|chart| over_dop(found, chart, wide)));
    blocks.push(Block::Table(treatments(found)));
    blocks.extend(without_changed(found).map(Block::Table));
    blocks.extend(other_ratios(&found.facts).map(Block::Table));
    Section::new("table", "All treatments", blocks)
}

fn about(found: Found<'_>) -> Vec<Prose> {
    let ratio = match found.queries.is_throughput {
        true => {
            "A ratio is queries per hour over those of the baseline: above 1 is more. Elapsed is the time from the common \
             start to the end of the last stream, planning included; query by query it is the execution alone."
        }
        false => {
            "A ratio is the elapsed time of the baseline over that of the treatment: above 1 is faster. A total is the sum \
             of the executions of a block, so long queries weigh most; in the geometric mean all weigh the same. Planning is \
             left out."
        }
    };
    let count = match found.queries.numbers.len() {
        1 => "1 query".to_owned(),
        count => format!("{count} queries"),
    };
    let first = prose!(
        "{} The baseline's figures are of both of its runs in every block together, as ratios have it; the row below has its \
         second run against its first: noise. Plans: how many of the {} have another plan than the baseline's.",
        ratio,
        count
    );
    let data = data_words(found.queries).map(|words| prose!("Data: {}.", words));
    std::iter::once(first).chain(data).collect()
}

fn over_dop(found: Found<'_>, chart: DopChart, wide: bool) -> Block {
    let level = set_percent(found.facts.level());
    let (what, base) = match found.queries.is_throughput {
        true => ("Queries per hour", ""),
        false => ("Geometric mean of the queries' speeds", " The baseline is 1."),
    };
    Block::Figure(Box::new(Figure {
        wide,
        title: found.facts.titled("Degree of parallelism", &chart.group),
        description: format!(
            "{what} at each DOP, with {level} intervals over blocks; a line is a placement.{base}"
        ),
        table: dops(found, &chart).shown(Shown::Page),
        chart: Chart::Dops(chart),
    }))
}

/// What the chart over DOP shows.
fn dops(found: Found<'_>, chart: &DopChart) -> Table {
    let unit = if found.queries.is_throughput { "1/h" } else { "ratio" };
    let rows = chart.lines.iter().flat_map(|line| {
        line.points.iter().map(|(dop, mean, low, high, treatment)| {
            let (low, high) = (low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN));
            vec![
                Cell::text(&line.name),
                Cell::text(treatment),
                Cell::Count((*dop).into()),
                Cell::Interval(Interval { mean: *mean, low, high, unit: unit.to_owned() }),
            ]
        })
    });
    let columns = vec![
        Column::text("placement"),
        Column::text("treatment"),
        Column::figure("DOP"),
        Column::figure(chart.unit),
    ];
    Table::new("", columns, rows)
}

/// Which columns a study has anything to show in.
pub struct Used {
    dop: bool,
    streams: bool,
    per_hour: bool,
    /// CPU against the baseline's.
    pub cpu: bool,
    /// Core-seconds.
    pub cores: bool,
}

impl Used {
    /// Of a study.
    pub fn of(found: Found<'_>) -> Self {
        Self {
            dop: found.any(|measured| measured.dop.is_some()),
            streams: found.any(|measured| measured.streams != 1),
            per_hour: found.queries.is_throughput,
            cpu: found.any(|measured| measured.total.cpu.is_some()),
            cores: found.any(|measured| measured.cores.is_some()),
        }
    }
}

fn treatments(found: Found<'_>) -> Table {
    let used = Used::of(found);
    let mut table = Table::new("", columns(&used), []);
    for (group, members) in found.by_group() {
        let words = found.facts.group_words(group);
        table.rows.extend((!words.is_empty()).then_some(Row::Group(words)));
        table.rows.extend(members.into_iter().map(|measured| Row::Cells(row(found, measured, &used))));
    }
    table
}

/// What has no room for its interval on a terminal is there without it.
fn columns(used: &Used) -> Vec<Column> {
    let both = |narrow: &str, wide: &str| {
        [Column::figure(narrow).shown(Shown::Terminal), Column::figure(wide).shown(Shown::Page)]
    };
    let total = if used.per_hour { "elapsed" } else { "total" };
    let ratio = if used.per_hour { "ratio" } else { "ratio of totals" };
    let mut columns = vec![Column::text("treatment").shorten_at(2)];
    columns.extend(used.dop.then(|| Column::figure("DOP")));
    columns.extend(used.streams.then(|| Column::figure("streams")));
    columns.extend(both(total, total));
    columns.extend(used.per_hour.then(|| Column::figure("queries/h")));
    columns.push(Column::text(ratio).shorten_at(4));
    columns.push(Column::text("geo. mean").shorten_at(1).drop_at(if used.per_hour { 1 } else { 5 }));
    if used.cpu {
        columns.push(Column::figure("CPU time").shown(Shown::Page));
        columns.extend(both("CPU", "CPU ratio").map(|column| column.drop_at(6)));
    }
    columns.extend(used.cores.then(|| Column::figure("core-s").drop_at(5)));
    columns.extend([Column::figure("plans").drop_at(6), Column::figure("runs").drop_at(3)]);
    columns
}

fn row(found: Found<'_>, measured: &TreatmentQueries, used: &Used) -> Vec<Cell> {
    let (total, role) = (&measured.total, found.role(measured));
    let label = found.facts.label(&measured.treatment, found.facts.group_of(&measured.treatment));
    // `all d4` on `all` says it.
    let place =
        if label.split(' ').any(|word| word == measured.placement) { "" } else { measured.placement.trim() };
    let mut cells = vec![Cell::named(label, place)];
    cells.extend(used.dop.then(|| measured.dop.map_or_else(Cell::none, |dop| Cell::Count(dop.into()))));
    cells.extend(used.streams.then(|| Cell::Count(measured.streams.into())));
    // A twin's own figures are in those of the baseline.
    let twin = found.baseline_of_twin(measured);
    let unless_twin = |cell: Cell| if twin.is_some() { Cell::none() } else { cell };
    cells.extend(match twin {
        Some(_) => [Cell::text("noise"), Cell::text("noise")],
        None => [Cell::mean(total.elapsed_s.as_ref()), Cell::interval(total.elapsed_s.as_ref())],
    });
    cells.extend(used.per_hour.then(|| unless_twin(Cell::mean(total.queries_per_h.as_ref()))));
    cells.extend(match (twin, role) {
        (Some(base), _) => [bare(base.noise.as_ref()), bare(base.noise_geometric.as_ref())],
        (None, Role::Baseline) => [Cell::text("baseline"), Cell::none()],
        (None, _) => [&total.speed, &total.geometric].map(|ratio| Cell::ratio(ratio.as_ref(), Says::Higher)),
    });
    if used.cpu {
        let short = total.cpu.as_ref().map(|cpu| Cell::Value { value: cpu.value, unit: "ratio" });
        cells.push(unless_twin(Cell::mean(total.cpu_s.as_ref())));
        cells.extend([short.unwrap_or_else(Cell::none), bare(total.cpu.as_ref())].map(unless_twin));
    }
    let cores = measured.cores.as_ref().map(|cores| Cell::Bounds {
        low: cores.core_low_s,
        high: cores.core_high_s,
        unit: "s",
    });
    cells.extend(used.cores.then(|| unless_twin(cores.unwrap_or_else(Cell::none))));
    let is_unknown = measured.queries.values().all(|query| query.plan_change == Change::Unknown);
    cells.push(match role != Role::Compared || is_unknown {
        true => Cell::none(),
        false => Cell::Count(measured.plans_changed().len() as u64),
    });
    let summary = found.facts.summary(&measured.treatment);
    cells.push(summary.map_or_else(Cell::none, |summary| Cell::text(runs_words(&[summary]))));
    cells
}

/// Totals and geometric means without the queries whose plan changed; `None` where none did.
fn without_changed(found: Found<'_>) -> Option<Table> {
    let row = |measured: &TreatmentQueries| {
        measured.total.speed_same_plans.as_ref()?;
        let ratios = [&measured.total.speed_same_plans, &measured.total.geometric_same_plans];
        let ratios = ratios.map(|ratio| Cell::ratio(ratio.as_ref(), Says::Higher));
        Some(std::iter::once(Cell::text(&measured.treatment)).chain(ratios).collect())
    };
    let rows: Vec<Vec<Cell>> = found.queries.treatments.iter().filter_map(row).collect();
    let names = query_names(found.queries.changed());
    let columns = vec![
        Column::text("treatment"),
        Column::text("ratio of totals").shorten_at(2),
        Column::text("geo. mean").shorten_at(1),
    ];
    let caption = prose!("Without {}, whose plan is another one in a treatment", names);
    (!rows.is_empty()).then(|| Table::new(caption, columns, rows))
}
