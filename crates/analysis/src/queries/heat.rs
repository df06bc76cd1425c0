//! Throughput over DOP and streams, and where more parallelism stops increasing it.
//!
//! The plateau is found from ratios paired by block, not from the cells' own intervals, which include the drift between
//! blocks. Which DOP is best is taken from the same data, so a DOP is near the best if it is near each of the others,
//! whichever that is (`estimate::choose`).

use super::cores::cores_of;
use super::executions::{BlockRun, Executions, Ladder, other_options};
use super::query_study::{QueryStudy, ends, rounded};
use super::ratios::Whole;
use super::types::{HeatCell, HeatMap, Plateau};
use super::words::if_any;
use crate::choices::{Axis, Choice};
use crate::estimate::best;
use crate::estimate::sides::side;
use crate::groups::classes;
use crate::words::{finding, list};
use crate::{Finding, FindingKind};
use std::collections::BTreeSet;
use threadwise_document::chart::HeatChart;
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Block, Cell, Chart, Column, Figure, Prose, Section, Shown, Table, prose};
use threadwise_statistics::{MeanEstimate, mean};

/// Most plateaus in a sentence.
const MAX_PLATEAUS: usize = 2;

/// Fewest DOPs above 2 for a plateau to be reported without streams.
const MIN_DOPS: usize = 2;

/// One map per placement and variant that has more than one DOP.
pub fn maps(table: &Executions<'_>) -> Vec<HeatMap> {
    let is_like = |one: &Ladder, other: &Ladder| table.differ_in_parallelism(one[0].1, other[0].1);
    let mut maps: Vec<Vec<Ladder>> = classes(table.ladders(), is_like);
    maps.retain(|map| map.iter().any(|ladder| ladder.len() > 1));
    let firsts: Vec<usize> = maps.iter().map(|map| map[0][0].1).collect();
    maps.iter().filter_map(|map| map_of(table, map, variant(table, &firsts, map[0][0].1))).collect()
}

/// What distinguishes a map from others of the same placement, each by its first treatment.
fn variant(table: &Executions<'_>, firsts: &[usize], at: usize) -> String {
    let treatment = |at: usize| &table.study.treatments[at];
    let words = |at: usize| -> Vec<String> {
        other_options(treatment(at)).map(|(name, value)| format!("{name}={value}")).collect()
    };
    let others = || {
        let others = firsts.iter().filter(|other| **other != at);
        others.filter(|other| treatment(**other).placement == treatment(at).placement)
    };
    let is_apart = |word: &String| others().any(|other| !words(*other).contains(word));
    let mut apart: Vec<String> = words(at).into_iter().filter(is_apart).collect();
    if apart.is_empty() && others().any(|other| treatment(*other).group != treatment(at).group) {
        apart.push(treatment(at).group.clone());
    }
    apart.join(", ")
}

/// Logarithm of queries per hour.
fn rate(cell: &BlockRun<'_>) -> Option<f64> {
    Some(cell.total?.per_h().ln())
}

fn map_of(table: &Executions<'_>, ladders: &[Ladder], variant: String) -> Option<HeatMap> {
    let first = ladders.first()?.first()?.1;
    let cell = |(dop, at): &(u32, usize)| {
        let treatment = &table.study.treatments[*at];
        let queries_per_h = table.geometric(&side(table.study, *at), "1/h", rate)?;
        let (streams, treatment) = (treatment.sessions, treatment.name.clone());
        Some(HeatCell { dop: *dop, streams, treatment, queries_per_h })
    };
    let mut cells: Vec<HeatCell> = ladders.iter().flatten().filter_map(cell).collect();
    cells.sort_by_key(|cell| (cell.dop, cell.streams));
    let distinct = |value: fn(&HeatCell) -> u32| ascending(cells.iter().map(value));
    let (dops, streams) = (distinct(|cell| cell.dop), distinct(|cell| cell.streams));
    let cores = table.topology.and_then(|topology| cores_of(table.of(first).next()?, topology));
    let cores = cores.map(|cores| cores.len() as u32);
    let plateaus = ladders.iter().filter_map(|ladder| plateau(table, ladder, cores));
    let mut plateaus: Vec<Plateau> = plateaus.collect();
    plateaus.sort_by_key(|plateau| plateau.streams);
    let placement = table.study.treatments[first].placement.to_string();
    (!cells.is_empty()).then_some(HeatMap { placement, variant, cores, dops, streams, cells, plateaus })
}

