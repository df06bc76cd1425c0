//! Puts the parts together: per query, all queries, plans, cores, steps, outliers, heat maps.

use std::collections::{BTreeMap, BTreeSet};

use threadwise_machine::Topology;
use threadwise_study::{OptionValue, Run, Study, tpch};

use super::cores::core_seconds;
use super::family::{Member, arithmetic, geometric, negated, ratios};
use super::plans::Plans;
use super::table::{Cell, Quantity, Table, Total};
use super::{
    Change, DataSize, Queries, QueryEstimates, TotalEstimates, TreatmentQueries, heat, outliers, steps,
};
use crate::Ratio;
use crate::activity::Setting;
use crate::estimate::Observed;

/// Bytes of rows as text a scale factor (TPC-H specification, clause 4.1.3.1).
const BYTES_PER_SCALE: f64 = 1e9;

/// What a study of queries says query by query; `None` where the workload has none.
pub(crate) fn queries(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Queries> {
    if setting.study.workload != tpch::WORKLOAD {
        return None;
    }
    let table = Table::new(setting, observed, runs);
    let numbers = table.numbers();
    let plans = Plans::new(&table);
    let changed = plans.changed(&table, &numbers);
    let treatments = treatments(&table, &plans, &numbers, &changed);
    let (outliers, outliers_left_out) = outliers::outliers(&table, &plans, &treatments);
    Some(Queries {
        is_throughput: table.is_throughput,
        steps: steps::steps(&table, &plans, &numbers),
        outliers,
        outliers_left_out,
        heat: heat::maps(&table),
        changes: plans.changes(&table, &numbers),
        data: data(setting.study, setting.topology),
        plans: plans.plans,
        numbers,
        treatments,
    })
}

/// What of all queries together is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whole {
    /// Queries per hour of the elapsed time.
    Speed,
    /// Geometric mean of the queries' ratios.
    Geometric,
    /// CPU per query.
    Cpu,
    /// The first without queries of another plan.
    SpeedSamePlans,
    /// The second without them.
    GeometricSamePlans,
}

const WHOLES: [Whole; 5] =
    [Whole::Speed, Whole::Geometric, Whole::Cpu, Whole::SpeedSamePlans, Whole::GeometricSamePlans];

impl Whole {
    /// d by block; above 0 is faster, of CPU more.
    pub(super) fn d(
        self,
        table: &Table<'_>,
        top: usize,
        below: &[usize],
        changed: &BTreeSet<u8>,
    ) -> Vec<f64> {
        let rest =
            || -> Vec<u8> { table.asked.iter().copied().filter(|query| !changed.contains(query)).collect() };
        match self {
            Self::Speed => table.number(top, below, |cell| Some(cell.total?.per_h())),
            Self::Geometric => negated(table.geometric(top, below, &table.asked)),
            Self::Cpu => table.number(top, below, |cell| {
                let total = cell.total?;
                Some(total.cpu_s? / total.queries)
            }),
            Self::SpeedSamePlans | Self::GeometricSamePlans if changed.is_empty() => Vec::new(),
            Self::SpeedSamePlans if table.is_throughput => Vec::new(),
            Self::SpeedSamePlans => {
                let rest = rest();
                negated(table.number(top, below, |cell| Some(cell.sum(&rest)?.elapsed_s)))
            }
            Self::GeometricSamePlans => negated(table.geometric(top, below, &rest())),
        }
    }
}

/// d of A′ over A in a treatment's group; empty where there is no A/A.
pub(super) fn twins(
    table: &Table<'_>,
    treatment: usize,
    d: impl Fn(usize, &[usize]) -> Vec<f64>,
) -> Vec<f64> {
    match table.below(treatment) {
        [base, twin, ..] => d(*twin, &[*base]),
        _ => Vec::new(),
    }
}

fn treatments(
    table: &Table<'_>,
    plans: &Plans,
    numbers: &[u8],
    changed: &BTreeSet<u8>,
) -> Vec<TreatmentQueries> {
    let speeds = query_ratios(table, numbers, Quantity::Elapsed);
    let cpus = query_ratios(table, numbers, Quantity::Cpu);
    let wholes: Vec<BTreeMap<usize, Ratio>> =
        WHOLES.iter().map(|whole| whole_ratios(table, *whole, changed)).collect();
    let each = table.study.treatments.iter().enumerate();
    each.map(|(at, treatment)| {
        let cells: Vec<&Cell<'_>> = table.of(at).collect();
        let ratio = |whole: Whole| wholes[whole as usize].get(&at).cloned();
        TreatmentQueries {
            treatment: treatment.name.clone(),
            placement: treatment.placement.clone(),
            dop: table.dop(at),
            streams: treatment.sessions,
            blocks: cells.len() as u32,
            queries: numbers
                .iter()
                .filter_map(|query| {
                    let mut own = own_numbers(table, &cells, *query)?;
                    own.speed = speeds.get(&(at, *query)).cloned();
                    own.cpu = cpus.get(&(at, *query)).cloned();
                    own.plan = plans.majority(&[at], *query);
                    own.plans_seen = plans.seen(at, *query);
                    own.plan_change = plans.against_baseline(table, at, *query);
                    Some((*query, own))
                })
                .collect(),
            total: TotalEstimates {
                speed: ratio(Whole::Speed),
                geometric: ratio(Whole::Geometric),
                cpu: ratio(Whole::Cpu),
                speed_same_plans: ratio(Whole::SpeedSamePlans),
                geometric_same_plans: ratio(Whole::GeometricSamePlans),
                ..totals(&cells, table.alpha)
            },
            cores: core_seconds(table, at),
        }
    })
    .collect()
}

