//! Puts the parts together: per query, all queries, plans, cores, steps, outliers, heat maps.

use std::collections::{BTreeMap, BTreeSet};

use threadwise_machine::Topology;
use threadwise_study::{OptionValue, QueryExecution, Role, Run, Study, tpch};

use super::cores::{core_ratios, core_seconds};
use super::family::{self, Member, Single, negated, ratios};
use super::plans::Plans;
use super::table::{Cell, Quantity, Table, Total};
use super::whole::{WHOLES, Whole, twins};
use super::{
    Baseline, Change, DataSize, Queries, QueryEstimates, TotalEstimates, TreatmentQueries, beside,
    comparisons, heat, outliers, steps,
};
use crate::Direction;
use crate::Ratio;
use crate::choices::{self, Candidates, Choice};
use crate::estimate::{Fastest, Observed};
use crate::setting::Setting;
use threadwise_statistics::{arithmetic, geometric, mean};

/// Bytes of rows as text a scale factor (TPC-H specification, clause 4.1.3.1).
const BYTES_PER_SCALE: f64 = 1e9;

/// What a study of queries says query by query; `None` where the workload has none.
///
/// `runs` are without sessions of short queries, `whole` are the same with them.
pub(crate) fn queries(
    setting: &Setting<'_>,
    observed: &Observed,
    runs: &[Run],
    whole: &[Run],
) -> Option<Queries> {
    if setting.study.workload != tpch::WORKLOAD {
        return None;
    }
    let table = Table::new(setting, observed, runs);
    let numbers = table.numbers();
    let plans = Plans::new(&table);
    let changed = plans.changed(&table, &numbers);
    let treatments = treatments(&table, &plans, &numbers, &changed);
    let baselines = baselines(&table, &plans, &numbers);
    let (outliers, outliers_left_out) = outliers::outliers(&table, &plans, &treatments, &baselines);
    let (short, short_limits) = beside::beside(&table, observed, whole);
    Some(Queries {
        short,
        short_limits,
        is_throughput: table.is_throughput,
        fastest: fastest(&table),
        steps: steps::steps(&table, &plans, &numbers),
        comparisons: comparisons::comparisons(&table, &plans, &numbers),
        outliers,
        outliers_left_out,
        heat: heat::maps(&table),
        changes: plans.changes(&table, &numbers),
        data: data(setting.study, setting.topology),
        plans: plans.plans,
        numbers,
        treatments,
        baselines,
    })
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
    let mut core_ratios = core_ratios(table);
    let compared = |at: usize| {
        let mut measured = figures(table, plans, numbers, &[at])?;
        if let Some(cores) = measured.cores.as_mut() {
            cores.to_baseline = core_ratios.remove(&at);
        }
        let ratio = |whole: Whole| wholes[whole as usize].get(&at).cloned();
        for (query, figures) in &mut measured.queries {
            figures.speed = speeds.get(&(at, *query)).cloned();
            figures.cpu = cpus.get(&(at, *query)).cloned();
            figures.plan_change = plans.against_baseline(table, at, *query);
        }
        measured.total.speed = ratio(Whole::Speed);
        measured.total.geometric = ratio(Whole::Geometric);
        measured.total.cpu = ratio(Whole::Cpu);
        measured.total.speed_same_plans = ratio(Whole::SpeedSamePlans);
        measured.total.geometric_same_plans = ratio(Whole::GeometricSamePlans);
        Some(measured)
    };
    (0..table.study.treatments.len()).filter_map(compared).collect()
}