fn ascending(all: impl Iterator<Item = u32>) -> Vec<u32> {
    all.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The smallest DOP that is shown to be within the margin of the best; `None` with one DOP or one block.
fn plateau(table: &Executions<'_>, ladder: &Ladder, cores: Option<u32>) -> Option<Plateau> {
    let (study, margin) = (table.study, table.study.design.margin.ln_1p());
    let rates = |at: usize| table.logs(&side(study, at), rate);
    let rated = |(dop, at): &(u32, usize)| Some((*dop, *at, mean(rates(*at).into_iter())?));
    let measured: Vec<(u32, usize, f64)> = ladder.iter().filter_map(rated).collect();
    let (count, dop_of) = (measured.len(), |at: usize| measured[at].0);
    let by_rate = |a: &usize, b: &usize| measured[*a].2.total_cmp(&measured[*b].2).then(b.cmp(a));
    let best_at = (0..count).max_by(by_rate)?;
    let (best_dop, leader, _) = measured[best_at];
    if count < 2 || rates(leader).len() < 2 {
        return None;
    }
    let over =
        |one: usize, other: usize| Whole::Speed.d(table, &table.pair(measured[one].1, measured[other].1));
    let among_best = best(count, over, table.alpha)?.among.into_iter().map(dop_of);
    let all = measured.iter().map(|(dop, at, _)| (study.treatments[*at].name.clone(), *dop));
    let (group, rule) = (&study.treatments[leader].group, (margin, table.alpha, study.seed));
    let choice = Choice::made((Axis::Dop, group, String::new()), all.collect(), over, rule);
    // Whether the upper end of its ratio to the best one is within the margin.
    let may_be = |at: &usize| {
        let is_near = |mean: MeanEstimate| mean.interval(table.alpha).1 >= -margin;
        *at == best_at
            || choice.candidates[*at].within_margin
            || MeanEstimate::of(&over(*at, best_at)).is_some_and(is_near)
    };
    // One that may be as good is not advised: how slow it is depends on the noise.
    let dop = choice.chosen_candidate().map(|chosen| chosen.number);
    let dop_low = (0..count).find(may_be).map_or(best_dop, dop_of);
    let streams = study.treatments[leader].sessions;
    let percent = |dop: u32| Some(100.0 * f64::from(dop) * f64::from(streams) / f64::from(cores?));
    Some(Plateau {
        streams,
        best_dop,
        among_best: ascending(among_best),
        dop,
        dop_low,
        percent_of_cores: dop.and_then(percent),
        percent_low: percent(dop_low),
        choice,
    })
}

/// Placement, and what else distinguishes a map's treatments.
fn place_words(map: &HeatMap) -> String {
    match map.variant.as_str() {
        "" => map.placement.clone(),
        variant => format!("{} ({variant})", map.placement.as_str()),
    }
}

/// `2 streams`, if any map has several.
fn streams_words(map: &HeatMap, plateau: &Plateau) -> Option<String> {
    (map.streams.len() > 1 || plateau.streams > 1).then(|| counted(plateau.streams as usize, "stream"))
}

/// The degrees of parallelism of a study of queries, for each map and number of streams.
pub fn choices(maps: &[HeatMap]) -> Vec<Choice> {
    let choice = |map: &HeatMap, plateau: &Plateau| {
        let streams = streams_words(map, plateau).map_or(String::new(), |streams| format!(", {streams}"));
        Choice { place: place_words(map) + &streams, ..plateau.choice.clone() }
    };
    maps.iter().flat_map(|map| map.plateaus.iter().map(move |plateau| choice(map, plateau))).collect()
}

/// The smallest DOP that is shown to be within the margin of the best, for the most and the fewest streams. For one
/// stream alone only if the DOPs go beyond two.
pub fn finding_of(found: QueryStudy<'_>) -> Option<Finding> {
    let is_wide = |map: &&HeatMap| {
        found.queries.is_throughput || map.dops.iter().filter(|dop| **dop > 2).count() >= MIN_DOPS
    };
    let maps: Vec<&HeatMap> = found.queries.heat.iter().filter(is_wide).collect();
    // For each map the most streams first, then the fewest, then those between.
    let ranked = |map: &&'_ HeatMap| {
        let count = map.plateaus.len();
        let clauses = map.plateaus.iter().enumerate();
        clauses.map(|(at, plateau)| ((at + 1) % count, clause(map, plateau))).collect::<Vec<_>>()
    };
    let mut all: Vec<(usize, Prose)> = maps.iter().flat_map(ranked).collect();
    all.sort_by_key(|(rank, _)| *rank);
    let more = if_any("; ", all.len().saturating_sub(MAX_PLATEAUS), " more in the HTML report");
    let text = prose!(
        "Smallest DOP that is shown to be within {} of the best: {}{}.",
        Prose::figure(set_percent(found.facts.study.design.margin)),
        Prose::join(all.iter().take(MAX_PLATEAUS).map(|(_, clause)| clause.clone()), "; "),
        more
    );
    let names: Vec<&str> =
        maps.iter().flat_map(|map| map.cells.iter().map(|cell| cell.treatment.as_str())).collect();
    (!all.is_empty()).then(|| finding(FindingKind::Plateau, text, &names))
}

