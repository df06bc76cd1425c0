//! Throughput over DOP and streams, and where more parallelism stops to give more.
//!
//! The plateau is found from ratios paired by block, not from the cells' own intervals, which hold the
//! drift between blocks too. Which DOP is best is taken from the same data, so a DOP is near the best where it is near
//! each of the others, whichever that is (`estimate::choose`).

use super::steps::ladders;
use super::table::{Cell, Table};
use super::whole::Whole;
use super::{HeatCell, HeatMap, Plateau};
use crate::choices::{Axis, Choice};
use crate::estimate::best;
use threadwise_document::numbers;
use threadwise_statistics::{MeanEstimate, geometric, mean};
use threadwise_study::Treatment;

/// One column of a map: treatments of one number of streams, ascending by DOP.
type Column = Vec<(u32, usize)>;

/// One map per placement and variant that has more than one DOP.
pub fn maps(table: &Table<'_>) -> Vec<HeatMap> {
    let mut maps: Vec<Vec<Column>> = Vec::new();
    for ladder in ladders(table) {
        let at = ladder[0].1;
        match maps.iter_mut().find(|columns| is_beside(table, columns[0][0].1, at)) {
            Some(columns) => columns.push(ladder),
            None => maps.push(vec![ladder]),
        }
    }
    maps.retain(|columns| columns.iter().any(|column| column.len() > 1));
    let words: Vec<String> = maps.iter().map(|columns| variant(table, &maps, columns)).collect();
    maps.iter().zip(words).filter_map(|(columns, variant)| map(table, columns, variant)).collect()
}

/// Whether two treatments belong to one map: all is alike but DOP and streams.
fn is_beside(table: &Table<'_>, one: usize, other: usize) -> bool {
    let treatment = |at: usize| &table.study.treatments[at];
    rest(treatment(one)) == rest(treatment(other))
        && treatment(one).group == treatment(other).group
        && (treatment(one).pin, &treatment(one).memory) == (treatment(other).pin, &treatment(other).memory)
        && table.is_same_place(one, other)
}

/// Options beside the DOP, as text.
fn rest(treatment: &Treatment) -> Vec<String> {
    let others = treatment.options.iter().filter(|(name, _)| *name != "dop");
    others.map(|(name, value)| format!("{name}={value}")).collect()
}

/// What sets a map apart from another one of the same placement.
fn variant(table: &Table<'_>, maps: &[Vec<Column>], columns: &[Column]) -> String {
    let treatment = |columns: &[Column]| &table.study.treatments[columns[0][0].1];
    let treatments = treatment(columns);
    let others: Vec<&Treatment> = maps
        .iter()
        .map(|columns| treatment(columns))
        .filter(|other| other.placement == treatments.placement && other.name != treatments.name)
        .collect();
    let is_apart = |word: &String| others.iter().any(|other| !rest(other).contains(word));
    let mut words: Vec<String> = rest(treatments).into_iter().filter(is_apart).collect();
    if words.is_empty() && others.iter().any(|other| other.group != treatments.group) {
        words.push(treatments.group.clone());
    }
    words.join(", ")
}

fn map(table: &Table<'_>, columns: &[Column], variant: String) -> Option<HeatMap> {
    let streams = |at: usize| table.study.treatments[at].sessions;
    let mut cells = Vec::new();
    for (dop, at) in columns.iter().flatten() {
        let Some(queries_per_h) = geometric(&rates(table, *at), 1.0, "1/h", table.alpha) else { continue };
        let treatment = table.study.treatments[*at].name.clone();
        cells.push(HeatCell { dop: *dop, streams: streams(*at), treatment, queries_per_h });
    }
    let first = columns.first()?.first()?.1;
    let distinct = |value: fn(&HeatCell) -> u32| {
        let mut values: Vec<u32> = cells.iter().map(value).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (dops, streams) = (distinct(|cell| cell.dop), distinct(|cell| cell.streams));
    cells.sort_by_key(|cell| (cell.dop, cell.streams));
    let cores = table
        .topology
        .and_then(|topology| Some(super::cores::cores_of(table.of(first).next()?, topology)?.len() as u32));
    let mut plateaus: Vec<Plateau> =
        columns.iter().filter_map(|column| plateau(table, column, cores)).collect();
    plateaus.sort_by_key(|plateau| plateau.streams);
    (!cells.is_empty()).then(|| HeatMap {
        placement: table.study.treatments[first].placement.clone(),
        variant,
        cores,
        dops,
        streams,
        cells,
        plateaus,
    })
}

/// Logarithms of queries per hour by block, of a baseline the mean of both of its names.
fn rates(table: &Table<'_>, at: usize) -> Vec<f64> {
    let blocks = table.together(&table.sides(at));
    let log = |cells: &Vec<&Cell<'_>>| {
        let logs: Option<Vec<f64>> = cells.iter().map(|cell| Some(cell.total?.per_h().ln())).collect();
        mean(logs?.into_iter())
    };
    blocks.iter().filter_map(log).filter(|log| log.is_finite()).collect()
}

