//! Ratios of treatments: d per block, t interval over blocks, noise floor.
//!
//! Sources: Georges et al. 2007 and Kalibera, Jones 2013 (ratios over the highest level of
//! repetition), docs/METHODOLOGY.md (rounds, floor).

use super::digest::{Digest, Latency};
use super::member::{Member, Series, Source, estimates_of, floor_of, sides};
use super::observed::Observed;
use super::types::THROUGHPUT;
use crate::statistics::MeanEstimate;
use crate::{Direction, Estimate, NoiseFloor};
use threadwise_study::{Role, Study};

/// What is compared. Throughput is first: its comparisons are the study's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    RowsPerS,
    RowsPerSPerSession,
    CpuNsPerRow,
    LatencyP50,
    LatencyP99,
}

const METRICS: [Metric; 5] = [
    Metric::RowsPerS,
    Metric::RowsPerSPerSession,
    Metric::CpuNsPerRow,
    Metric::LatencyP50,
    Metric::LatencyP99,
];

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Self::RowsPerS => THROUGHPUT,
            Self::RowsPerSPerSession => "rows_per_s_per_session",
            Self::CpuNsPerRow => "cpu_ns_per_row",
            Self::LatencyP50 => "latency_ns_p50",
            Self::LatencyP99 => "latency_ns_p99",
        }
    }

    fn direction(self) -> Direction {
        match self {
            Self::RowsPerS | Self::RowsPerSPerSession => Direction::HigherIsBetter,
            Self::CpuNsPerRow | Self::LatencyP50 | Self::LatencyP99 => Direction::LowerIsBetter,
        }
    }

    fn source(self) -> Source {
        match self {
            Self::LatencyP50 | Self::LatencyP99 => Source::Percentiles,
            _ => Source::Rounds,
        }
    }
}

