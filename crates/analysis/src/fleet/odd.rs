//! Machines that are far from the others of their kind, traits in which machines of a kind differ, and cautions for the
//! reader of a fleet's report.
//!
//! Source: Grubbs, Technometrics 11 (1969), adjusted by Bonferroni for every machine and every figure examined. A
//! machine is named and never left out.

use super::machines::{Machine, OfKind, ln_rate, ln_ratio, most_common_work};
use super::{DiffersIn, Fleet, FleetStudy, Judged, LEVEL, OddMachine, Series, Unlike, UnlikeValue};
use crate::groups::{distinct, grouped, most_frequent};
use crate::words::{MAX_LISTED, first, list, more};
use threadwise_statistics::{deviations, mean};

/// The odd machines of all kinds, each by the figure in which it stands out most.
///
/// Half of 1 − [`LEVEL`] is for the rate over all treatments, half for the comparisons: there may be many of these, and
/// a slow machine is slow in all of them. A machine within the margin of the others is not odd.
pub(super) fn odd_machines(fleet: &Fleet, by_kind: &[OfKind<'_>], margin: f64) -> Vec<OddMachine> {
    let common = most_common_work(fleet).unwrap_or("");
    // Mean over treatments of ln(rate), of a study of the common work.
    let rate =
        |study: &FleetStudy| mean(study.rates.iter().filter_map(|rate| ln_rate(study, &rate.name, common)));
    let names = distinct(fleet.studies.iter().flat_map(|study| &study.ratios).map(|ratio| &ratio.name));
    let rate_looks = (2 * by_kind.len()) as f64;
    let ratio_looks = rate_looks * names.len() as f64;
    let mut odd: Vec<OddMachine> = Vec::new();
    for of_kind in by_kind {
        let mut found = candidates(of_kind, "", &rate, rate_looks);
        for name in &names {
            found.extend(candidates(of_kind, name, &|study| ln_ratio(study, name), ratio_looks));
        }
        found.retain(|one| one.adjusted_p <= 1.0 - LEVEL && one.over_others.ln().abs() > margin.ln_1p());
        found.sort_by(|one, other| one.adjusted_p.total_cmp(&other.adjusted_p));
        for one in found {
            if odd.iter().all(|known| (&known.kind, &known.node) != (&one.kind, &one.node)) {
                odd.push(one);
            }
        }
    }
    odd
}

/// All machines of a kind with their distance from the others in one of the figures examined.
fn candidates(
    of_kind: &OfKind<'_>,
    comparison: &str,
    value: &dyn Fn(&FleetStudy) -> Option<f64>,
    looks: f64,
) -> Vec<OddMachine> {
    let series = Series::of(&of_kind.machines, value);
    let deviations = deviations(&series.means());
    let all = series.nodes.into_iter().zip(deviations).map(|(node, deviation)| OddMachine {
        kind: of_kind.kind.name.clone(),
        comparison: comparison.to_owned(),
        over_others: deviation.from_others.exp(),
        adjusted_p: (looks * deviation.p).min(1.0),
        differs_in: differs_in(&of_kind.machines, &node),
        node,
    });
    all.collect()
}

/// Traits by name with the value of each machine that has it, merged over its studies.
fn traits<'a>(machines: &'a [Machine<'a>]) -> Vec<(&'a String, Vec<(&'a str, String)>)> {
    let of_machine = |machine: &'a Machine<'a>| {
        let all = machine.studies.iter().flat_map(|study| &study.traits).map(|(name, value)| (name, value));
        let merged = |values: Vec<&String>| {
            distinct(values).into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        grouped(all).into_iter().map(move |(name, values)| (name, (machine.node, merged(values))))
    };
    grouped(machines.iter().flat_map(of_machine))
}

/// Traits that distinguish a machine from most of the others.
fn differs_in(machines: &[Machine<'_>], node: &str) -> Vec<DiffersIn> {
    let found = traits(machines).into_iter().filter_map(|(name, values)| {
        let (this, others): (Vec<_>, Vec<_>) = values.into_iter().partition(|(known, _)| *known == node);
        let value = this.into_iter().next()?.1;
        let usual = most_frequent(others.into_iter().map(|(_, value)| value))?;
        (usual != value).then(|| DiffersIn { name: name.clone(), value, others: usual })
    });
    found.collect()
}

/// Traits in which machines of a kind differ, with the machines that have each value.
pub(super) fn unlike(by_kind: &[OfKind<'_>]) -> Vec<Unlike> {
    let of_kind = |of_kind: &OfKind<'_>| -> Vec<Unlike> {
        let of_name = |(name, known): (&String, Vec<(&str, String)>)| {
            let value = |machine: &Machine<'_>| {
                let its = known.iter().find(|(node, _)| *node == machine.node);
                (its.map_or("unknown".to_owned(), |(_, value)| value.clone()), machine.node.to_owned())
            };
            let values = grouped(of_kind.machines.iter().map(value)).into_iter();
            let mut values: Vec<UnlikeValue> =
                values.map(|(value, nodes)| UnlikeValue { value, nodes }).collect();
            values.sort_by_key(|one| std::cmp::Reverse(one.nodes.len()));
            (values.len() > 1).then(|| Unlike { kind: of_kind.kind.name.clone(), name: name.clone(), values })
        };
        traits(&of_kind.machines).into_iter().filter_map(of_name).collect()
    };
    by_kind.iter().flat_map(of_kind).collect()
}

/// The cautions, one per line, the caller's first.
pub(super) fn cautions(fleet: &Fleet, judged: &Judged) -> Vec<String> {
    let mut lines = fleet.warnings.clone();
    let simulated = fleet.studies.iter().filter(|study| study.is_simulated).count();
    if simulated > 0 && simulated < fleet.studies.len() {
        lines.push(format!(
            "{simulated} of {} studies are from a model, not from a machine",
            fleet.studies.len()
        ));
    }
    // Studies with something wrong, by machine and repeat.
    let troubled = |what: &str, is_so: fn(&FleetStudy) -> bool| {
        let studies = fleet.studies.iter().filter(|study| is_so(study));
        let names: Vec<String> =
            studies.map(|study| format!("{} repeat {}", study.node, study.repeat)).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", few(&names)))
    };
    lines.extend(troubled("stopped before the end of its plan", |study| study.is_stopped));
    lines.extend(troubled("lost runs (see its own report)", |study| study.problem.is_some()));
    let is_shared = |study: &&FleetStudy| {
        fleet.studies.iter().any(|other| other.machine == study.machine && other.kind != study.kind)
    };
    let shared = distinct(fleet.studies.iter().filter(is_shared).map(|study| study.node.clone()));
    if !shared.is_empty() {
        lines.push(format!("{} is in more than one kind and counts in each", list(&shared)));
    }
    // `machines of c7i differ in microcode: 0x2b, but 0x2c on node-3`.
    lines.extend(judged.unlike.iter().filter_map(|unlike| {
        let (usual, others) = unlike.values.split_first()?;
        let others = others.iter().take(MAX_LISTED);
        let others: Vec<String> = others.map(|one| format!("{} on {}", one.value, few(&one.nodes))).collect();
        let (kind, name) = (&unlike.kind, &unlike.name);
        Some(format!("machines of {kind} differ in {name}: {}, but {}", usual.value, list(&others)))
    }));
    let uneven = judged.kinds.iter().filter(|kind| !kind.balanced);
    let uneven: Vec<String> = uneven.map(|kind| kind.name.clone()).collect();
    if !uneven.is_empty() {
        lines.push(format!(
            "machines of {} have different numbers of boots or repeats, but each machine counts once",
            list(&uneven)
        ));
    }
    lines
}

/// The first few, and how many more.
fn few(names: &[String]) -> String {
    list(&first(names.iter().cloned(), MAX_LISTED, more))
}
