//! Each treatment's own numbers, over blocks.

use super::digest::{Digest, Latency, RunValidity};
use super::observed::Observed;
use super::types::ROWS_PER_JOULE;
use crate::activity::sums::Sums;
use crate::activity::{Activity, activities};
use crate::setting::Setting;
use crate::{Interval, TreatmentSummary};
use std::collections::BTreeMap;
use threadwise_statistics::per;

/// How a metric is averaged over blocks.
#[derive(Clone, Copy, PartialEq)]
enum Mean {
    /// Geometric, with the interval on logarithms: rates and times, which vary by factors. Left out if a block has none
    /// or 0.
    Geometric,
    /// Arithmetic: shares and counts that may be 0. The interval ends at 0.
    Arithmetic,
}

/// One metric of a treatment: its value in one block.
struct Metric {
    name: &'static str,
    unit: &'static str,
    mean: Mean,
    of_block: fn(&Digest, f64) -> Option<f64>,
}

/// Every metric of a treatment. The second argument of a value is the number of sessions.
const METRICS: [Metric; 26] = [
    geometric("rows_per_s", "1/s", |run, _| run.work().rows_per_s()),
    geometric("rows_per_s_per_session", "1/s", |run, n| Some(run.work().rows_per_s()? / n)),
    geometric("logical_reads_per_s", "1/s", |run, _| {
        per(run.totals.logical_reads * 1e9, run.totals.window_ns)
    }),
    geometric("reads_per_row", "1", |run, _| per(run.totals.logical_reads, run.totals.rows)),
    geometric("cpu_ns_per_row", "ns", |run, _| run.work().cpu_ns_per_row()),
    geometric("latency_ns_p50", "ns", |run, _| percentiles(run).map(|(p50, _)| p50)),
    geometric("latency_ns_p99", "ns", |run, _| percentiles(run).map(|(_, p99)| p99)),
    geometric("latency_ns_p99_of_slices", "ns", |run, _| match run.latency {
        Latency::Known { p99_of_slices_ns, .. } => p99_of_slices_ns,
        Latency::TooFew | Latency::Unreadable(_) => None,
    }),
    arithmetic("latency_above_100us_share", "share", |run, _| above(run, 0)),
    arithmetic("latency_above_1ms_share", "share", |run, _| above(run, 1)),
    arithmetic("latency_above_10ms_share", "share", |run, _| above(run, 2)),
    arithmetic("latency_above_100ms_share", "share", |run, _| above(run, 3)),
    arithmetic("busy_share", "share", |run, _| run.totals.assigned.busy_share()),
    arithmetic("steal_share", "share", |run, _| run.totals.assigned.steal_share()),
    arithmetic("left_over_busy_share", "share", |run, _| run.totals.left_over.busy_share()),
    arithmetic("others_busy_share", "share", |run, _| run.totals.others.busy_share()),
    arithmetic("context_switches_per_s", "1/s", |run, _| {
        per(run.totals.switches * 1e9, run.totals.window_ns)
    }),
    arithmetic("run_queue_wait_share", "share", |run, _| per(run.totals.wait_ns?, run.totals.session_ns)),
    arithmetic("neighbour_share", "share", |run, _| run.telemetry.neighbour()),
    arithmetic("straggler_share", "share", |run, _| run.telemetry.straggler_share),
    geometric("clock_mhz", "MHz", |run, _| run.telemetry.clock_mhz),
    geometric("instructions_per_cycle", "1", |run, _| run.amounts.instructions_per_cycle),
    geometric("power_w", "W", |run, _| run.amounts.power_w),
    geometric(ROWS_PER_JOULE, "1/J", |run, _| per(run.work().rows_per_s()?, run.amounts.power_w?)),
    geometric("elapsed_ns", "ns", |run, _| per(run.totals.fixed.elapsed_ns, run.totals.fixed.windows)),
    arithmetic("idle_tail_share", "share", |run, _| {
        per(run.totals.fixed.idle_tail, run.totals.fixed.windows)
    }),
];