/// d of one block: the mean, over the rounds in which all sides have a value, of the treatment's
/// logarithm less the mean of the baselines' logarithms. Values are by round, NaN for none.
///
/// Degenerate cases: no baseline, or no round in common, gives `None`.
pub fn block_difference(treatment: &[f64], baselines: &[&[f64]]) -> Option<f64> {
    let rounds = baselines.iter().map(|side| side.len()).min()?.min(treatment.len());
    let (mut count, mut sum) = (0u32, 0.0);
    for (round, top) in treatment[..rounds].iter().enumerate() {
        let below = baselines.iter().map(|side| side[round]).sum::<f64>() / baselines.len() as f64;
        let difference = top - below;
        if difference.is_finite() {
            count += 1;
            sum += difference;
        }
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// A′/A of each group (first index) and metric (second): the mean of ln over blocks.
pub struct Floors(Vec<[Option<MeanEstimate>; METRICS.len()]>);

impl Floors {
    /// max(|low|, |high|) of the A/A interval in logarithms; infinite without A/A.
    fn floor(&self, group: usize, metric: Metric, alpha: f64) -> f64 {
        floor_of(self.0[group][metric as usize], alpha)
    }
}

/// Measures A′/A.
pub fn floors(study: &Study, observed: &Observed) -> Floors {
    let of_group = |group: usize| {
        let with_role = |role: Role| {
            let found = study.treatments.iter().enumerate();
            found
                .filter(|(at, _)| observed.group_of[*at] == group)
                .find(|(_, t)| t.role == role)
                .map(|(at, _)| at)
        };
        let (base, twin) = (with_role(Role::Baseline), with_role(Role::BaselineTwin));
        METRICS.map(|metric| {
            let series = series(study, observed, metric, twin?, &[base?])?;
            MeanEstimate::of(&series.d)
        })
    };
    Floors((0..observed.groups.len()).map(of_group).collect())
}

/// The floors of throughput as the report shows them, one per group that has A/A.
pub fn noise_floors(study: &Study, floors: &Floors, alpha: f64) -> Vec<NoiseFloor> {
    let groups = study.groups();
    let found = groups.iter().zip(&floors.0).enumerate();
    found
        .filter_map(|(group, (name, estimates))| {
            let (low, high) = estimates[Metric::RowsPerS as usize]?.interval(alpha);
            Some(NoiseFloor {
                group: (*name).to_owned(),
                metric: Metric::RowsPerS.name().to_owned(),
                low: low.exp(),
                high: high.exp(),
                floor: floors.floor(group, Metric::RowsPerS, alpha),
            })
        })
        .collect()
}

/// All estimates: throughput first, each metric in the order of the study's comparisons.
pub fn estimates(
    study: &Study,
    observed: &Observed,
    floors: &Floors,
    flagged: &[u32],
    alpha: f64,
) -> Vec<Estimate> {
    let mut all = Vec::new();
    for metric in METRICS {
        let mut members: Vec<Member<'_>> = Vec::new();
        for comparison in &study.comparisons {
            let Some((top, below)) = sides(study, comparison) else { continue };
            let Some(series) = series(study, observed, metric, top, &below) else { continue };
            let floor = floors.floor(observed.group_of[top], metric, alpha);
            let what = (metric.name(), metric.direction(), metric.source());
            members.extend(Member::new(comparison, what, series, floor, (flagged, alpha)));
        }
        all.extend(estimates_of(study, &members, alpha));
    }
    all
}

/// d of every block in which all sides are usable; `None` where no block has one, or where any of
/// those blocks has too few steps for a percentile (dropping only those would favour fast blocks).
fn series(study: &Study, observed: &Observed, metric: Metric, top: usize, below: &[usize]) -> Option<Series> {
    let mut series = Series::default();
    for block in &observed.blocks {
        let Some(treatment) = observed.usable(block, top) else { continue };
        let baselines: Option<Vec<&Digest>> = below.iter().map(|at| observed.usable(block, *at)).collect();
        let Some(baselines) = baselines else { continue };
        match difference(metric, treatment, &baselines) {
            Some(d) => series.push(block.number, d + per_session(study, metric, top, below)),
            None if matches!(metric, Metric::LatencyP50 | Metric::LatencyP99) => return None,
            None => continue,
        }
        series.empty_rounds +=
            treatment.empty_rounds + baselines.iter().map(|run| run.empty_rounds).sum::<u32>();
    }
    (!series.d.is_empty()).then_some(series)
}

fn difference(metric: Metric, treatment: &Digest, baselines: &[&Digest]) -> Option<f64> {
    let by_round = |side: fn(&Digest) -> &[f64]| {
        let below: Vec<&[f64]> = baselines.iter().map(|run| side(run)).collect();
        block_difference(side(treatment), &below)
    };
    match metric {
        Metric::RowsPerS | Metric::RowsPerSPerSession => by_round(|run| &run.log_rate),
        Metric::CpuNsPerRow => by_round(|run| &run.log_cpu_per_row),
        Metric::LatencyP50 | Metric::LatencyP99 => {
            let below: Option<Vec<f64>> = baselines.iter().map(|run| log_percentile(run, metric)).collect();
            let below = below?;
            Some(log_percentile(treatment, metric)? - below.iter().sum::<f64>() / below.len() as f64)
        }
    }
}

fn log_percentile(run: &Digest, metric: Metric) -> Option<f64> {
    match run.latency {
        Latency::Known { p50_ns, .. } if metric == Metric::LatencyP50 => Some((p50_ns as f64).ln()),
        Latency::Known { p99_ns, .. } => Some((p99_ns as f64).ln()),
        Latency::TooFew | Latency::Unreadable(_) => None,
    }
}

/// What turns a ratio of totals into a ratio per session: a constant of the two treatments.
fn per_session(study: &Study, metric: Metric, top: usize, below: &[usize]) -> f64 {
    if metric != Metric::RowsPerSPerSession {
        return 0.0;
    }
    let log = |at: &usize| f64::from(study.treatments[*at].sessions.max(1)).ln();
    below.iter().map(log).sum::<f64>() / below.len() as f64 - log(&top)
}
