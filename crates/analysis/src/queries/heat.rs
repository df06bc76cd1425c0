//! Throughput over DOP and streams, and where more parallelism stops to give more.
//!
//! The plateau is found from ratios paired by block, not from the cells' own intervals, which hold the
//! drift between blocks too. Which DOP is best is taken from the same data, so that of several equally
//! good ones it is the lucky one: the range of the plateau is what should be read.

use super::family::floor;
use super::steps::ladders;
use super::table::{Cell, Table};
use super::whole::{Whole, twins};
use super::{HeatCell, HeatMap, Plateau};
use crate::statistics::{MeanEstimate, geometric, mean};
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

/// The smallest DOP within the noise floor of the best; `None` with one DOP, or without a noise floor.
fn plateau(table: &Table<'_>, column: &[(u32, usize)], cores: Option<u32>) -> Option<Plateau> {
    let speed = |top: usize, below: &[usize]| Whole::Speed.d(table, top, below, &Default::default());
    let floor = floor(&twins(table, column.first()?.1, speed), table.alpha)?;
    let rate = |at: usize| Some(MeanEstimate::of(&rates(table, at))?.mean);
    let measured: Vec<(u32, usize, f64)> =
        column.iter().filter_map(|(dop, at)| Some((*dop, *at, rate(*at)?))).collect();
    let (best_dop, best, _) = *measured.iter().max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))?;
    if measured.len() < 2 {
        return None;
    }
    // Mean and ends of ln(its throughput / the best one's).
    let against_best = |at: usize| {
        if at == best {
            return Some((0.0, 0.0, 0.0));
        }
        let mean = MeanEstimate::of(&table.over(at, best, speed))?;
        let (low, high) = mean.interval(table.alpha);
        Some((mean.mean, low, high))
    };
    let known: Vec<(u32, (f64, f64, f64))> =
        measured.iter().filter_map(|(dop, at, _)| Some((*dop, against_best(*at)?))).collect();
    let first = |value: fn(&(f64, f64, f64)) -> f64| {
        known.iter().find(|(_, d)| value(d) >= -floor).map_or(best_dop, |(dop, _)| *dop)
    };
    let (dop, low, high) = (first(|d| d.0), first(|d| d.2), first(|d| d.1));
    let streams = table.study.treatments[best].sessions;
    let percent = |dop: u32, cores: u32| 100.0 * f64::from(dop) * f64::from(streams) / f64::from(cores);
    Some(Plateau {
        streams,
        best_dop,
        dop,
        dop_low: low,
        dop_high: high,
        percent_of_cores: cores.map(|cores| percent(dop, cores)),
        percent_low: cores.map(|cores| percent(low, cores)),
        percent_high: cores.map(|cores| percent(high, cores)),
    })
}
