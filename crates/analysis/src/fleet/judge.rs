//! Results of a fleet from its studies: every comparison and rate on every kind, and kinds against each other.

use super::machines::{OfKind, RATIO, SECONDS_PER_HOUR, by_kind, ln_rate, ln_ratio, most_common_work};
use super::{
    Between, Fleet, FleetFigure, FleetStudy, Judged, JudgedRow, LEVEL, MIN_MACHINES, OnKind, Series, odd,
};
use crate::Direction;
use crate::diagnostics::neighbours::NEIGHBOURS;
use crate::estimate::{Rule, judge_means};
use crate::external_arms::fastest;
use crate::groups::distinct;
use threadwise_statistics::{MeanEstimate, welch};
use threadwise_study::ComparisonKind;

/// Results of a fleet.
///
/// Three families are judged, each at half of 1 − [`LEVEL`] (docs/METHODOLOGY.md, "Fleets"): comparisons of each kind
/// against 1, comparisons between kinds, rates between kinds. What neighbours leave is judged apart, in the same way.
pub fn judge(fleet: &Fleet) -> Judged {
    let by_kind = by_kind(fleet);
    let margin = fleet.studies.iter().map(|study| study.margin).fold(0.0, f64::max);
    let first = fleet.studies.iter().flat_map(|study| &study.ratios).next();
    let direction = first.map_or(Direction::default(), |ratio| ratio.direction);
    let rule = Rule { margin, alpha: 1.0 - LEVEL, direction };
    let common = most_common_work(fleet);
    let is_other = |study: &&FleetStudy| !study.rates.is_empty() && common != Some(study.same_work.as_str());
    // What neighbours leave comes with every study of a guest: it takes no width from what the study compares.
    let neighbours = ComparisonKind::from(NEIGHBOURS.name);
    let (asked, seen): (Vec<JudgedRow>, Vec<JudgedRow>) =
        comparisons(fleet, &by_kind, rule).into_iter().partition(|row| row.kind != neighbours);
    let mut absent = fleet.absent.clone();
    let kinds = distinct(fleet.absent.iter().map(|absent| &absent.kind));
    absent.sort_by_key(|absent| (kinds.iter().position(|kind| **kind == absent.kind), absent.reason));
    let shown = Judged {
        simulated: fleet.studies.iter().any(|study| study.is_simulated),
        level: LEVEL,
        margin,
        kinds: by_kind.iter().map(OfKind::counted).collect(),
        comparisons: [judged(asked, &by_kind, rule), judged(seen, &by_kind, rule)].concat(),
        rates: common
            .map_or_else(Vec::new, |common| judged(rates(fleet, &by_kind, common, rule), &by_kind, rule)),
        studies_of_other_work: fleet.studies.iter().filter(is_other).count() as u32,
        odd_machines: odd::odd_machines(fleet, &by_kind, margin),
        unlike: odd::unlike(&by_kind),
        absent,
        cautions: Vec::new(),
    };
    Judged { cautions: odd::cautions(fleet, &shown), ..shown }
}