/// The smallest DOP that is shown to be within the margin of the best; `None` with one DOP or one block.
fn plateau(table: &Table<'_>, column: &[(u32, usize)], cores: Option<u32>) -> Option<Plateau> {
    let margin = table.study.design.margin.ln_1p();
    let rate = |at: usize| Some(MeanEstimate::of(&rates(table, at))?.mean);
    let measured: Vec<(u32, usize, f64)> =
        column.iter().filter_map(|(dop, at)| Some((*dop, *at, rate(*at)?))).collect();
    let (best_dop, leader, _) = *measured.iter().max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))?;
    if measured.len() < 2 || rates(table, leader).len() < 2 {
        return None;
    }
    let over = |one: usize, other: usize| {
        let speed = |top: usize, below: &[usize]| Whole::Speed.d(table, top, below, &Default::default());
        table.over(measured[one].1, measured[other].1, speed)
    };
    let (count, dop_of) = (measured.len(), |at: usize| measured[at].0);
    let among = best(count, over, table.alpha)?.among;
    let treatment = |at: usize| &table.study.treatments[measured[at].1];
    let all: Vec<(String, u32)> = (0..count).map(|at| (treatment(at).name.clone(), dop_of(at))).collect();
    let rule = (margin, table.alpha, table.study.seed);
    let choice = Choice::made((Axis::Dop, &treatment(0).group, String::new()), all, over, rule);
    let best_at = measured.iter().position(|(_, at, _)| *at == leader)?;
    // Whether the upper end of its ratio to the best one is within the margin.
    let may_be = |at: &usize| {
        let d = over(*at, best_at);
        let is_near = |mean: MeanEstimate| mean.interval(table.alpha).1 >= -margin;
        *at == best_at || choice.candidates[*at].within_margin || MeanEstimate::of(&d).is_some_and(is_near)
    };
    // One that may be as good is no advice: how slow it is depends on the noise.
    let dop = choice.chosen_candidate().map(|chosen| chosen.number);
    let dop_low = (0..count).find(may_be).map_or(best_dop, dop_of);
    let mut among_best: Vec<u32> = among.into_iter().map(dop_of).collect();
    among_best.sort_unstable();
    let streams = table.study.treatments[leader].sessions;
    let percent = |dop: u32, cores: u32| 100.0 * f64::from(dop) * f64::from(streams) / f64::from(cores);
    Some(Plateau {
        streams,
        best_dop,
        among_best,
        dop,
        dop_low,
        percent_of_cores: cores.zip(dop).map(|(cores, dop)| percent(dop, cores)),
        percent_low: cores.map(|cores| percent(dop_low, cores)),
        choice,
    })
}

/// The degrees of parallelism of a study of queries: of each map and number of streams.
pub fn choices(maps: &[HeatMap]) -> Vec<Choice> {
    let of_map = |map: &HeatMap| {
        let choice = |plateau: &Plateau| Choice { place: place(map, plateau), ..plateau.choice.clone() };
        map.plateaus.iter().map(choice).collect::<Vec<_>>()
    };
    maps.iter().flat_map(of_map).collect()
}

fn place(map: &HeatMap, plateau: &Plateau) -> String {
    let variant = if map.variant.is_empty() { String::new() } else { format!(" ({})", map.variant) };
    let streams = match map.streams.len() > 1 || plateau.streams > 1 {
        true => format!(", {}", numbers::counted(plateau.streams as usize, "stream")),
        false => String::new(),
    };
    format!("{}{variant}{streams}", map.placement.trim())
}
