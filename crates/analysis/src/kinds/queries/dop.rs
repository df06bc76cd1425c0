//! Steps of parallelism, and parallelism beside streams.

use super::charts;
use super::found::{Found, PLAN_SIGN, bare, query_name, with_sign};
use crate::queries::{DopStep, HeatMap, Plateau, StepMark};
use crate::words::list;
use threadwise_document::chart::{DopChart, DopLine};
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Block, Cell, Chart, Column, Figure, Prose, Section, Shown, Table, prose};

/// Steps of DOP; `None` where there are none.
pub fn steps(found: Found<'_>) -> Option<Section> {
    let rows = charts::step_rows(found);
    let figure = Block::Figure(Box::new(Figure {
        chart: Chart::Steps(charts::steps(found, &rows)),
        wide: true,
        title: found.facts.titled("Speed-up by step of DOP", ""),
        description: format!(
            "Speed-up of each query from one DOP to the next under the same placement. The darker, the nearer to the \
             ratio of the DOPs; orange is slower than before. ▲ super-scaling: better than the ratio of the DOPs, \
             adjusted for the queries of the step. ◆ poor, then good: this step gained little and the next one much. \
             {PLAN_SIGN}: the plan changed with the step."
        ),
        table: step_table(found, &rows).shown(Shown::Page),
    }));
    let mut blocks = vec![figure];
    blocks.extend(curves(found));
    blocks.extend(cpu_table(found, &rows).map(Block::Table));
    (!rows.is_empty()).then(|| Section::new("steps", "Steps of parallelism", blocks))
}

/// A line a query over DOP, as the published article drew them; a chart a placement.
fn curves(found: Found<'_>) -> impl Iterator<Item = Block> {
    charts::curves(found).into_iter().map(move |(place, chart)| {
        let table = curve_table(&chart);
        Block::Figure(Box::new(Figure {
            chart: Chart::Dops(chart),
            wide: false,
            title: found.facts.titled(&format!("Speed of each query over DOP, {place}"), ""),
            description: "A line a query: its steps multiplied up from the lowest DOP. Queries with a mark have a colour: ▲ a \
                          step better than the ratio of the DOPs, ◆ a step that gained little before one that gained much."
                .to_owned(),
            table: table.shown(Shown::Page),
        }))
    })
}

/// Queries down, degrees across.
fn curve_table(chart: &DopChart) -> Table {
    let mut dops: Vec<u32> =
        chart.lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    dops.sort_unstable();
    dops.dedup();
    let row = |line: &DopLine| {
        let cells = dops.iter().map(|dop| {
            let point = line.points.iter().find(|point| point.0 == *dop);
            point.map_or_else(Cell::none, |point| Cell::Value { value: point.1, unit: "ratio" })
        });
        std::iter::once(Cell::text(&line.name)).chain(cells).collect()
    };
    let columns = dops.iter().map(|dop| Column::figure(format!("DOP {dop}")));
    Table::new(
        "",
        std::iter::once(Column::text("query")).chain(columns).collect(),
        chart.lines.iter().map(row),
    )
}

