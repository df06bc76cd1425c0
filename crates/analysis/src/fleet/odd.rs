//! Machines that are far from the others of their kind, and traits in which machines of a kind differ.
//!
//! Source: Grubbs, Technometrics 11 (1969), adjusted by Bonferroni for every machine and everything that is looked at. A
//! machine is named and never left out.

use super::judged::{DiffersIn, LEVEL, OddMachine, Unlike, UnlikeValue};
use super::machines::{Machine, Series};
use super::rates::{ln_rate, most_common_work};
use super::types::{Fleet, FleetStudy, Kind};
use crate::groups::distinct;
use threadwise_statistics::{deviations, mean};

/// The odd machines of all kinds: each in what it stands out most.
///
/// Half of 1 − [`LEVEL`] is for the rate over all treatments, half for the comparisons: there may be many of these, and a
/// machine that is slow is slow in all of them. What lies within the margin of the others is not odd.
pub(super) fn odd_machines(
    fleet: &Fleet,
    by_kind: &[(Kind, Vec<Machine<'_>>)],
    margin: f64,
) -> Vec<OddMachine> {
    let common = most_common_work(fleet).unwrap_or("");
    let names =
        distinct(fleet.studies.iter().flat_map(|study| &study.ratios).map(|ratio| ratio.name.as_str()));
    let mut odd = Vec::new();
    for (kind, machines) in by_kind {
        let rate = Series::of(machines, |study| overall_rate(study, common));
        let rate_looks = (2 * by_kind.len()) as f64;
        let ratio_looks = rate_looks * names.len() as f64;
        let mut found = candidates(kind, machines, ("", rate), rate_looks);
        for name in &names {
            let ratio = |study: &FleetStudy| {
                study.ratios.iter().find(|ratio| ratio.name == *name).map(|ratio| ratio.ln_ratio)
            };
            found.extend(candidates(kind, machines, (name, Series::of(machines, ratio)), ratio_looks));
        }
        found.retain(|one| one.adjusted_p <= 1.0 - LEVEL && one.over_others.ln().abs() > margin.ln_1p());
        found.sort_by(|one, other| one.adjusted_p.total_cmp(&other.adjusted_p));
        for one in found {
            if odd.iter().all(|known: &OddMachine| (&known.kind, &known.node) != (&one.kind, &one.node)) {
                odd.push(one);
            }
        }
    }
    odd
}

/// Mean over treatments of ln(rate), of a study of the common work.
fn overall_rate(study: &FleetStudy, common: &str) -> Option<f64> {
    mean(study.rates.iter().filter_map(|rate| ln_rate(study, &rate.treatment, common)))
}

/// All machines of a kind with how far they are from the others in one thing of so many that are looked at.
fn candidates(
    kind: &Kind,
    machines: &[Machine<'_>],
    (comparison, series): (&str, Series),
    looks: f64,
) -> Vec<OddMachine> {
    let all = series.nodes.iter().zip(deviations(&series.means()));
    let one = |(node, deviation): (&String, threadwise_statistics::Deviation)| OddMachine {
        kind: kind.name.clone(),
        node: node.clone(),
        comparison: comparison.to_owned(),
        over_others: deviation.from_others.exp(),
        adjusted_p: (looks * deviation.p).min(1.0),
        differs_in: differs_in(machines, node),
    };
    all.map(one).collect()
}

/// The traits of a machine, those of several studies put together.
fn traits(machine: &Machine<'_>) -> Vec<(String, String)> {
    let all = || machine.studies.iter().flat_map(|study| &study.traits);
    let names = distinct(all().map(|(name, _)| name.clone()));
    let value = |name: &String| {
        distinct(all().filter(|(known, _)| known == name).map(|(_, value)| value.clone())).join(", ")
    };
    names.into_iter().map(|name| (name.clone(), value(&name))).collect()
}

/// What sets a machine apart from most of the others.
fn differs_in(machines: &[Machine<'_>], node: &str) -> Vec<DiffersIn> {
    let (this, others): (Vec<&Machine<'_>>, Vec<&Machine<'_>>) =
        machines.iter().partition(|machine| machine.node == node);
    let others: Vec<Vec<(String, String)>> = others.into_iter().map(traits).collect();
    let of_this = this.first().map(|machine| traits(machine)).unwrap_or_default();
    let found = of_this.into_iter().filter_map(|(name, value)| {
        let values =
            others.iter().flatten().filter(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let values: Vec<String> = values.collect();
        let usual = most_common(&values)?;
        (usual != value).then(|| DiffersIn { name, value, others: usual.to_owned() })
    });
    found.collect()
}

fn most_common(values: &[String]) -> Option<&str> {
    let count = |value: &&String| values.iter().filter(|other| other == value).count();
    // Of several as frequent the first.
    values.iter().rev().max_by_key(count).map(String::as_str)
}

/// Traits in which machines of a kind differ, with the machines that have each value.
pub(super) fn unlike(by_kind: &[(Kind, Vec<Machine<'_>>)]) -> Vec<Unlike> {
    let of_kind = |(kind, machines): &(Kind, Vec<Machine<'_>>)| -> Vec<Unlike> {
        let known: Vec<(&str, Vec<(String, String)>)> =
            machines.iter().map(|machine| (machine.node, traits(machine))).collect();
        let names = distinct(known.iter().flat_map(|(_, traits)| traits).map(|(name, _)| name.clone()));
        let of_name = |name: &String| {
            let value = |traits: &[(String, String)]| {
                traits
                    .iter()
                    .find(|(known, _)| known == name)
                    .map_or("unknown".to_owned(), |(_, value)| value.clone())
            };
            let mut values: Vec<UnlikeValue> = Vec::new();
            for (node, traits) in &known {
                let value = value(traits);
                match values.iter_mut().find(|one| one.value == value) {
                    Some(one) => one.nodes.push((*node).to_owned()),
                    None => values.push(UnlikeValue { value, nodes: vec![(*node).to_owned()] }),
                }
            }
            values.sort_by_key(|one| std::cmp::Reverse(one.nodes.len()));
            (values.len() > 1).then(|| Unlike { kind: kind.name.clone(), name: name.clone(), values })
        };
        names.iter().filter_map(of_name).collect()
    };
    by_kind.iter().flat_map(of_kind).collect()
}
