//! CPU seconds beside physical core-seconds.

use super::charts;
use super::found::Found;
use crate::queries::{CoreSeconds, TreatmentQueries};
use threadwise_document::{Block, Cell, Chart, Column, Figure, Section, Shown, Table, prose};

/// What cores did in their core-seconds, as far as that is known.
pub fn activity(found: Found<'_>) -> &'static str {
    match knows_engine(found) {
        true => "worked for the queries",
        false => "was busy, with others' work too,",
    }
}

fn knows_engine(found: Found<'_>) -> bool {
    let mut all = found.queries.treatments.iter().filter_map(|measured| measured.cores.as_ref());
    all.all(|cores| cores.engine_cpu_s.is_some())
}

/// The section; `None` where busy times are unknown.
pub fn section(found: Found<'_>) -> Option<Section> {
    let measured = found.measured();
    let rows: Vec<Vec<Cell>> = measured.iter().filter_map(|measured| row(found, measured)).collect();
    let line = match knows_engine(found) {
        true => "the engine's CPU seconds",
        false => "busy seconds of its logical CPUs, others' work included",
    };
    let about = prose!(
        "CPU seconds count a busy logical CPU as a whole, also where its sibling on the same core is busy at the same time: \
         they rise when siblings share a core, although no more cores are at work. When siblings were busy is not known, only \
         how long, so the time of a core lies between two bounds: at the same moments, or one after the other. The lower \
         bound is what the engine's own CPU seconds need at the least on logical CPUs that were busy for so long; the upper \
         one is those CPU seconds, and no more than the executions' time on each core. Busy times of logical CPUs, which are \
         in the table, are of everything that ran there, over a little more than the executions."
    );
    (!rows.is_empty()).then(|| {
        let figure = Figure {
            chart: Chart::Cores(measured.into_iter().filter_map(charts::core_row).collect()),
            wide: true,
            title: found.facts.titled("Core-seconds against CPU seconds", ""),
            description: format!(
                "Seconds of one block, all queries once. Full: seconds in which a physical core {} with at least one \
                 thread, at the least; pale: up to the most that it can have been. The line: {line}.",
                activity(found)
            ),
            table: Table::new("Means of blocks", columns(), rows).shown(Shown::Page),
        };
        let blocks = vec![Block::Text(about, Shown::Page), Block::Figure(Box::new(figure))];
        Section::new("core-seconds", "CPU seconds and physical cores", blocks)
    })
}

fn columns() -> Vec<Column> {
    let figures = [
        "cores",
        "elapsed",
        "engine's CPU time",
        "core-s",
        "CPU to the baseline",
        "core-s to the baseline",
        "adjusted interval of that",
        "logical CPUs busy, with others",
        "of",
        "siblings busy while a core idled",
    ];
    let names = ["treatment", "placement"].map(Column::text);
    names.into_iter().chain(figures.map(Column::figure)).collect()
}

fn row(found: Found<'_>, measured: &TreatmentQueries) -> Option<Vec<Cell>> {
    let cores = measured.cores.as_ref()?;
    let baseline = found.queries.baseline(found.facts.group_of(&measured.treatment))?;
    let base = baseline.both.cores.as_ref().filter(|base| base.core_low_s > 0.0);
    let value = |value: Option<f64>, unit| value.map_or_else(Cell::none, |value| Cell::Value { value, unit });
    let seconds = |s: f64| value(Some(s), "s");
    let against = |base: &CoreSeconds| Cell::Bounds {
        low: cores.core_low_s / base.core_high_s,
        high: cores.core_high_s / base.core_low_s,
        unit: "ratio",
    };
    let cpu = base.and_then(|base| Some(cores.engine_cpu_s? / base.engine_cpu_s?));
    Some(vec![
        Cell::text(&measured.treatment),
        Cell::text(&measured.placement),
        Cell::Count(cores.cores.into()),
        seconds(cores.elapsed_s),
        value(cores.engine_cpu_s, "s"),
        Cell::Bounds { low: cores.core_low_s, high: cores.core_high_s, unit: "s" },
        value(cpu, "ratio"),
        base.map_or_else(Cell::none, against),
        cores.to_baseline.as_ref().filter(|ratio| ratio.blocks > 1).map_or_else(Cell::none, |ratio| {
            Cell::Bounds { low: ratio.adjusted_low, high: ratio.adjusted_high, unit: "ratio" }
        }),
        seconds(cores.logical_s),
        seconds(cores.slice_s),
        Cell::Bounds { low: cores.straggler_low_s, high: cores.straggler_high_s, unit: "s" },
    ])
}
