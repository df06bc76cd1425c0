//! Samples of a pair to figures.
//!
//! What a pair is classified by is the median over calls of each call's minimum: a minimum shuts out
//! interruptions, which only add time, and the median shuts out a minority of calls in which the
//! hypervisor had moved the two.

use threadwise_study::probe::LatencyFigures;

/// Fewer samples than this are no answer.
const LEAST_SAMPLES: usize = 5;
/// A pair moved when the outer tenths of its calls' minima are this ratio apart.
const MOVED_RATIO: f64 = 1.5;
/// Calls that are needed to say so.
const LEAST_CALLS: usize = 4;

/// Samples of one method that are being gathered.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    samples: Vec<f64>,
    minima: Vec<f64>,
}

impl Series {
    /// Adds the samples of one call in nanoseconds.
    pub(super) fn add(&mut self, samples: &[f64]) {
        let usable = samples.iter().copied().filter(|ns| ns.is_finite() && *ns > 0.0);
        let before = self.samples.len();
        self.samples.extend(usable);
        self.minima.extend(self.samples[before..].iter().copied().reduce(f64::min));
    }

    /// Whether any call gave an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    fn finish(mut self) -> Option<Finished> {
        if self.samples.len() < LEAST_SAMPLES {
            return None;
        }
        self.samples.sort_by(f64::total_cmp);
        self.minima.sort_by(f64::total_cmp);
        let calls = &self.minima;
        Some(Finished {
            figures: LatencyFigures {
                min_ns: self.samples[0],
                median_ns: quantile(&self.samples, 0.5),
                spread_ns: (quantile(&self.samples, 0.75) - quantile(&self.samples, 0.25)) / 2.0,
                samples: self.samples.len() as u32,
            },
            typical_ns: quantile(calls, 0.5),
            moved: calls.len() >= LEAST_CALLS && quantile(calls, 0.9) >= MOVED_RATIO * quantile(calls, 0.1),
        })
    }
}

/// A method's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Finished {
    figures: LatencyFigures,
    typical_ns: f64,
    moved: bool,
}

/// Both methods' samples of one pair.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub(super) cas: Series,
    pub(super) two_lines: Series,
}

impl Gathered {
    /// Figures, where both methods gave an answer.
    pub(super) fn finish(self) -> Option<Measured> {
        let (cas, two_lines) = (self.cas.finish()?, self.two_lines.finish()?);
        Some(Measured {
            cas: cas.figures,
            two_lines: two_lines.figures,
            typical_ns: cas.typical_ns.min(two_lines.typical_ns),
            moved: cas.moved && two_lines.moved,
        })
    }
}

/// A pair that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) cas: LatencyFigures,
    pub(super) two_lines: LatencyFigures,
    /// What it is classified by.
    pub(super) typical_ns: f64,
    /// Whether its calls disagree.
    pub(super) moved: bool,
}

impl Measured {
    /// The smaller minimum of the two methods.
    pub(super) fn min_ns(&self) -> f64 {
        self.cas.min_ns.min(self.two_lines.min_ns)
    }
}

/// Quantile of sorted values, interpolated (type 7 of Hyndman and Fan 1996).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_medians_and_spread_of_known_samples() {
        let mut series = Series::default();
        series.add(&[5.0, 1.0, 4.0]);
        series.add(&[2.0, 3.0, f64::NAN, 0.0, -1.0]);
        let done = series.finish().unwrap();
        assert_eq!(done.figures, LatencyFigures { min_ns: 1.0, median_ns: 3.0, spread_ns: 1.0, samples: 5 });
        assert_eq!(done.typical_ns, 1.5);
    }

    #[test]
    fn too_few_samples_are_no_answer() {
        let mut gathered = Gathered::default();
        gathered.cas.add(&[5.0; 10]);
        gathered.two_lines.add(&[5.0; 4]);
        assert_eq!(gathered.finish(), None);
        assert!(Series::default().is_empty());
    }

    #[test]
    fn calls_that_disagree_have_moved_and_the_majority_counts() {
        let mut gathered = Gathered::default();
        for call in 0..9 {
            let ns = if call % 3 == 0 { 8.0 } else { 50.0 };
            gathered.cas.add(&[ns; 5]);
            gathered.two_lines.add(&[ns * 1.1; 5]);
        }
        let done = gathered.finish().unwrap();
        assert!(done.moved);
        assert_eq!((done.typical_ns, done.min_ns()), (50.0, 8.0));
    }
}
