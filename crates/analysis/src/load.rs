//! Load at a rate: latencies from the moment at which requests were due, which rates are too high, and which of them
//! keep a bound.
//!
//! Quantiles are those of all requests of a treatment, with intervals over blocks (`statistics::clustered`). A rate is
//! too high if requests wait at the end of its windows: a queue that does not settle has no latency. Whether the 99th
//! percentile keeps a bound is the question whether 99% of the requests do (docs/METHODOLOGY.md, "Load at a rate").

use crate::Interval;
use crate::estimate::overload::{is_too_high, waiting};
use crate::estimate::requests::{due, merged, of_sessions, of_slices, steps};
use crate::estimate::{Observed, ObservedBlock};
use crate::setting::Setting;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_statistics::{Clusters, MergedLatency, arithmetic, geometric, per};
use threadwise_study::arrivals::{QUEUED_NS, UNSERVED, WOKEN_LATE_NS};
use threadwise_study::{Run, Treatment};

/// The percentile that a bound is for.
pub const BOUND_QUANTILE: f64 = 0.99;

/// Treatments of a study at their rates.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Load {
    /// In study order.
    pub points: Vec<LoadPoint>,
}

/// One treatment at its rate. Intervals are over blocks; an end that is not known is null.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct LoadPoint {
    /// Its name.
    pub treatment: String,
    /// Requests that arrive a second.
    pub rate_per_s: f64,
    /// Requests that were due in its windows.
    pub requests: u64,
    /// Geometric mean over blocks of the mean latency of the requests that were answered.
    pub latency_ns_mean: Option<Interval>,
    /// Median latency.
    pub latency_ns_p50: Option<Interval>,
    /// 99th percentile; `None` with fewer than 1,000 requests, or if more than 1% were given up.
    pub latency_ns_p99: Option<Interval>,
    /// 99.9th percentile; `None` with fewer than 10,000 requests.
    pub latency_ns_p999: Option<Interval>,
    /// Mean time that a request waited for a free session.
    pub queued_ns: Option<Interval>,
    /// Mean time by which the client woke up late for a request, which is part of the latencies.
    pub woken_late_ns: Option<Interval>,
    /// Share of a window's requests that had not begun at its end.
    pub waiting_share: Option<Interval>,
    /// Share of the requests that were given up.
    pub unserved_share: f64,
    /// Whether the rate is shown to be too high: more requests wait at the end of a window than a queue that settles
    /// would have.
    pub is_overload: bool,
    /// Its latencies.
    #[serde(skip)]
    #[schemars(skip)]
    pub clusters: Option<Clusters>,
}

/// Whether a treatment keeps a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// It is shown to.
    Shown,
    /// It is shown not to.
    ShownNot,
    /// The data do not decide it.
    Open,
}

impl LoadPoint {
    /// Whether 99% of its requests take no longer, at a level of 1 − `alpha` for both answers together.
    pub fn keeps(&self, bound_ns: f64, alpha: f64) -> Keeps {
        if self.is_overload {
            return Keeps::ShownNot;
        }
        let clusters = self.clusters.as_ref();
        match clusters.and_then(|one| one.share_above(bound_ns as u64, alpha)) {
            Some(share) if share.high <= 1.0 - BOUND_QUANTILE => Keeps::Shown,
            Some(share) if share.low > 1.0 - BOUND_QUANTILE => Keeps::ShownNot,
            _ => Keeps::Open,
        }
    }

    /// Its 99th percentile, as far as it is known.
    pub fn p99_ns(&self) -> Option<f64> {
        let exact = self.latency_ns_p99.as_ref().map(|p99| p99.mean);
        exact.or_else(|| self.clusters.as_ref()?.quantile_ns(BOUND_QUANTILE))
    }
}

/// The highest of some rates that keeps a bound. Both ends hold together at the level of the test: rates are tested in
/// their order, from below until one is not shown to keep it, from above until one is not shown to break it, so that no
/// adjustment is needed (fixed sequence: W. Maurer, L. A. Hothorn, W. Lehmacher, 1995).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HighestRate {
    /// Where the 99th percentile crosses the bound, on a straight line between the logarithms of two measured rates below
    /// the first that is too high, which has no latency; `None` if it crosses none.
    pub value: Option<f64>,
    /// The highest rate that is shown to keep the bound; `None` if none is.
    pub kept: Option<f64>,
    /// The lowest rate that is shown to break it; `None` if none is.
    pub broken: Option<f64>,
}

