//! Samples of a pair to figures.
//!
//! A pair is classified by the median over calls of each call's minimum: a minimum excludes
//! interruptions, which only add time, and the median excludes a minority of calls in which the
//! hypervisor had moved the two. Such calls are another state of the pair: its figures are of the state that
//! most calls saw, and the states are listed with their shares, since a minimum over both would be of neither.

use threadwise_study::probe::LatencyFigures;

/// Fewer samples than this give no result.
const LEAST_SAMPLES: usize = 5;
/// Calls' minima this ratio apart, with none between them, are of two states.
const MOVED_RATIO: f64 = 1.5;
/// Fewest calls for that.
const LEAST_CALLS: usize = 4;
/// Slower calls are a state from this share of them on: other work may explain fewer. Nothing makes a
/// line faster than it is, so a single faster call is a state.
const SLOWER_SHARE: f64 = 0.1;

/// Samples of one method, call by call.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    calls: Vec<Vec<f64>>,
}

impl Series {
    /// Adds the samples of one call in nanoseconds.
    pub(super) fn add(&mut self, samples: &[f64]) {
        let usable = samples.iter().copied().filter(|ns| ns.is_finite() && *ns > 0.0);
        let mut call: Vec<f64> = usable.collect();
        call.sort_by(f64::total_cmp);
        self.calls.extend((!call.is_empty()).then_some(call));
    }

    /// Whether any call gave a result.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn finish(mut self) -> Option<Finished> {
        if self.calls.iter().map(Vec::len).sum::<usize>() < LEAST_SAMPLES {
            return None;
        }
        self.calls.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let minima: Vec<f64> = self.calls.iter().map(|call| call[0]).collect();
        let by_state = by_state(&minima);
        let middle = (minima.len() - 1) / 2;
        let (mut first, mut usual) = (0, 0..minima.len());
        for part in &by_state {
            if (first..first + part.len()).contains(&middle) {
                usual = first..first + part.len();
            }
            first += part.len();
        }
        let mut samples: Vec<f64> = self.calls[usual].concat();
        samples.sort_by(f64::total_cmp);
        let state = |part: &&[f64]| PairState { ns: quantile(part, 0.5), calls: part.len() };
        Some(Finished {
            figures: LatencyFigures {
                min_ns: samples[0],
                median_ns: quantile(&samples, 0.5),
                spread_ns: (quantile(&samples, 0.75) - quantile(&samples, 0.25)) / 2.0,
                samples: samples.len() as u32,
            },
            typical_ns: quantile(&minima, 0.5),
            states: by_state.iter().map(state).collect(),
        })
    }
}

/// Ascending minima of calls by state: split where two are [`MOVED_RATIO`] apart, without a split that would leave
/// too few slower ones.
fn by_state(minima: &[f64]) -> Vec<&[f64]> {
    if minima.len() < LEAST_CALLS {
        return vec![minima];
    }
    let middle = (minima.len() - 1) / 2;
    let is_cut = |at: &usize| {
        let slower = (minima.len() - at) as f64 / minima.len() as f64;
        minima[*at] >= MOVED_RATIO * minima[at - 1] && (*at <= middle || slower >= SLOWER_SHARE)
    };
    let cuts = (1..minima.len()).filter(is_cut);
    let mut by_state = Vec::new();
    let mut first = 0;
    for cut in cuts.chain([minima.len()]) {
        by_state.push(&minima[first..cut]);
        first = cut;
    }
    by_state
}

/// A state in which some calls saw a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairState {
    /// Median of those calls' minima.
    pub(super) ns: f64,
    /// Number of calls.
    pub(super) calls: usize,
}

/// A method's figures.
#[derive(Debug, Clone, PartialEq)]
struct Finished {
    figures: LatencyFigures,
    typical_ns: f64,
    /// Fastest first; one if all calls agree.
    states: Vec<PairState>,
}

/// Both methods' samples of one pair.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub(super) cas: Series,
    pub(super) two_lines: Series,
}

impl Gathered {
    /// Figures, if both methods gave a result.
    pub(super) fn finish(self) -> Option<Measured> {
        let (cas, two_lines) = (self.cas.finish()?, self.two_lines.finish()?);
        let is_faster =
            |one: &Finished| one.states.first().is_some_and(|state| state.ns < one.typical_ns / MOVED_RATIO);
        let moved =
            is_faster(&cas) || is_faster(&two_lines) || (cas.states.len() > 1 && two_lines.states.len() > 1);
        let states = if cas.states.len() >= two_lines.states.len() { &cas.states } else { &two_lines.states };
        Some(Measured {
            cas: cas.figures,
            two_lines: two_lines.figures,
            typical_ns: cas.typical_ns.min(two_lines.typical_ns),
            states: if moved { states.clone() } else { Vec::new() },
        })
    }
}

/// A pair that was measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) cas: LatencyFigures,
    pub(super) two_lines: LatencyFigures,
    /// The value that classifies it.
    pub(super) typical_ns: f64,
    /// The states in which the calls of one method saw it, fastest first; empty if the calls agree.
    pub(super) states: Vec<PairState>,
}

impl Measured {
    /// The smaller minimum of the two methods.
    pub(super) fn min_ns(&self) -> f64 {
        self.cas.min_ns.min(self.two_lines.min_ns)
    }

    /// Whether its calls differ.
    pub(super) fn moved(&self) -> bool {
        !self.states.is_empty()
    }
}

/// Quantile of sorted values, interpolated (type 7 of Hyndman and Fan 1996).
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
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
        assert!(done.moved());
        assert_eq!((done.typical_ns, done.min_ns(), done.cas.samples), (50.0, 50.0, 30));
        assert_eq!(done.states, [PairState { ns: 8.0, calls: 3 }, PairState { ns: 50.0, calls: 6 }]);
    }

    #[test]
    fn a_rare_faster_state_is_named_and_is_not_the_figure() {
        let mut gathered = Gathered::default();
        for call in 0..40 {
            gathered.cas.add(&[if call == 7 { 8.0 } else { 61.0 + f64::from(call) / 10.0 }; 3]);
            gathered.two_lines.add(&[62.0; 3]);
        }
        let done = gathered.finish().unwrap();
        assert_eq!((done.cas.min_ns, done.states[0]), (61.0, PairState { ns: 8.0, calls: 1 }));
        assert_eq!(done.states.len(), 2);
    }

    #[test]
    fn a_few_slower_calls_are_other_work_and_no_state() {
        let mut gathered = Gathered::default();
        for call in 0..40 {
            let ns = if call < 3 { 300.0 } else { 60.0 };
            gathered.cas.add(&[ns; 3]);
            gathered.two_lines.add(&[ns; 3]);
        }
        let done = gathered.finish().unwrap();
        assert!(!done.moved() && done.cas.samples == 120, "{done:?}");
    }
}
