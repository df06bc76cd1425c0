//! Machines that are far from the others of their kind, traits in which machines of a kind differ, and cautions for the
//! reader of a fleet's report.
//!
//! Source: Grubbs, Technometrics 11 (1969), adjusted by Bonferroni for every machine and every figure examined. A
//! machine is named and never left out.

use super::machines::{Machine, OfKind, ln_rate, ln_ratio, most_common_work};
use super::{DiffersIn, Fleet, FleetStudy, Judged, LEVEL, OddMachine, Series, Unlike, UnlikeValue};
use crate::groups::distinct;
use crate::words::{MAX_LISTED, list};
use threadwise_statistics::{deviations, mean};

/// The odd machines of all kinds, each by the figure in which it stands out most.
///
/// Half of 1 − [`LEVEL`] is for the rate over all treatments, half for the comparisons: there may be many of these, and
/// a slow machine is slow in all of them. A machine within the margin of the others is not odd.
pub(super) fn odd_machines(fleet: &Fleet, by_kind: &[OfKind<'_>], margin: f64) -> Vec<OddMachine> {
    let common = most_common_work(fleet).unwrap_or("");
    // Mean over treatments of ln(rate), of a study of the common work.
    let rate = |study: &FleetStudy| {
        mean(study.rates.iter().filter_map(|rate| ln_rate(study, &rate.treatment, common)))
    };
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

/// The traits of a machine, merged over its studies.
fn traits(machine: &Machine<'_>) -> Vec<(String, String)> {
    let all = || machine.studies.iter().flat_map(|study| &study.traits);
    let value = |name: &String| {
        let values = all().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        distinct(values).join(", ")
    };
    distinct(all().map(|(name, _)| name)).into_iter().map(|name| (name.clone(), value(name))).collect()
}

/// Traits that distinguish a machine from most of the others.
fn differs_in(machines: &[Machine<'_>], node: &str) -> Vec<DiffersIn> {
    let (this, others): (Vec<&Machine<'_>>, Vec<&Machine<'_>>) =
        machines.iter().partition(|machine| machine.node == node);
    let others: Vec<(String, String)> = others.into_iter().flat_map(traits).collect();
    let of_this = this.first().map(|machine| traits(machine)).unwrap_or_default();
    let found = of_this.into_iter().filter_map(|(name, value)| {
        let values: Vec<&String> =
            others.iter().filter(|(known, _)| *known == name).map(|(_, value)| value).collect();
        let count = |value: &&String| values.iter().filter(|other| *other == value).count();
        // Of several equally frequent, the first.
        let usual = values.iter().copied().rev().max_by_key(count)?;
        (*usual != value).then(|| DiffersIn { name, value, others: usual.clone() })
    });
    found.collect()
}

/// Traits in which machines of a kind differ, with the machines that have each value.
pub(super) fn unlike(by_kind: &[OfKind<'_>]) -> Vec<Unlike> {
    let of_kind = |of_kind: &OfKind<'_>| -> Vec<Unlike> {
        let known: Vec<(&str, Vec<(String, String)>)> =
            of_kind.machines.iter().map(|machine| (machine.node, traits(machine))).collect();
        let names = distinct(known.iter().flat_map(|(_, traits)| traits).map(|(name, _)| name));
        let of_name = |name: &String| {
            let value = |traits: &[(String, String)]| {
                let mut named = traits.iter().filter(|(known, _)| known == name);
                named.next().map_or("unknown".to_owned(), |(_, value)| value.clone())
            };
            let nodes = |wanted: &String| {
                let same = known.iter().filter(|(_, traits)| value(traits) == *wanted);
                same.map(|(node, _)| (*node).to_owned()).collect()
            };
            let values = distinct(known.iter().map(|(_, traits)| value(traits))).into_iter();
            let mut values: Vec<UnlikeValue> =
                values.map(|value| UnlikeValue { nodes: nodes(&value), value }).collect();
            values.sort_by_key(|one| std::cmp::Reverse(one.nodes.len()));
            (values.len() > 1).then(|| Unlike { kind: of_kind.kind.name.clone(), name: name.clone(), values })
        };
        names.into_iter().filter_map(of_name).collect()
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
    let uneven = judged.kinds.iter().filter(|kind| !kind.balanced).map(|kind| kind.name.clone());
    let uneven: Vec<String> = uneven.collect();
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
    let more = names.len().saturating_sub(MAX_LISTED);
    let mut shown: Vec<String> = names.iter().take(MAX_LISTED).cloned().collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    list(&shown)
}
