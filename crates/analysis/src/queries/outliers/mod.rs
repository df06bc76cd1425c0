//! What stands out, and the likeliest reason among what was measured.
//!
//! A single execution stands out where it took more than twice the median of its query and treatment,
//! its modified z-score (Iglewicz, Hoaglin, *How to Detect and Handle Outliers*, 1993: 0.6745 · (x −
//! median) / MAD, of logarithms) exceeds 3.5, and what it took beyond the median is 1% or more of all
//! that its run took in the block. The factor alone would report every execution of a query that
//! scatters; the score alone would report 3% in a query that does not; both together would report
//! milliseconds that no total shows. Nothing that stands out is left out of any estimate.

mod reasons;

use std::collections::BTreeMap;

use super::plans::Plans;
use super::table::{Cell, Done, Table};
use super::{Baseline, Outlier, TreatmentQueries};
use reasons::{Places, Surroundings, Why};
use threadwise_document::{Prose, numbers, prose};
use threadwise_statistics::median;
use threadwise_study::Slice;

/// An execution that took no more than so many times the median is none that stands out.
const MIN_TIMES: f64 = 2.0;

/// Modified z-scores above this are outliers (Iglewicz, Hoaglin 1993).
const MIN_SCORE: f64 = 3.5;

/// Makes the median absolute deviation of a normal sample its standard deviation.
const MAD_TO_SD: f64 = 0.6745;

/// Least share of its run's time in the block that an execution lost.
const MIN_LOST_SHARE: f64 = 0.01;

/// Fewest executions of a query under a treatment of which a median says something.
const MIN_EXECUTIONS: usize = 4;

/// A query stands out among all where its speed is so many times the geometric mean, or its inverse.
const MIN_APART: f64 = 1.25;

/// Most that are listed, of both kinds together.
const MAX_LISTED: usize = 20;

/// Single executions leave so many places to queries.
const FOR_QUERIES: usize = 8;

/// One execution with what surrounded it.
struct Execution<'t, 'a> {
    cell: &'t Cell<'a>,
    done: Done<'a>,
    around: Surroundings,
}

/// A single execution that stands out, and the share of its run's time in the block that it lost.
struct Slow {
    outlier: Outlier,
    lost_share: f64,
}

/// Single executions first, by the share of the block's time that they lost, then queries, by how far
/// they are apart; and how many there are beyond those that are listed.
pub fn outliers(
    table: &Table<'_>,
    plans: &Plans,
    treatments: &[TreatmentQueries],
    baselines: &[Baseline],
) -> (Vec<Outlier>, usize) {
    let mut single: Vec<Slow> = Vec::new();
    for at in 0..table.study.treatments.len() {
        for (query, executions) in &by_query(table, at) {
            single.extend(slow(table, plans, at, *query, executions));
        }
    }
    let mut whole: Vec<Outlier> = Vec::new();
    for (at, measured) in treatments.iter().enumerate() {
        let group = &table.study.treatments[at].group;
        let baseline = baselines.iter().find(|baseline| baseline.group == *group);
        whole.extend(baseline.map(|baseline| apart(table, at, measured, &baseline.both)).unwrap_or_default());
    }
    single.sort_by(|a, b| b.lost_share.total_cmp(&a.lost_share));
    whole.sort_by(|a, b| b.times.ln().abs().total_cmp(&a.times.ln().abs()));
    let all = single.len() + whole.len();
    let wholes = whole.len().min(FOR_QUERIES.max(MAX_LISTED.saturating_sub(single.len())));
    whole.truncate(wholes);
    single.truncate(MAX_LISTED - wholes.min(MAX_LISTED));
    let listed: Vec<Outlier> = single.into_iter().map(|slow| slow.outlier).chain(whole).collect();
    let left_out = all - listed.len();
    (listed, left_out)
}

