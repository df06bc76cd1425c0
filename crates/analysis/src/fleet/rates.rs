//! Absolute rates of a fleet, and rates per price. They are compared among studies of the same work alone: the same plan,
//! version of the engine and data.

use super::between::judge_between;
use super::judged::{Basis, Between, JudgedRate, KindRate, MIN_MACHINES};
use super::machines::{Machine, Series, next_machine};
use super::types::{Fleet, FleetStudy, Kind, Price};
use crate::Interval;
use crate::estimate::Rule;
use crate::external_arms::fastest;
use crate::groups::distinct;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// The work of most studies; `None` where no study's is known.
pub(super) fn most_common_work(fleet: &Fleet) -> Option<&str> {
    let known = fleet.studies.iter().map(|study| study.same_work.as_str()).filter(|hash| !hash.is_empty());
    let count = |hash: &str| fleet.studies.iter().filter(|study| study.same_work == hash).count();
    // Of several as frequent the first.
    distinct(known).into_iter().rev().max_by_key(|hash| count(hash))
}

/// Studies with rates that take no part, since their work is other or not known.
pub(super) fn other_work(fleet: &Fleet) -> u32 {
    let common = most_common_work(fleet);
    let is_other = |study: &&FleetStudy| !study.rates.is_empty() && common != Some(study.same_work.as_str());
    fleet.studies.iter().filter(is_other).count() as u32
}

/// ln(rate) of a treatment in a study of the common work.
pub(super) fn ln_rate(study: &FleetStudy, treatment: &str, common: &str) -> Option<f64> {
    let rate = study.rates.iter().find(|rate| rate.treatment == treatment)?;
    (study.same_work == common && rate.per_s > 0.0).then(|| rate.per_s.ln())
}

/// One row of rates: of a treatment, or of the fastest one of each kind.
struct Row {
    treatment: String,
    /// By kind: treatment and rates.
    of_kinds: Vec<(String, Series)>,
}

/// Rates of all treatments on all kinds; empty where no study's work is known.
pub(super) fn rates(fleet: &Fleet, by_kind: &[(Kind, Vec<Machine<'_>>)], rule: Rule) -> Vec<JudgedRate> {
    let Some(common) = most_common_work(fleet) else { return Vec::new() };
    let rates = || fleet.studies.iter().flat_map(|study| &study.rates);
    let unit = rates().next().map_or("", |rate| rate.unit.as_str());
    let treatments: Vec<String> = distinct(rates().map(|rate| rate.treatment.clone()));
    let mut rows: Vec<Row> = treatments
        .iter()
        .map(|treatment| {
            let of_kind = |(_, machines): &(Kind, Vec<Machine<'_>>)| {
                (treatment.clone(), Series::of(machines, |study| ln_rate(study, treatment, common)))
            };
            Row { treatment: treatment.clone(), of_kinds: by_kind.iter().map(of_kind).collect() }
        })
        .collect();
    if rows.len() > 1 {
        rows.insert(0, of_fastest(&rows, by_kind.len()));
    }
    let series: Vec<Vec<Series>> = rows.iter().map(only_series).collect();
    let priced: Vec<Vec<Series>> = rows.iter().map(|row| per_price(row, by_kind)).collect();
    // One family: what is said of rates and of rates per price.
    let all = judge_between(&[series, priced].concat(), by_kind, rule);
    let (between, per_price) = all.split_at(rows.len());
    let judged = rows.iter().zip(between).zip(per_price);
    judged
        .map(|((row, between), per_price)| judged_rate(row, unit, by_kind, (between, per_price), rule))
        .collect()
}

fn only_series(row: &Row) -> Vec<Series> {
    row.of_kinds.iter().map(|(_, series)| series.clone()).collect()
}

/// The fastest treatment of each kind, by the mean over machines.
fn of_fastest(rows: &[Row], kinds: usize) -> Row {
    let of_kind = |at: usize| {
        let by_treatment: Vec<Vec<f64>> = rows.iter().map(|row| row.of_kinds[at].1.means()).collect();
        fastest(&by_treatment).map_or_else(Default::default, |best| rows[best].of_kinds[at].clone())
    };
    Row { treatment: String::new(), of_kinds: (0..kinds).map(of_kind).collect() }
}

/// Rates per price, of kinds with a price in the currency of the first one that has any.
fn per_price(row: &Row, by_kind: &[(Kind, Vec<Machine<'_>>)]) -> Vec<Series> {
    let currency = by_kind.iter().find_map(|(kind, _)| Some(usable(kind)?.currency.as_str()));
    let of_kind = |((_, series), (kind, _)): (&(String, Series), &(Kind, Vec<Machine<'_>>))| {
        let price = usable(kind).filter(|price| Some(price.currency.as_str()) == currency);
        price.map_or_else(Series::default, |price| {
            series.clone().shifted((SECONDS_PER_HOUR / price.amount).ln())
        })
    };
    row.of_kinds.iter().zip(by_kind).map(of_kind).collect()
}

/// A price that can be divided by.
fn usable(kind: &Kind) -> Option<&Price> {
    kind.price.as_ref().filter(|price| price.amount > 0.0 && price.amount.is_finite())
}

fn judged_rate(
    row: &Row,
    unit: &str,
    by_kind: &[(Kind, Vec<Machine<'_>>)],
    (between, between_per_price): (&[Between], &[Between]),
    rule: Rule,
) -> JudgedRate {
    let cell = |((treatment, series), (kind, machines)): (&(String, Series), &(Kind, Vec<Machine<'_>>))| {
        let mean = interval(series, unit, rule.alpha);
        let factor = usable(kind).map(|price| SECONDS_PER_HOUR / price.amount);
        let reason = match series.nodes.len() {
            0 if machines.iter().any(|machine| has_rates(machine)) => {
                Some("plan, engine version or data are not those of most studies, or not known".to_owned())
            }
            count => Basis::of(count).gap().map(str::to_owned),
        };
        let next = series.mean().filter(|mean| mean.n >= MIN_MACHINES);
        KindRate {
            kind: kind.name.clone(),
            treatment: treatment.clone(),
            machines: series.by_machine(),
            per_price: mean.as_ref().zip(factor).map(|(mean, factor)| mean.scaled(factor, "1")),
            next_machine: next.and_then(|mean| next_machine(&mean, rule.alpha)),
            mean,
            reason,
        }
    };
    JudgedRate {
        treatment: row.treatment.clone(),
        unit: unit.to_owned(),
        cells: row.of_kinds.iter().zip(by_kind).map(cell).collect(),
        between: between.to_vec(),
        between_per_price: between_per_price.to_vec(),
    }
}

fn has_rates(machine: &Machine<'_>) -> bool {
    machine.studies.iter().any(|study| !study.rates.is_empty())
}

/// The geometric mean over machines; without ends where machines are too few for an interval.
fn interval(series: &Series, unit: &str, alpha: f64) -> Option<Interval> {
    let mean = series.mean()?;
    let (low, high) = match mean.n >= MIN_MACHINES {
        true => mean.interval(alpha),
        false => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let ends = |end: f64| if end.is_finite() { end.exp() } else { end };
    Some(Interval { mean: mean.mean.exp(), low: ends(low), high: ends(high), unit: unit.to_owned() })
}