/// What the ratios of each group are over, groups in study order.
fn baselines(table: &Table<'_>, plans: &Plans, numbers: &[u8]) -> Vec<Baseline> {
    let mut baselines: Vec<Baseline> = Vec::new();
    for (at, treatment) in table.study.treatments.iter().enumerate() {
        if baselines.iter().any(|baseline| baseline.group == treatment.group) {
            continue;
        }
        let sides = table.below(at);
        let Some(both) = figures(table, plans, numbers, sides) else { continue };
        let noise = |whole: Whole| {
            let d = twins(table, at, |top, below| whole.d(table, top, below, &BTreeSet::new()));
            let member = Member::new((), &d, &d, table.alpha)?;
            ratios(vec![member], table.rule(Direction::HigherIsBetter)).pop().map(|(_, ratio)| ratio)
        };
        baselines.push(Baseline {
            group: treatment.group.clone(),
            twin: sides.get(1).map(|at| table.study.treatments[*at].name.clone()),
            both,
            noise: noise(Whole::Speed),
            noise_geometric: noise(Whole::Geometric),
        });
    }
    baselines
}

/// A treatment's own figures without ratios, under the name of the first of these; of a baseline's two
/// runs in a block the mean. `None` of nobody.
fn figures(table: &Table<'_>, plans: &Plans, numbers: &[u8], sides: &[usize]) -> Option<TreatmentQueries> {
    let at = *sides.first()?;
    let treatment = table.study.treatments.get(at)?;
    let blocks = table.together(sides);
    let of_query = |query: &u8| {
        let mut estimates = own_numbers(table, &blocks, *query)?;
        estimates.plan = plans.majority(sides, *query);
        estimates.plans_seen = plans.seen(sides, *query);
        estimates.plan_change = plans.change(estimates.plan, estimates.plan);
        Some((*query, estimates))
    };
    Some(TreatmentQueries {
        treatment: treatment.name.clone(),
        placement: treatment.placement.clone(),
        dop: table.dop(at),
        streams: treatment.sessions,
        blocks: blocks.len() as u32,
        queries: numbers.iter().filter_map(of_query).collect(),
        total: totals(&blocks, table.alpha),
        cores: core_seconds(table.topology, table.is_throughput, &blocks),
    })
}

/// Ratios of every query and compared treatment: the queries of a treatment are judged together.
fn query_ratios(table: &Table<'_>, numbers: &[u8], quantity: Quantity) -> BTreeMap<(usize, u8), Ratio> {
    let oriented = |d: Vec<f64>| if quantity == Quantity::Elapsed { negated(d) } else { d };
    let direction = match quantity {
        Quantity::Elapsed => Direction::HigherIsBetter,
        _ => Direction::LowerIsBetter,
    };
    let of_treatment = |at: usize| {
        let single = |query: &u8| {
            let d = |top: usize, below: &[usize]| oriented(table.query(top, below, *query, quantity));
            Single { key: (at, *query), d: d(at, table.below(at)), twins: twins(table, at, d) }
        };
        let members = family::singles(numbers.iter().map(single).collect(), table.alpha);
        family::query_ratios(members, table.rule(direction))
    };
    let compared = (0..table.study.treatments.len()).filter(|at| table.is_compared(*at));
    compared.flat_map(of_treatment).collect()
}

