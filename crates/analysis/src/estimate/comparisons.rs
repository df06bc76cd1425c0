//! Ratios of treatments: d per block, t interval over blocks, and what A/A showed.
//!
//! Sources: Georges et al. 2007 and Kalibera, Jones 2013 (ratios over the highest level of
//! repetition), docs/METHODOLOGY.md (rounds, A/A).

use super::digest::{Digest, Latency};
use super::member::{Family, Member, Series, Source, floor_of};
use super::observed::Observed;
use super::overload::is_overload;
use super::sides::Sides;
use super::types::{LATENCY_MEAN, THROUGHPUT};
use super::work::Work;
use crate::{Direction, Estimate, NoiseFloor};
use threadwise_statistics::{MeanEstimate, correlation};
use threadwise_study::{Comparison, Study};

/// The metrics compared. The first one's comparisons are the study's question: throughput, or at a rate, where that is
/// what arrives, mean latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    RowsPerS,
    RowsPerSPerSession,
    CpuNsPerRow,
    LatencyP50,
    LatencyP99,
    LatencyP99OfSlices,
    LatencyMean,
}

const METRICS: [Metric; 6] = [
    Metric::RowsPerS,
    Metric::RowsPerSPerSession,
    Metric::CpuNsPerRow,
    Metric::LatencyP50,
    Metric::LatencyP99,
    Metric::LatencyP99OfSlices,
];

/// Those of studies at a rate.
const AT_A_RATE: [Metric; 4] =
    [Metric::LatencyMean, Metric::CpuNsPerRow, Metric::LatencyP50, Metric::LatencyP99];

/// Metrics of both kinds of studies.
const ALL: usize = METRICS.len() + 1;

fn metrics(study: &Study) -> &'static [Metric] {
    if study.is_at_a_rate() { &AT_A_RATE } else { &METRICS }
}

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Self::RowsPerS => THROUGHPUT,
            Self::RowsPerSPerSession => "rows_per_s_per_session",
            Self::CpuNsPerRow => "cpu_ns_per_row",
            Self::LatencyP50 => "latency_ns_p50",
            Self::LatencyP99 => "latency_ns_p99",
            Self::LatencyP99OfSlices => "latency_ns_p99_of_slices",
            Self::LatencyMean => LATENCY_MEAN,
        }
    }

    fn direction(self) -> Direction {
        match self {
            Self::RowsPerS | Self::RowsPerSPerSession => Direction::HigherIsBetter,
            _ => Direction::LowerIsBetter,
        }
    }

    fn source(self) -> Source {
        match self {
            Self::LatencyP50 | Self::LatencyP99 | Self::LatencyP99OfSlices | Self::LatencyMean => {
                Source::Percentiles
            }
            _ => Source::Rounds,
        }
    }
}

/// d of one block: the logarithm of the treatment's total over the rounds that all sides have, less the mean of the
/// baselines' logarithms of theirs; `total` is made from the work of some rounds. Sums weight a slice by its work; one
/// without any work is valid too.
///
/// Degenerate cases: no baseline, no round in common, or a total without a logarithm gives `None`.
pub fn block_difference(
    treatment: &[Work],
    baselines: &[&[Work]],
    total: fn(&Work) -> Option<f64>,
) -> Option<f64> {
    let rounds = baselines.iter().map(|side| side.len()).min()?.min(treatment.len());
    let is_full =
        |round: &usize| treatment[*round].is_there() && baselines.iter().all(|side| side[*round].is_there());
    let common: Vec<usize> = (0..rounds).filter(is_full).collect();
    let log = |side: &[Work]| {
        let sum = common.iter().fold(Work::default(), |sum, round| sum.and(&side[*round]));
        total(&sum).map(f64::ln).filter(|log| log.is_finite())
    };
    let below: Option<Vec<f64>> = baselines.iter().map(|side| log(side)).collect();
    let below = below?;
    Some(log(treatment)? - below.iter().sum::<f64>() / below.len() as f64)
}

/// d of A′/A by block: for each group (first index) and metric (second).
pub struct Twins(Vec<[Option<Series>; ALL]>);

impl Twins {
    /// All groups' series of a metric.
    fn of(&self, metric: Metric) -> impl Iterator<Item = &Series> {
        self.0.iter().filter_map(move |metrics| metrics[metric as usize].as_ref())
    }
}

/// Measures A′/A.
pub fn twins(study: &Study, observed: &Observed) -> Twins {
    let of_group = |group: &String| {
        let sides = Sides::twins(study, group);
        let mut found: [Option<Series>; ALL] = Default::default();
        for metric in metrics(study) {
            found[*metric as usize] =
                sides.as_ref().and_then(|sides| series(study, observed, *metric, sides));
        }
        found
    };
    Twins(observed.groups.iter().map(of_group).collect())
}