impl HighestRate {
    /// By which several are ordered.
    pub fn order(&self) -> f64 {
        self.value.or(self.kept).or(self.broken.map(|broken| broken / 2.0)).unwrap_or(0.0)
    }

    /// Of points in the order of their rates.
    pub fn of(points: &[&LoadPoint], bound_ns: f64, alpha: f64) -> Self {
        // Both sequences are one-sided.
        let is = |keeps: Keeps| move |point: &&&LoadPoint| point.keeps(bound_ns, alpha) == keeps;
        let kept = points.iter().take_while(is(Keeps::Shown)).last().map(|point| point.rate_per_s);
        let broken = points.iter().rev().take_while(is(Keeps::ShownNot)).last().map(|point| point.rate_per_s);
        Self { value: crossing(points, bound_ns), kept, broken }
    }
}

fn crossing(points: &[&LoadPoint], bound_ns: f64) -> Option<f64> {
    let settled: Vec<&&LoadPoint> = points.iter().take_while(|point| !point.is_overload).collect();
    settled.windows(2).find_map(|pair| {
        let [below, above] = [pair[0].p99_ns()?, pair[1].p99_ns()?].map(f64::ln);
        let (bound, rates) = (bound_ns.ln(), [pair[0].rate_per_s.ln(), pair[1].rate_per_s.ln()]);
        (below <= bound && above > bound)
            .then(|| (rates[0] + (rates[1] - rates[0]) * (bound - below) / (above - below)).exp())
    })
}

/// All treatments; `None` for a study that is not at a rate.
pub(crate) fn load(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Load> {
    let study = setting.study;
    if !study.is_at_a_rate() {
        return None;
    }
    let runs_of = |at: usize| -> Vec<&Run> {
        let of_block = |block: &ObservedBlock| {
            observed.usable(block, at)?;
            runs.get(block.sources[at]?)
        };
        observed.blocks.iter().filter_map(of_block).collect()
    };
    let mut latencies: Vec<Option<Clusters>> =
        (0..study.treatments.len()).map(|at| clusters(&runs_of(at))).collect();
    Clusters::correlate(&mut latencies.iter_mut().flatten().collect::<Vec<_>>(), BOUND_QUANTILE);
    let point = |(at, clusters): (usize, Option<Clusters>)| {
        let waiting = waiting(observed, at, setting.alpha);
        point(&study.treatments[at], clusters, &runs_of(at), waiting, setting.alpha)
    };
    Some(Load { points: latencies.into_iter().enumerate().filter_map(point).collect() })
}

/// Latencies of the runs of a treatment, one a block.
fn clusters(runs: &[&Run]) -> Option<Clusters> {
    let answered: Vec<MergedLatency> = runs.iter().map(|run| merged(run)).collect();
    let unserved = runs.iter().map(|run| of_slices(run, UNSERVED) as u64);
    Clusters::with_unanswered(&answered.iter().zip(unserved).collect::<Vec<_>>())
}

fn point(
    treatment: &Treatment,
    clusters: Option<Clusters>,
    runs: &[&Run],
    waiting_share: Option<Interval>,
    alpha: f64,
) -> Option<LoadPoint> {
    let quantile = |q: f64| clusters.as_ref()?.quantile(q, alpha);
    let mean = |unit: &str, value: fn(&Run) -> Option<f64>| {
        arithmetic(&runs.iter().filter_map(|run| value(run)).collect::<Vec<f64>>(), unit, alpha)
    };
    let logs: Vec<f64> =
        clusters.iter().flat_map(|one| one.means_ns().map(f64::ln).collect::<Vec<_>>()).collect();
    let total = |amount: fn(&Run) -> f64| runs.iter().map(|run| amount(run)).sum::<f64>();
    let unserved_share = per(total(|run| of_slices(run, UNSERVED)), total(due)).unwrap_or(0.0);
    Some(LoadPoint {
        treatment: treatment.name.clone(),
        rate_per_s: treatment.rate_per_s()?,
        requests: total(due) as u64,
        latency_ns_mean: geometric(&logs, 1.0, "ns", alpha),
        latency_ns_p50: quantile(0.5),
        latency_ns_p99: quantile(BOUND_QUANTILE),
        latency_ns_p999: quantile(0.999),
        queued_ns: mean("ns", |run| per(of_sessions(run, QUEUED_NS), steps(run))),
        woken_late_ns: mean("ns", |run| per(of_sessions(run, WOKEN_LATE_NS), steps(run))),
        is_overload: is_too_high(waiting_share.as_ref()),
        waiting_share,
        unserved_share,
        clusters,
    })
}

#[cfg(test)]
mod tests;