/// A row with a cell for each kind.
fn row(
    (name, unit): (&str, &str),
    by_kind: &[OfKind<'_>],
    rule: Rule,
    value: &dyn Fn(&FleetStudy) -> Option<f64>,
) -> JudgedRow {
    let cells = by_kind.iter().map(|of_kind| of_kind.figure(unit, rule, value)).collect();
    JudgedRow { name: name.to_owned(), unit: unit.to_owned(), cells, ..JudgedRow::default() }
}

/// All comparisons, those of second threads first.
fn comparisons(fleet: &Fleet, by_kind: &[OfKind<'_>], rule: Rule) -> Vec<JudgedRow> {
    let mut all: Vec<JudgedRow> = Vec::new();
    for FleetFigure { name, kind, .. } in fleet.studies.iter().flat_map(|study| &study.ratios) {
        if all.iter().all(|known| known.name != *name) {
            let row = row((name, RATIO), by_kind, rule, &|study| ln_ratio(study, name));
            all.push(JudgedRow { kind: kind.clone(), ..row });
        }
    }
    all.sort_by_key(|row| !ComparisonKind::OF_SECOND_THREADS.contains(&row.kind));
    all
}

/// Rates of all treatments, from studies of the common work: the fastest of each kind first if there are several.
fn rates(fleet: &Fleet, by_kind: &[OfKind<'_>], common: &str, rule: Rule) -> Vec<JudgedRow> {
    let rates = || fleet.studies.iter().flat_map(|study| &study.rates);
    let unit = rates().next().map_or("", |rate| rate.unit.as_str());
    let of_treatment = |treatment: &String| {
        let mut row = row((treatment, unit), by_kind, rule, &|study| ln_rate(study, treatment, common));
        row.cells.iter_mut().for_each(|one| one.treatment.clone_from(treatment));
        row
    };
    let treatments = distinct(rates().map(|rate| &rate.name));
    let mut all: Vec<JudgedRow> = treatments.into_iter().map(of_treatment).collect();
    if all.len() > 1 {
        let mut best = row(("", unit), by_kind, rule, &|_| None);
        for (at, cell) in best.cells.iter_mut().enumerate() {
            let means: Vec<Vec<f64>> = all.iter().map(|row| row.cells[at].series.means()).collect();
            if let Some(best) = fastest(&means) {
                *cell = all[best].cells[at].clone();
            }
        }
        all.insert(0, best);
    }
    all
}

/// The same rows with their ratios, judged together. Rates and rates per price are one family.
fn judged(mut rows: Vec<JudgedRow>, by_kind: &[OfKind<'_>], rule: Rule) -> Vec<JudgedRow> {
    // Only ratios are compared with 1.
    let means: Vec<Option<MeanEstimate>> = rows
        .iter()
        .flat_map(|row| row.cells.iter().map(|one| one.series.mean_of_kind().filter(|_| !row.is_rate())))
        .collect();
    let series = |row: &JudgedRow| row.cells.iter().map(|one| one.series.clone()).collect::<Vec<_>>();
    let all = rows.iter().map(series);
    let priced = rows.iter().filter(|row| row.is_rate()).map(|row| per_price(row, by_kind));
    let mut between = between(&all.chain(priced).collect::<Vec<_>>(), by_kind, rule).into_iter();
    let mut ratios = judge_means(&means, rule).into_iter();
    for row in &mut rows {
        row.between = between.next().unwrap_or_default();
        row.cells.iter_mut().zip(&mut ratios).for_each(|(one, ratio)| one.ratio = ratio);
    }
    for (row, between) in rows.iter_mut().zip(between) {
        row.between_per_price = between;
    }
    rows
}

/// Rates per price, for kinds with a price in the currency of the first one that has any.
fn per_price(row: &JudgedRow, by_kind: &[OfKind<'_>]) -> Vec<Series> {
    let currency = by_kind.iter().find_map(|of_kind| Some(&of_kind.price()?.currency));
    let of_kind = |(one, of_kind): (&OnKind, &OfKind<'_>)| {
        let price = of_kind.price().filter(|price| Some(&price.currency) == currency);
        let mut series = price.map(|_| one.series.clone()).unwrap_or_default();
        let by = price.map_or(0.0, |price| (SECONDS_PER_HOUR / price.amount).ln());
        series.values.iter_mut().flatten().flatten().for_each(|value| *value += by);
        series
    };
    row.cells.iter().zip(by_kind).map(of_kind).collect()
}

/// Ratios by row between all pairs of kinds that have intervals, by Welch's t on machine means, for all rows together.
fn between(rows: &[Vec<Series>], by_kind: &[OfKind<'_>], rule: Rule) -> Vec<Vec<Between>> {
    let has_interval = |series: &Series| series.nodes.len() >= MIN_MACHINES;
    let pairs = |row: &Vec<Series>| -> Vec<(usize, usize)> {
        let known: Vec<usize> = (0..row.len()).filter(|at| has_interval(&row[*at])).collect();
        let all = known.iter().flat_map(|below| known.iter().map(move |top| (*top, *below)));
        all.filter(|(top, below)| top > below).collect()
    };
    let means = rows.iter().flat_map(|row| {
        pairs(row).into_iter().map(|(top, below)| difference(&row[top].means(), &row[below].means()))
    });
    let mut judged = judge_means(&means.collect::<Vec<_>>(), rule).into_iter();
    let name = |at: usize| by_kind[at].kind.name.clone();
    let of_row = |row: &Vec<Series>| {
        let ratios = pairs(row).into_iter().zip(&mut judged);
        ratios
            .filter_map(|((top, below), ratio)| {
                Some(Between { kind: name(top), other: name(below), ratio: ratio? })
            })
            .collect()
    };
    rows.iter().map(of_row).collect()
}

/// The difference of the means of two kinds' machines, by Welch's t (Biometrika 34, 1947). Its degrees of freedom are
/// at most (1 + m/n) · (m − 1) for m machines of one kind and n ≥ m of the other. If three machines with a large spread
/// happen to lie close together, Welch's estimate is too large; m − 1 would always be safe (Mickey, Brown, Annals of
/// Mathematical Statistics 37, 1966), and with equal numbers of machines the bound is the most that Welch has. `None`
/// without a machine.
pub fn difference(top: &[f64], below: &[f64]) -> Option<MeanEstimate> {
    let (fewer, more) = (top.len().min(below.len()) as f64, top.len().max(below.len()) as f64);
    let mean = welch(top, below)?;
    let most = (1.0 + fewer / more) * (fewer - 1.0);
    Some(MeanEstimate { degrees: mean.degrees.min(most), ..mean })
}