/// All estimates: throughput first, each metric in the order of the study's comparisons; and the A/A result of
/// throughput, one per group that has A/A.
pub fn estimates(
    study: &Study,
    observed: &Observed,
    flagged: &[u32],
    alpha: f64,
) -> (Vec<Estimate>, Vec<NoiseFloor>) {
    let twins = twins(study, observed);
    let (mut all, mut floors) = (Vec::new(), Vec::new());
    for &metric in metrics(study) {
        let compared: Vec<(&Comparison, usize, Series)> = study
            .comparisons
            .iter()
            .filter_map(|comparison| {
                let sides = Sides::of(study, comparison)?;
                let series = series(study, observed, metric, &sides)?;
                Some((comparison, observed.group_of[sides.top], series))
            })
            .collect();
        let compared_series = compared.iter().map(|(.., series)| series);
        let every: Vec<&[f64]> =
            compared_series.chain(twins.of(metric)).map(|series| series.d.as_slice()).collect();
        let correlation = correlation::common(&every);
        let a_a = |group: usize| {
            let series = twins.0[group][metric as usize].as_ref()?;
            MeanEstimate::correlated(&series.d, correlation)
        };
        if metric == metrics(study)[0] {
            let groups = study.groups().into_iter().enumerate();
            let margin = study.design.margin;
            floors = groups
                .filter_map(|(group, name)| {
                    Some(NoiseFloor::new(name, metric.name(), &a_a(group)?, (margin, alpha)))
                })
                .map(|floor| match metric {
                    // Latencies of a queue vary by more than any margin; that alone is no alarm.
                    Metric::LatencyMean => floor.unless_wide(),
                    _ => floor,
                })
                .collect();
        }
        let members = compared.into_iter().map(|(comparison, group, series)| Member {
            comparison,
            metric: metric.name(),
            direction: metric.direction(),
            source: metric.source(),
            floor: floor_of(a_a(group), alpha),
            series,
            correlation,
        });
        let family = Family { study, flagged, alpha };
        all.extend(family.estimates(&members.collect::<Vec<_>>()));
    }
    (all, floors)
}

/// d of throughput of a comparison; `None` if no block has one.
pub fn throughput(study: &Study, observed: &Observed, comparison: &Comparison) -> Option<Series> {
    series(study, observed, Metric::RowsPerS, &Sides::of(study, comparison)?)
}

/// d of throughput of a treatment over others, by their indexes in the study; empty if no block has it.
pub fn throughput_over(study: &Study, observed: &Observed, top: usize, below: &[usize]) -> Vec<f64> {
    let sides = Sides { top, below: below.to_vec() };
    series(study, observed, Metric::RowsPerS, &sides).map(|series| series.d).unwrap_or_default()
}

/// d of every block in which all sides are usable; `None` if no block has one, or if any of those blocks has too few
/// steps for a percentile (dropping only those would favour fast blocks).
fn series(study: &Study, observed: &Observed, metric: Metric, sides: &Sides) -> Option<Series> {
    let is_latency = metric != Metric::CpuNsPerRow && study.is_at_a_rate();
    let mut all = std::iter::once(&sides.top).chain(&sides.below);
    // A queue that grows has no latency.
    if is_latency && all.any(|at| is_overload(observed, *at, 1.0 - study.design.level)) {
        return None;
    }
    let mut series = Series::default();
    for block in &observed.blocks {
        let Some(treatment) = observed.usable(block, sides.top) else { continue };
        let baselines: Option<Vec<&Digest>> =
            sides.below.iter().map(|at| observed.usable(block, *at)).collect();
        let Some(baselines) = baselines else { continue };
        match difference(metric, treatment, &baselines) {
            Some(d) => series.push(block.number, d + per_session(study, metric, sides)),
            None if metric.source() == Source::Percentiles => return None,
            None => continue,
        }
    }
    (!series.d.is_empty()).then_some(series)
}

fn difference(metric: Metric, treatment: &Digest, baselines: &[&Digest]) -> Option<f64> {
    let of_sums = |total: fn(&Work) -> Option<f64>| {
        let below: Vec<&[Work]> = baselines.iter().map(|run| run.rounds.as_slice()).collect();
        block_difference(&treatment.rounds, &below, total)
    };
    match metric {
        Metric::RowsPerS | Metric::RowsPerSPerSession => of_sums(Work::rows_per_s),
        Metric::CpuNsPerRow => of_sums(Work::cpu_ns_per_row),
        Metric::LatencyMean => {
            let below: Option<Vec<f64>> =
                baselines.iter().map(|run| run.mean_latency_ns.map(f64::ln)).collect();
            let below = below?;
            Some(treatment.mean_latency_ns?.ln() - below.iter().sum::<f64>() / below.len() as f64)
        }
        Metric::LatencyP50 | Metric::LatencyP99 | Metric::LatencyP99OfSlices => {
            let below: Option<Vec<f64>> = baselines.iter().map(|run| log_percentile(run, metric)).collect();
            let below = below?;
            Some(log_percentile(treatment, metric)? - below.iter().sum::<f64>() / below.len() as f64)
        }
    }
}

fn log_percentile(run: &Digest, metric: Metric) -> Option<f64> {
    match run.latency {
        Latency::Known { p50_ns, .. } if metric == Metric::LatencyP50 => Some((p50_ns as f64).ln()),
        Latency::Known { p99_of_slices_ns, .. } if metric == Metric::LatencyP99OfSlices => {
            p99_of_slices_ns.map(f64::ln)
        }
        Latency::Known { p99_ns, .. } => Some((p99_ns as f64).ln()),
        Latency::TooFew | Latency::Unreadable(_) => None,
    }
}

/// Factor from a ratio of totals to a ratio per session: a constant of the two treatments.
fn per_session(study: &Study, metric: Metric, Sides { top, below }: &Sides) -> f64 {
    if metric != Metric::RowsPerSPerSession {
        return 0.0;
    }
    let log = |at: &usize| f64::from(study.treatments[*at].sessions.max(1)).ln();
    below.iter().map(log).sum::<f64>() / below.len() as f64 - log(top)
}