/// `with 2 streams on all 4 (2 may be too), requesting 100% of its cores`; `on all none (4 may be)`.
fn clause(map: &HeatMap, plateau: &Plateau) -> Prose {
    let streams = streams_words(map, plateau).map_or(String::new(), |streams| format!("with {streams} "));
    let may = match plateau.dop.is_none_or(|dop| plateau.dop_low < dop) {
        true => format!(" ({} may be)", plateau.dop_low),
        false => String::new(),
    };
    let dop = plateau.dop.map_or_else(|| "none".to_owned(), |dop| dop.to_string());
    let mut text = prose!("{}on {} {}{}", streams, place_words(map), dop, may);
    if let Some(share) = plateau.percent_of_cores {
        text.push(prose!(", requesting {} of its cores", Prose::figure(percent(share / 100.0))));
    }
    text
}

/// The section; `None` if no placement has more than one DOP.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let margin = found.facts.study.design.margin;
    let all = found.queries.heat.iter();
    let lines = all.flat_map(|map| map.plateaus.iter().map(|plateau| sentence(map, plateau, margin)));
    let lines: Vec<Prose> = lines.collect();
    let mut blocks: Vec<Block> =
        (!lines.is_empty()).then_some(Block::List(lines, Shown::Page)).into_iter().collect();
    // With one number of streams there is no map to draw, and the chart over DOP has its figures.
    let maps: Vec<&HeatMap> = found.queries.heat.iter().filter(|map| map.streams.len() > 1).collect();
    blocks.extend(maps.iter().map(|map| {
        Block::Figure(Box::new(Figure {
            chart: Chart::Heats(chart(found, map)),
            wide: maps.len() == 1,
            title: found.facts.titled(&format!("Queries per hour on {}", place_words(map)), ""),
            description:
                "Throughput by DOP and number of streams; a frame marks the smallest DOP that is shown to be \
                          within the margin of the best one with as many streams, ★ the highest figure."
                    .to_owned(),
            table: table(map),
        }))
    }));
    (!blocks.is_empty()).then(|| Section::new("heat", "Parallelism and streams", blocks))
}

/// Where more parallelism stops helping, as a sentence.
fn sentence(map: &HeatMap, plateau: &Plateau, margin: f64) -> Prose {
    let (place, streams) = (place_words(map), counted(plateau.streams as usize, "stream"));
    let best: Vec<String> = plateau.among_best.iter().map(u32::to_string).collect();
    let one_of = if best.len() == 1 { "" } else { "one of " };
    let smallest = plateau.dop.map(|dop| format!("DOP {dop} is the smallest that is"));
    let mut line = prose!(
        "{}, {}: {} shown to be within {} of the best, {}DOP {}",
        place,
        streams,
        smallest.unwrap_or_else(|| "no DOP is".to_owned()),
        Prose::figure(set_percent(margin)),
        one_of,
        list(&best)
    );
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

fn chart(found: QueryStudy<'_>, map: &HeatMap) -> HeatChart {
    let cells = map.cells.iter().map(|cell| {
        let rate = &cell.queries_per_h;
        let (low, high) = ends(rate.low, rate.high);
        (cell.dop, cell.streams, rounded(rate.mean), low, high, found.label(&cell.treatment))
    });
    // 0 is not the DOP of any cell: nothing is framed.
    let plateau = |plateau: &Plateau| (plateau.streams, plateau.dop.unwrap_or(0), plateau.best_dop);
    HeatChart {
        dops: map.dops.clone(),
        streams: map.streams.clone(),
        cells: cells.collect(),
        plateaus: map.plateaus.iter().map(plateau).collect(),
    }
}

/// One map of throughput over DOP and streams.
fn table(map: &HeatMap) -> Table {
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
            (Column::text("treatment"), Cell::text(&cell.treatment)),
            (Column::text(""), Cell::text(words)),
            (Column::figure("DOP"), Cell::Count(cell.dop.into())),
            (Column::figure("streams"), Cell::Count(cell.streams.into())),
            (Column::figure("queries/h"), Cell::Interval(cell.queries_per_h.clone())),
        ]
    });
    Table::headed("", rows).shown(Shown::Page)
}