/// Metrics of studies of a CPU quota.
const UNDER_QUOTA: [Metric; 3] = [
    arithmetic("throttled_periods_per_s", "1/s", |run, _| run.telemetry.throttled_periods_per_s),
    arithmetic("throttled_share", "share", |run, _| run.telemetry.throttled_share),
    geometric("latency_ns_max", "ns", |run, _| match run.latency {
        Latency::Known { max_ns, .. } => Some(max_ns as f64),
        Latency::TooFew | Latency::Unreadable(_) => None,
    }),
];

const fn geometric(
    name: &'static str,
    unit: &'static str,
    of_block: fn(&Digest, f64) -> Option<f64>,
) -> Metric {
    Metric { name, unit, mean: Mean::Geometric, of_block }
}

const fn arithmetic(
    name: &'static str,
    unit: &'static str,
    of_block: fn(&Digest, f64) -> Option<f64>,
) -> Metric {
    Metric { name, unit, mean: Mean::Arithmetic, of_block }
}

/// Summaries in study order, with intervals at level 1 − `alpha`.
pub fn summaries(setting: &Setting<'_>, observed: &Observed) -> Vec<TreatmentSummary> {
    let sums = |at: usize| -> Vec<Option<&Sums>> {
        let blocks = observed.blocks.iter();
        blocks.map(|block| Some(&observed.usable(block, at)?.activity)).collect()
    };
    let treatments = &setting.study.treatments;
    let all: Vec<Vec<Option<&Sums>>> = (0..treatments.len()).map(sums).collect();
    let each = own_numbers(setting, observed).into_iter().zip(activities(setting, &all));
    each.map(|(summary, activity)| TreatmentSummary { activity, ..summary }).collect()
}

fn own_numbers(setting: &Setting<'_>, observed: &Observed) -> Vec<TreatmentSummary> {
    setting
        .study
        .treatments
        .iter()
        .enumerate()
        .map(|(at, treatment)| {
            let (mut failed, mut excluded) = (0, 0);
            let mut used: Vec<&Digest> = Vec::new();
            for block in &observed.blocks {
                match (observed.usable(block, at), &block.runs[at]) {
                    (Some(run), _) => used.push(run),
                    (None, Some(Digest { state: RunValidity::Failed(_), .. })) => failed += 1,
                    (None, Some(_)) => excluded += 1,
                    (None, None) => {}
                }
            }
            TreatmentSummary {
                name: treatment.name.clone(),
                group: treatment.group.clone(),
                placement: treatment.placement.to_string(),
                sessions: treatment.sessions,
                runs: used.len() as u32,
                failed,
                excluded,
                metrics: metrics(setting, &used, f64::from(treatment.sessions)),
                activity: Activity::default(),
            }
        })
        .collect()
}

fn metrics(setting: &Setting<'_>, used: &[&Digest], sessions: f64) -> BTreeMap<String, Interval> {
    let under_quota = if setting.study.quota.is_some() { &UNDER_QUOTA[..] } else { &[] };
    METRICS
        .iter()
        .chain(under_quota)
        .filter_map(|metric| {
            let values: Option<Vec<f64>> = used.iter().map(|run| (metric.of_block)(run, sessions)).collect();
            Some((metric.name.to_owned(), interval(metric, &values?, setting.alpha)?))
        })
        .collect()
}

fn interval(metric: &Metric, values: &[f64], alpha: f64) -> Option<Interval> {
    if metric.mean == Mean::Geometric {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        return threadwise_statistics::geometric(&logs, 1.0, metric.unit, alpha);
    }
    let mut interval = threadwise_statistics::arithmetic(values, metric.unit, alpha)?;
    // No share is above 1, even if Student's t says so; one without an end stays without.
    if metric.unit == "share" && interval.high.is_finite() {
        interval.high = interval.high.min(1.0);
    }
    Some(interval)
}

/// Share of the steps above one of the bounds.
fn above(run: &Digest, bound: usize) -> Option<f64> {
    match run.latency {
        Latency::Known { above, .. } => above.get(bound).copied(),
        Latency::TooFew | Latency::Unreadable(_) => None,
    }
}

fn percentiles(run: &Digest) -> Option<(f64, f64)> {
    match run.latency {
        Latency::Known { p50_ns, p99_ns, .. } => Some((p50_ns as f64, p99_ns as f64)),
        Latency::TooFew | Latency::Unreadable(_) => None,
    }
}