/// CPU time of each query by step, queries down; `None` where it is not known.
fn cpu_table(found: Found<'_>, rows: &[charts::StepRow<'_>]) -> Option<Table> {
    let is_known = rows.iter().any(|(_, steps)| steps.values().any(|step| step.cpu.is_some()));
    let line = |query: Option<u8>| {
        let name = query.map_or("all (totals)".to_owned(), query_name);
        let cells = rows.iter().map(|(_, steps)| {
            let step = steps.get(&query).filter(|step| step.cpu.is_some());
            step.map_or_else(Cell::none, |step| with_sign(bare(step.cpu.as_ref()), step.plan_change))
        });
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let lines = found.queries.numbers.iter().map(|query| Some(*query)).chain([None]).map(line);
    let columns =
        std::iter::once(Column::text("query")).chain(rows.iter().map(|(name, _)| Column::text(name)));
    let caption = prose!("CPU time by step, above 1 is more; {}: the plan changed", PLAN_SIGN);
    is_known.then(|| Table::new(caption, columns.collect(), lines).shown(Shown::Page))
}

/// Queries down, steps across.
fn step_table(found: Found<'_>, rows: &[charts::StepRow<'_>]) -> Table {
    let columns = rows.iter().map(|(name, _)| Column::text(name));
    let line = |query: Option<u8>| {
        let name = query.map_or("all (geometric mean)".to_owned(), query_name);
        let cells = rows
            .iter()
            .map(|(_, steps)| steps.get(&query).map_or_else(Cell::none, |dop_step| step(dop_step)));
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let lines = found.queries.numbers.iter().map(|query| Some(*query)).chain([None]).map(line);
    let caption = prose!("Speed-up by step; {}: the plan changed", PLAN_SIGN);
    Table::new(caption, std::iter::once(Column::text("query")).chain(columns).collect(), lines)
}

fn step(dop_step: &DopStep) -> Cell {
    let words = match dop_step.mark {
        StepMark::None => "",
        StepMark::SuperScaling => "super-scaling",
        StepMark::PoorThenGood => "poor, then good",
    };
    let cell = with_sign(bare(Some(&dop_step.speed)), dop_step.plan_change);
    if words.is_empty() { cell } else { Cell::Both(Box::new(cell), Box::new(Cell::text(words))) }
}

/// DOP and streams; `None` where no placement has more than one DOP.
pub fn heat(found: Found<'_>) -> Option<Section> {
    let margin = found.facts.study.design.margin;
    let all = found.queries.heat.iter();
    let lines = all.flat_map(|map| map.plateaus.iter().map(|plateau| plateau_words(map, plateau, margin)));
    let lines: Vec<Prose> = lines.collect();
    let mut blocks: Vec<Block> =
        (!lines.is_empty()).then_some(Block::List(lines, Shown::Page)).into_iter().collect();
    // With one number of streams there is no map to draw, and the chart over DOP has its figures.
    let maps: Vec<&HeatMap> = found.queries.heat.iter().filter(|map| map.streams.len() > 1).collect();
    blocks.extend(maps.iter().map(|map| {
        Block::Figure(Box::new(Figure {
            chart: Chart::Heats(charts::heat(found, map)),
            wide: maps.len() == 1,
            title: found.facts.titled(&format!("Queries per hour on {}", place_words(map)), ""),
            description:
                "Throughput by DOP and number of streams; a frame marks the smallest DOP that is shown to be \
                          within the margin of the best one with as many streams, ★ the highest figure."
                    .to_owned(),
            table: heat_table(map).shown(Shown::Page),
        }))
    }));
    (!blocks.is_empty()).then(|| Section::new("heat", "Parallelism and streams", blocks))
}

/// Placement, and what else sets its treatments apart.
fn place_words(map: &HeatMap) -> String {
    match map.variant.as_str() {
        "" => map.placement.clone(),
        variant => format!("{} ({variant})", map.placement),
    }
}

/// Where more parallelism stops to give more, as a sentence.
fn plateau_words(map: &HeatMap, plateau: &Plateau, margin: f64) -> Prose {
    let (place, streams) = (place_words(map), counted(plateau.streams as usize, "stream"));
    let margin = Prose::figure(set_percent(margin));
    let best: Vec<String> = plateau.among_best.iter().map(u32::to_string).collect();
    let best = match best.as_slice() {
        [one] => format!("DOP {one}"),
        several => format!("one of DOP {}", list(several)),
    };
    let mut line = match plateau.dop {
        Some(dop) => prose!(
            "{}, {}: DOP {} is the smallest that is shown to be within {} of the best, {}",
            place,
            streams,
            dop,
            margin,
            best
        ),
        None => {
            prose!("{}, {}: no DOP is shown to be within {} of the best, {}", place, streams, margin, best)
        }
    };
    if let Some(share) = plateau.percent_of_cores {
        let cores = map.cores.map(|cores| counted(cores as usize, "physical core"));
        let cores = cores.unwrap_or("the physical cores".to_owned());
        line.push(prose!(": {} of {}", Prose::figure(percent(share / 100.0)), cores));
    }
    if plateau.dop.is_none_or(|dop| plateau.dop_low < dop) {
        line.push(prose!("; {} may be", plateau.dop_low));
    }
    line.push(".");
    line
}

/// One map of throughput over DOP and streams.
fn heat_table(map: &HeatMap) -> Table {
    let rows = map.cells.iter().map(|cell| {
        let plateau = map.plateaus.iter().find(|plateau| plateau.streams == cell.streams);
        let words = plateau.map_or("", |plateau| {
            match (plateau.dop == Some(cell.dop), plateau.best_dop == cell.dop) {
                (true, true) => "highest, and the smallest within the margin of the best",
                (true, false) => "smallest within the margin of the best",
                (false, true) => "highest",
                (false, false) => "",
            }
        });
        vec![
            Cell::text(&cell.treatment),
            Cell::text(words),
            Cell::Count(cell.dop.into()),
            Cell::Count(cell.streams.into()),
            Cell::Interval(cell.queries_per_h.clone()),
        ]
    });
    let columns = vec![
        Column::text("treatment"),
        Column::text(""),
        Column::figure("DOP"),
        Column::figure("streams"),
        Column::figure("queries/h"),
    ];
    Table::new("", columns, rows)
}
