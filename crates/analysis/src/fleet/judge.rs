//! From studies to what a fleet shows: every comparison on every kind, kinds against each other, and what is absent.

use super::judged::{
    AbsentCell, AbsentCells, Basis, Judged, JudgedComparison, JudgedKind, KindRatio, LEVEL, MIN_MACHINES,
};
use super::machines::{Machine, Series, machines, next_machine};
use super::types::{Absence, Fleet, Kind};
use super::{between, cautions, odd, rates, spread};
use crate::Direction;
use crate::compare::card::YIELDS;
use crate::estimate::{Rule, judge as judge_family};
use crate::groups::distinct;

/// What a fleet shows.
///
/// Three families are judged, each at half of 1 − [`LEVEL`] (docs/METHODOLOGY.md, "Fleets"): comparisons of each kind
/// against 1, comparisons between kinds, rates between kinds.
pub fn judge(fleet: &Fleet) -> Judged {
    let kinds = kinds(fleet);
    let by_kind: Vec<(Kind, Vec<Machine<'_>>)> =
        kinds.into_iter().map(|kind| (kind.clone(), machines(fleet, &kind.name))).collect();
    let margin = fleet.studies.iter().map(|study| study.margin).fold(0.0, f64::max);
    let first = fleet.studies.iter().flat_map(|study| &study.ratios).next();
    let direction = first.map_or(Direction::default(), |ratio| ratio.direction);
    let rule = Rule { margin, alpha: 1.0 - LEVEL, direction };
    let comparisons = comparisons(fleet, &by_kind, rule);
    let rates = rates::rates(fleet, &by_kind, rule);
    let unlike = odd::unlike(&by_kind);
    let judged = Judged {
        simulated: fleet.studies.iter().any(|study| study.is_simulated),
        level: LEVEL,
        margin,
        kinds: by_kind.iter().map(|(kind, machines)| judged_kind(kind, machines)).collect(),
        odd_machines: odd::odd_machines(fleet, &by_kind, margin),
        comparisons,
        rates,
        studies_of_other_work: rates::other_work(fleet),
        unlike,
        absent: absent(fleet),
        cautions: Vec::new(),
    };
    Judged { cautions: cautions::cautions(fleet, &judged), ..judged }
}

/// The fleet's kinds, and those that only studies have.
fn kinds(fleet: &Fleet) -> Vec<Kind> {
    let mut kinds = fleet.kinds.clone();
    for name in fleet.studies.iter().map(|study| &study.kind) {
        if kinds.iter().all(|kind| kind.name != *name) {
            kinds.push(Kind { name: name.clone(), ..Kind::default() });
        }
    }
    kinds
}

fn judged_kind(kind: &Kind, machines: &[Machine<'_>]) -> JudgedKind {
    let shapes: Vec<Vec<usize>> = machines
        .iter()
        .map(|machine| machine.by_boot(|_| Some(0.0)).iter().map(Vec::len).collect())
        .collect();
    let is_even = shapes.windows(2).all(|two| two[0].len() == two[1].len())
        && distinct(shapes.iter().flatten().copied()).len() <= 1;
    JudgedKind {
        name: kind.name.clone(),
        price: kind.price.clone(),
        machines_planned: kind.machines_planned,
        machines: machines.len() as u32,
        boots: shapes.iter().map(Vec::len).sum::<usize>() as u32,
        studies: shapes.iter().flatten().sum::<usize>() as u32,
        balanced: is_even,
        basis: Basis::of(machines.len()),
    }
}

/// Names and kinds of all comparisons, those of second threads first.
fn names(fleet: &Fleet) -> Vec<(String, String)> {
    let ratios = fleet.studies.iter().flat_map(|study| &study.ratios);
    let mut names: Vec<(String, String)> = Vec::new();
    for ratio in ratios {
        if names.iter().all(|(name, _)| *name != ratio.name) {
            names.push((ratio.name.clone(), ratio.kind.clone()));
        }
    }
    names.sort_by_key(|(_, kind)| !YIELDS.contains(&kind.as_str()));
    names
}

fn comparisons(fleet: &Fleet, by_kind: &[(Kind, Vec<Machine<'_>>)], rule: Rule) -> Vec<JudgedComparison> {
    let names = names(fleet);
    let series: Vec<Vec<Series>> = names
        .iter()
        .map(|(name, _)| {
            let ratio = |study: &super::types::FleetStudy| {
                study.ratios.iter().find(|ratio| ratio.name == *name).map(|ratio| ratio.ln_ratio)
            };
            by_kind.iter().map(|(_, machines)| Series::of(machines, ratio)).collect()
        })
        .collect();
    let mut means = judge_means(&series, rule).into_iter();
    let mut between = between::judge_between(&series, by_kind, rule).into_iter();
    let all = names.into_iter().zip(&series).map(|((name, kind), of_kinds)| {
        let cells = of_kinds.iter().zip(by_kind).map(|(series, (kind, _))| {
            let mean = series.mean().filter(|mean| mean.n >= MIN_MACHINES);
            KindRatio {
                kind: kind.name.clone(),
                machines: series.by_machine(),
                mean: means.next().flatten(),
                next_machine: mean.and_then(|mean| next_machine(&mean, rule.alpha)),
                spread: mean.and_then(|_| spread::spread(series, rule.margin, rule.alpha)),
                reason: Basis::of(series.nodes.len()).gap().map(str::to_owned),
            }
        });
        let cells = cells.collect();
        JudgedComparison { name, kind, cells, between: between.next().unwrap_or_default() }
    });
    all.collect()
}

/// Means of all comparisons on all kinds, judged together; a place for each, comparison by comparison.
fn judge_means(series: &[Vec<Series>], rule: Rule) -> Vec<Option<crate::Ratio>> {
    let means = series.iter().flatten().map(|series| series.mean().filter(|mean| mean.n >= MIN_MACHINES));
    let means: Vec<_> = means.collect();
    let family: Vec<_> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge_family(&family, rule).into_iter();
    means.iter().map(|mean| mean.and_then(|_| judged.next())).collect()
}

/// Planned studies without a result, by kind and reason.
fn absent(fleet: &Fleet) -> Vec<AbsentCells> {
    let kinds = distinct(fleet.absent.iter().map(|absent| &absent.kind));
    let groups = kinds.into_iter().flat_map(|kind| Absence::ALL.map(|reason| (kind, reason)));
    let of_group = |(kind, reason): (&String, Absence)| {
        let all = fleet.absent.iter().filter(|absent| absent.kind == *kind && absent.reason == reason);
        let cells = all.map(|absent| AbsentCell {
            node: absent.node.clone(),
            repeat: absent.repeat,
            why: absent.why.clone(),
        });
        AbsentCells { kind: kind.clone(), reason, cells: cells.collect() }
    };
    groups.map(of_group).filter(|group| !group.cells.is_empty()).collect()
}
