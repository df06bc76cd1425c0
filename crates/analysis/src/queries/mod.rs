//! Results of a study of queries, query by query: times, ratios, steps of parallelism, plans, use of the cores, and
//! outliers. Pure. A topic is a file: its observations, their estimate, its finding and its section.
//!
//! The unit is the block, as everywhere: a query's ratio in a block is that of its execution under a treatment to the
//! mean logarithm of its two under the baseline, and intervals are Student's t over blocks. Methods and sources:
//! docs/METHODOLOGY.md, "Queries".

pub(crate) mod cores;
mod executions;
pub(crate) mod heat;
pub(crate) mod outliers;
pub(crate) mod pairs;
pub(crate) mod plans;
mod query_study;
mod ratios;
pub(crate) mod short;
pub(crate) mod steps;
pub(crate) mod treatments;
mod types;
pub(crate) mod verdict;
mod words;

#[cfg(test)]
mod tests;

use crate::choices::{self, Candidates, Choice};
use crate::estimate::Observed;
use crate::setting::Setting;
use executions::Executions;
use ratios::Whole;
use std::collections::BTreeSet;
use threadwise_machine::Topology;
use threadwise_study::{OptionValue, Run, Study, Workload};

pub(crate) use cores::own_bounds;
pub(crate) use heat::choices;
pub use plans::plan_name;
pub(crate) use query_study::{PLAN_SIGN, QueryStudy, data_words};
pub(crate) use short::streams_alone;
pub use short::{Step, limit};
pub use types::*;
pub(crate) use words::{cut_short, short_reason};

/// Bytes of rows as text per scale factor (TPC-H specification, clause 4.1.3.1).
const BYTES_PER_SCALE: f64 = 1e9;

/// Results of a study of queries; `None` if the workload has none.
///
/// `runs` exclude sessions of short queries; `whole` includes them.
pub(crate) fn queries(
    setting: &Setting<'_>,
    observed: &Observed,
    runs: &[Run],
    whole: &[Run],
) -> Option<Queries> {
    if setting.study.workload != Workload::Tpch {
        return None;
    }
    let table = Executions::new(setting, observed, runs);
    let plans = plans::Plans::new(&table);
    let changes = plans.changes(&table);
    let different = changes.iter().filter(|change| change.change == Change::Different);
    let changed: BTreeSet<u8> = different.map(|change| change.query).collect();
    let treatments = treatments::treatments(&table, &plans, &changed);
    let baselines = treatments::baselines(&table, &plans);
    let (outliers, outliers_left_out) = outliers::outliers(&table, &plans, &treatments, &baselines);
    let (short, short_limits) = short::short_queries(&table, observed, whole);
    Some(Queries {
        short,
        short_limits,
        is_throughput: table.is_throughput,
        fastest: choices::fastest(setting.study, speed_over(&table), setting.alpha),
        steps: steps::steps(&table, &plans),
        comparisons: pairs::comparisons(&table, &plans),
        outliers,
        outliers_left_out,
        heat: heat::maps(&table),
        changes,
        data: data(setting.study, setting.topology),
        plans: plans.plans,
        numbers: table.numbers,
        treatments,
        baselines,
    })
}

/// d of the speed of one treatment over another.
fn speed_over(table: &Executions<'_>) -> impl Fn(usize, usize) -> Vec<f64> {
    |one, other| Whole::Speed.d(table, &table.pair(one, other))
}

/// One thread of each core or both, each at its DOP, if the study compares the two.
pub(crate) fn threads(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<Choice> {
    let study = setting.study;
    let pairs: Vec<Candidates> = choices::threads_of_queries(study);
    if pairs.is_empty() {
        return Vec::new();
    }
    let table = Executions::new(setting, observed, runs);
    pairs.into_iter().filter_map(|pair| choices::made(setting, pair, speed_over(&table))).collect()
}

/// The scale factors of a study, with memory and caches.
fn data(study: &Study, topology: Option<&Topology>) -> Vec<DataSize> {
    let scale = |value: Option<&OptionValue>| value.map_or(Some(1.0), OptionValue::number);
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
