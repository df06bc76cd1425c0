//! Steps of parallelism, and parallelism beside streams.

use super::charts;
use super::found::{Found, PLAN_SIGN, bare, query_name, with_sign};
use crate::queries::{DopStep, HeatMap, Plateau, StepMark};
use threadwise_document::numbers::{counted, percent};
use threadwise_document::{Block, Cell, Chart, Class, Column, Figure, Prose, Section, Shown, Table, prose};

/// Steps of DOP; `None` where there are none.
pub fn steps(found: Found<'_>) -> Option<Section> {
    let rows = charts::step_rows(found);
    let figure = Block::Figure(Box::new(Figure {
        chart: Chart::Steps(charts::steps(found, &rows)),
        wide: true,
        title: found.facts.titled("Speed-up by step of DOP", ""),
        description: format!(
            "Speed-up of each query from one DOP to the next under the same placement. The darker, the nearer to the \
             ratio of the DOPs; orange is slower than before. ▲ super-scaling: better than the ratio of the DOPs, beyond \
             interval and noise floor. ◆ poor, then good: this step gained little and the next one much. \
             {PLAN_SIGN}: the plan changed with the step."
        ),
        table: step_table(found, &rows).shown(Shown::Page),
    }));
    (!rows.is_empty()).then(|| Section::new("steps", "Steps of parallelism", vec![figure]))
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
    let all = found.queries.heat.iter();
    let lines = all.flat_map(|map| map.plateaus.iter().map(|plateau| plateau_words(map, plateau)));
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
            description: "Throughput by DOP and number of streams; a frame marks the smallest DOP within the noise floor of \
                          the best one with as many streams, ★ the best."
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
fn plateau_words(map: &HeatMap, plateau: &Plateau) -> Prose {
    let ends = |low: String, high: String| Prose::of(Class::Interval, format!("[{low}, {high}]"));
    let (low, high) = (plateau.dop_low, plateau.dop_high);
    let mut line = prose!(
        "{}, {}: DOP {} {} is the smallest within the noise floor of the best, DOP {}",
        place_words(map),
        counted(plateau.streams as usize, "stream"),
        plateau.dop,
        ends(low.to_string(), high.to_string()),
        plateau.best_dop,
    );
    if let Some(share) = plateau.percent_of_cores {
        line.push(prose!(": {}", Prose::figure(percent(share / 100.0))));
        if let Some((low, high)) = plateau.percent_low.zip(plateau.percent_high) {
            line.push(prose!(" {}", ends(percent(low / 100.0), percent(high / 100.0))));
        }
        let cores = map.cores.map(|cores| counted(cores as usize, "physical core"));
        line.push(prose!(" of {}", cores.unwrap_or("the physical cores".to_owned())));
    }
    line.push(".");
    line
}

/// One map of throughput over DOP and streams.
fn heat_table(map: &HeatMap) -> Table {
    let rows = map.cells.iter().map(|cell| {
        let plateau = map.plateaus.iter().find(|plateau| plateau.streams == cell.streams);
        let words =
            plateau.map_or("", |plateau| match (plateau.dop == cell.dop, plateau.best_dop == cell.dop) {
                (true, true) => "best, and the smallest within the noise floor of it",
                (true, false) => "smallest within the noise floor of the best",
                (false, true) => "best",
                (false, false) => "",
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