/// Ratios of all queries together: one family over the treatments.
fn whole_ratios(table: &Table<'_>, whole: Whole, changed: &BTreeSet<u8>) -> BTreeMap<usize, Ratio> {
    let compared = (0..table.study.treatments.len()).filter(|at| table.is_compared(*at));
    let d = |top: usize, below: &[usize]| whole.d(table, top, below, changed);
    let members =
        compared.filter_map(|at| Member::new(at, &d(at, table.below(at)), &twins(table, at, d), table.alpha));
    let direction = if whole == Whole::Cpu { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
    ratios(members.collect(), table.rule(direction)).into_iter().collect()
}

/// One thread of each core or both, each at its DOP, where the study compares the two.
pub(crate) fn threads(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<Choice> {
    let study = setting.study;
    let pairs: Vec<Candidates> = choices::threads_of_queries(study);
    if pairs.is_empty() {
        return Vec::new();
    }
    let table = Table::new(setting, observed, runs);
    let speed = |top: usize, below: &[usize]| Whole::Speed.d(&table, top, below, &BTreeSet::new());
    let over = |one: usize, other: usize| table.over(one, other, speed);
    pairs.into_iter().filter_map(|pair| choices::made(setting, pair, over)).collect()
}

/// Which treatments of each group may be the fastest.
fn fastest(table: &Table<'_>) -> Vec<Fastest> {
    let of_group = |group: &str| {
        let of_group = |at: &usize| {
            let treatment = &table.study.treatments[*at];
            treatment.group == group && treatment.role != Role::BaselineTwin
        };
        let candidates: Vec<usize> = (0..table.study.treatments.len()).filter(of_group).collect();
        let speed = |top: usize, below: &[usize]| Whole::Speed.d(table, top, below, &BTreeSet::new());
        let over = |one: usize, other: usize| table.over(candidates[one], candidates[other], speed);
        let name = |at: usize| table.study.treatments[candidates[at]].name.clone();
        Fastest::of(group, candidates.len(), name, over, table.alpha)
    };
    table.study.groups().into_iter().filter_map(of_group).collect()
}

/// One query's own figures over blocks and, in each, over sides; `None` where it was not executed.
fn own_numbers(table: &Table<'_>, blocks: &[Vec<&Cell<'_>>], query: u8) -> Option<QueryEstimates> {
    let logs = |quantity: Quantity| -> Vec<f64> {
        over_sides(blocks, |cell| cell.mean_log(query, quantity)).collect()
    };
    let all: Vec<&QueryExecution> = blocks.iter().flat_map(|cells| executions(cells, query)).collect();
    let planning_ms: Vec<f64> = blocks
        .iter()
        .filter_map(|cells| {
            mean(executions(cells, query).filter_map(|one| Some(one.planning_ns? as f64 / 1e6)))
        })
        .collect();
    let dops = || all.iter().filter_map(|execution| execution.dop);
    let names: BTreeSet<&String> = all.iter().flat_map(|execution| execution.counters.keys()).collect();
    let counter = |name: &String| {
        let values = all.iter().map(|execution| execution.counters.get(name).copied().unwrap_or(0));
        mean(values.map(|value| value as f64)).unwrap_or(0.0)
    };
    Some(QueryEstimates {
        elapsed_ms: geometric(&logs(Quantity::Elapsed), 1e-6, "ms", table.alpha)?,
        planning_ms: arithmetic(&planning_ms, "ms", table.alpha),
        cpu_ms: geometric(&logs(Quantity::Cpu), 1e-6, "ms", table.alpha),
        speed: None,
        cpu: None,
        dop_min: dops().min(),
        dop_max: dops().max(),
        plan: None,
        plans_seen: 0,
        plan_change: Change::Unknown,
        counters: names.into_iter().map(|name| (name.clone(), counter(name))).collect(),
    })
}

/// Executions of a query on all sides of a block.
fn executions<'t, 'a: 't>(
    cells: &'t [&'t Cell<'a>],
    query: u8,
) -> impl Iterator<Item = &'a QueryExecution> + 't {
    cells.iter().flat_map(move |cell| cell.executions(query)).map(|done| done.execution)
}

/// Of each block the mean over its sides; a block in which one has none is left out.
fn over_sides<'t, 'a: 't>(
    blocks: &'t [Vec<&'t Cell<'a>>],
    value: impl Fn(&Cell<'a>) -> Option<f64> + 't,
) -> impl Iterator<Item = f64> + 't {
    blocks.iter().filter_map(move |cells| {
        let each: Option<Vec<f64>> = cells.iter().map(|cell| value(cell)).collect();
        mean(each?.into_iter())
    })
}

/// Times and rates of all queries together, without ratios.
fn totals(blocks: &[Vec<&Cell<'_>>], alpha: f64) -> TotalEstimates {
    let logs = |part: fn(&Total) -> Option<f64>| -> Vec<f64> {
        over_sides(blocks, |cell| Some(part(&cell.total?)?.ln())).filter(|log| log.is_finite()).collect()
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