/// A treatment's executions of every query.
fn by_query<'t, 'a>(table: &'t Table<'a>, at: usize) -> BTreeMap<u8, Vec<Execution<'t, 'a>>> {
    let mut by_query: BTreeMap<u8, Vec<Execution<'_, '_>>> = BTreeMap::new();
    for cell in table.of(at) {
        let places = Places::of(cell, table.topology);
        let mut last: Option<(*const Slice, Surroundings)> = None;
        for done in &cell.done {
            // Executions of a slice come one after another: its times are added up once.
            let around = match last {
                Some((slice, around)) if std::ptr::eq(slice, done.slice) => around,
                _ => Surroundings::of(done.slice, &places),
            };
            last = Some((done.slice, around));
            let one = Execution { cell, done: *done, around: around.part(done) };
            by_query.entry(done.execution.query).or_default().push(one);
        }
    }
    by_query
}

/// Executions of one query under one treatment that took far longer than usual.
fn slow(
    table: &Table<'_>,
    plans: &Plans,
    at: usize,
    query: u8,
    executions: &[Execution<'_, '_>],
) -> Vec<Slow> {
    if executions.len() < MIN_EXECUTIONS {
        return Vec::new();
    }
    let log = |one: &Execution<'_, '_>| (one.done.execution.elapsed_ns as f64).ln();
    let Some(middle) = median(executions.iter().map(log)) else { return Vec::new() };
    let mad = median(executions.iter().map(|one| (log(one) - middle).abs())).unwrap_or(0.0);
    let lost_share = |one: &Execution<'_, '_>| {
        let all: f64 = one.cell.done.iter().map(|done| done.execution.elapsed_ns as f64).sum();
        (one.done.execution.elapsed_ns as f64 - middle.exp()) / all
    };
    let is_out = |one: &&Execution<'_, '_>| {
        let above = log(one) - middle;
        above > MIN_TIMES.ln() && MAD_TO_SD * above > MIN_SCORE * mad && lost_share(one) >= MIN_LOST_SHARE
    };
    let usual =
        reasons::Usual::of(executions.iter().map(|one| (one.cell, one.done, &one.around)), plans, at, query);
    let tell = |one: &Execution<'_, '_>| {
        let times = (log(one) - middle).exp();
        let Why { reason, cause, text: why } =
            reasons::of_execution(one.cell, &one.done, &one.around, &usual, plans, middle.exp());
        let treatment = table.study.treatments[at].name.clone();
        let figure = |ns: f64| Prose::figure(numbers::nanoseconds(ns));
        let text = prose!(
            "Q{} under {} took {} in block {}, {} times its median of {}: {}.",
            u32::from(query),
            &treatment,
            figure(one.done.execution.elapsed_ns as f64),
            one.cell.block,
            numbers::significant(times, 2),
            figure(middle.exp()),
            why
        );
        let outlier = Outlier { query, treatment, block: Some(one.cell.block), times, reason, cause, text };
        Slow { outlier, lost_share: lost_share(one) }
    };
    executions.iter().filter(is_out).map(tell).collect()
}

/// Queries whose speed under a treatment is apart from that of all of them together: by both
/// intervals (that of the query adjusted for the queries), by [`MIN_APART`], and by more than the noise floor of the query itself.
///
/// Of streams only those as many as the baseline's: beside others every query takes longer, and which
/// ones meet is drawn.
fn apart(
    table: &Table<'_>,
    at: usize,
    measured: &TreatmentQueries,
    baseline: &TreatmentQueries,
) -> Vec<Outlier> {
    let Some(mean) = &measured.total.geometric else { return Vec::new() };
    if measured.streams != baseline.streams {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (query, numbers) in &measured.queries {
        let Some(speed) = &numbers.speed else { continue };
        let Some(floor) = speed.floor else { continue };
        let times = speed.value / mean.value;
        let is_apart = speed.holm_low > mean.high || speed.holm_high < mean.low;
        if !is_apart || !times.is_finite() || times.ln().abs() < MIN_APART.max(floor).ln() {
            continue;
        }
        let Why { reason, cause, text: why } =
            reasons::of_query(table, at, *query, measured, baseline, times);
        let text = prose!(
            "Q{} under {} has {} of the baseline's speed, all queries {}: {}.",
            u32::from(*query),
            &measured.treatment,
            speed,
            mean,
            why
        );
        let treatment = measured.treatment.clone();
        found.push(Outlier { query: *query, treatment, block: None, times, reason, cause, text });
    }
    found
}
