//! Whether the two methods agree: the same clusters, and similar minima.

use super::levels::{Edge, Hierarchy, cpu_groups};
use super::{Request, declared::Declared};
use threadwise_machine::CpuSet;
use threadwise_study::probe::{LatencyFigures, PairLatency, ProbeForm};

/// Interleaved minima of the two methods should not differ by more, either way.
pub const MOST_RATIO: f64 = 1.25;

/// Comparison of the two methods.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Both put the logical CPUs into the same groups at every level.
    pub same_clusters: bool,
    /// Minimum on two lines over minimum on one line: smallest of any pair.
    pub ratio_low: f64,
    /// Median over pairs.
    pub ratio_median: f64,
    /// Largest of any pair.
    pub ratio_high: f64,
    /// Number of compared pairs.
    pub pairs: usize,
}

impl Agreement {
    /// A line for the reader if the methods do not agree.
    pub fn doubt(&self) -> Option<String> {
        let near = (1.0 / MOST_RATIO..=MOST_RATIO).contains(&self.ratio_median);
        let ratio = format!(
            "minima on two lines over those on one line: median {:.2}, {:.2} to {:.2} over {} pairs",
            self.ratio_median, self.ratio_low, self.ratio_high, self.pairs
        );
        match (self.same_clusters, near) {
            (true, true) => None,
            (false, _) => Some(format!(
                "the two latency methods give different levels ({ratio}): the levels are in doubt; probe again on a quiet machine"
            )),
            (true, false) => Some(format!(
                "the two latency methods give the same levels but different times ({ratio}): compare times of one method only"
            )),
        }
    }
}

/// Compares the methods over pairs; `None` without pairs.
pub fn methods_agree(pairs: &[PairLatency]) -> Option<Agreement> {
    let mut ratios: Vec<f64> = pairs.iter().map(|pair| pair.two_lines.min_ns / pair.cas.min_ns).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (*ratios.first()?, *ratios.last()?);
    Some(Agreement {
        same_clusters: clusters(pairs, |pair| &pair.cas) == clusters(pairs, |pair| &pair.two_lines),
        ratio_low: low,
        ratio_median: ratios[ratios.len() / 2],
        ratio_high: high,
        pairs: ratios.len(),
    })
}

/// The groups of every level, by one method only and without a declaration.
fn clusters(pairs: &[PairLatency], figures: impl Fn(&PairLatency) -> &LatencyFigures) -> Vec<Vec<CpuSet>> {
    let cpus: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    let declared = Declared::new(&Request {
        cpus: &cpus,
        cores: &[],
        llcs: &[],
        packages: &[],
        form: ProbeForm::Full,
        seed: 0,
    });
    let position = |cpu: u32| declared.cpus.partition_point(|other| *other < cpu);
    let edges: Vec<Edge> = pairs
        .iter()
        .map(|pair| Edge { a: position(pair.a), b: position(pair.b), ns: figures(pair).min_ns })
        .collect();
    let found = Hierarchy::find(&declared, &edges);
    found.groups.iter().map(|groups| cpu_groups(&declared.cpus, groups)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: u32, b: u32, cas: f64, two: f64) -> PairLatency {
        let figures = |ns: f64| LatencyFigures { min_ns: ns, median_ns: ns, spread_ns: 0.0, samples: 9 };
        PairLatency { a, b, cas: figures(cas), two_lines: figures(two), level: None }
    }

    #[test]
    fn a_common_factor_is_agreement() {
        let pairs = [pair(0, 1, 8.0, 9.0), pair(0, 2, 50.0, 55.0), pair(1, 2, 51.0, 56.0)];
        let agreement = methods_agree(&pairs).unwrap();
        assert!(agreement.same_clusters);
        assert_eq!(agreement.ratio_low, 56.0 / 51.0);
        assert_eq!(agreement.ratio_median, 55.0 / 50.0);
        assert_eq!((agreement.ratio_high, agreement.pairs), (9.0 / 8.0, 3));
        assert_eq!(agreement.doubt(), None);
        assert_eq!(methods_agree(&[]), None);
    }

    #[test]
    fn other_clusters_and_other_times_are_reported() {
        let agreement =
            methods_agree(&[pair(0, 1, 8.0, 50.0), pair(0, 2, 50.0, 50.0), pair(1, 2, 50.0, 50.0)]).unwrap();
        assert!(!agreement.same_clusters);
        assert!(agreement.doubt().unwrap().contains("different levels"));
        let doubt = methods_agree(&[pair(0, 1, 50.0, 100.0)]).unwrap().doubt().unwrap();
        assert!(doubt.contains("different times") && doubt.contains("median 2.00"), "{doubt}");
    }
}