/// Ratios of every query and compared treatment: one family.
fn query_ratios(table: &Table<'_>, numbers: &[u8], quantity: Quantity) -> BTreeMap<(usize, u8), Ratio> {
    let oriented = |d: Vec<f64>| if quantity == Quantity::Elapsed { negated(d) } else { d };
    let mut members = Vec::new();
    for at in (0..table.study.treatments.len()).filter(|at| table.is_compared(*at)) {
        for query in numbers {
            let d = |top: usize, below: &[usize]| oriented(table.query(top, below, *query, quantity));
            let a_a = twins(table, at, d);
            members.extend(Member::new((at, *query), &d(at, table.below(at)), &a_a, table.alpha));
        }
    }
    ratios(members, table.alpha).into_iter().collect()
}

/// Ratios of all queries together: one family over the treatments.
fn whole_ratios(table: &Table<'_>, whole: Whole, changed: &BTreeSet<u8>) -> BTreeMap<usize, Ratio> {
    let compared = (0..table.study.treatments.len()).filter(|at| table.is_compared(*at));
    let d = |top: usize, below: &[usize]| whole.d(table, top, below, changed);
    let members =
        compared.filter_map(|at| Member::new(at, &d(at, table.below(at)), &twins(table, at, d), table.alpha));
    ratios(members.collect(), table.alpha).into_iter().collect()
}

/// One query's own figures over a treatment's blocks; `None` where it was not executed.
fn own_numbers(table: &Table<'_>, cells: &[&Cell<'_>], query: u8) -> Option<QueryEstimates> {
    let logs =
        |quantity| -> Vec<f64> { cells.iter().filter_map(|cell| cell.mean_log(query, quantity)).collect() };
    let all = || cells.iter().flat_map(|cell| cell.executions(query)).map(|done| done.execution);
    let planning: Vec<f64> = cells
        .iter()
        .filter_map(|cell| mean(cell.executions(query).filter_map(|done| done.execution.planning_ns)))
        .collect();
    let dops = || all().filter_map(|execution| execution.dop);
    let names: BTreeSet<&String> = all().flat_map(|execution| execution.counters.keys()).collect();
    let counter = |name: &String| {
        let values = all().map(|execution| execution.counters.get(name).copied().unwrap_or(0));
        mean(values).unwrap_or(0.0)
    };
    Some(QueryEstimates {
        elapsed_ms: geometric(&logs(Quantity::Elapsed), 1e-6, "ms", table.alpha)?,
        planning_ms: arithmetic(&planning.iter().map(|ns| ns / 1e6).collect::<Vec<f64>>(), "ms", table.alpha),
        cpu_ms: geometric(&logs(Quantity::Cpu), 1e-6, "ms", table.alpha),
        speed: None,
        cpu: None,
        dop: dops().min().zip(dops().max()),
        plan: None,
        plans_seen: 0,
        plan_change: Change::Unknown,
        counters: names.into_iter().map(|name| (name.clone(), counter(name))).collect(),
    })
}

/// Times and rates of all queries together, without ratios.
fn totals(cells: &[&Cell<'_>], alpha: f64) -> TotalEstimates {
    let totals: Vec<Total> = cells.iter().filter_map(|cell| cell.total).collect();
    let logs = |of: fn(&Total) -> Option<f64>| -> Vec<f64> {
        totals.iter().filter_map(|total| Some(of(total)?.ln())).filter(|log| log.is_finite()).collect()
    };
    TotalEstimates {
        elapsed_s: geometric(&logs(|total| Some(total.elapsed_s)), 1.0, "s", alpha),
        cpu_s: geometric(&logs(|total| total.cpu_s), 1.0, "s", alpha),
        speed: None,
        geometric: None,
        cpu: None,
        speed_same_plans: None,
        geometric_same_plans: None,
        queries_per_h: geometric(&logs(|total| Some(total.per_h())), 1.0, "1/h", alpha),
    }
}

/// The scale factors of a study beside memory and caches.
fn data(study: &Study, topology: Option<&Topology>) -> Vec<DataSize> {
    let scale = |value: Option<&OptionValue>| match value {
        None => Some(1.0),
        Some(OptionValue::Integer(scale)) => Some(*scale as f64),
        Some(OptionValue::Number(scale)) => Some(*scale),
        Some(_) => None,
    };
    let all = study.treatments.iter().filter_map(|treatment| scale(treatment.options.get("scale")));
    let mut scales: Vec<f64> = all.filter(|scale| scale.is_finite() && *scale > 0.0).collect();
    scales.sort_by(f64::total_cmp);
    scales.dedup();
    let memory_bytes = topology.and_then(|topology| {
        [topology.identity.memory_bytes, topology.limits.memory_bytes].into_iter().flatten().min()
    });
    let sized = |scale| DataSize {
        scale,
        logical_bytes: scale * BYTES_PER_SCALE,
        memory_bytes,
        llc_bytes: topology.and_then(llc_bytes),
    };
    scales.into_iter().map(sized).collect()
}

/// All caches of the last level together.
fn llc_bytes(topology: &Topology) -> Option<u64> {
    let last = topology.caches.iter().map(|cache| cache.level).max()?;
    let sizes: Option<Vec<u64>> =
        topology.caches.iter().filter(|cache| cache.level == last).map(|cache| cache.size_bytes).collect();
    sizes.map(|sizes| sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)))
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    crate::estimate::mean(values.map(|value| value as f64))
}
