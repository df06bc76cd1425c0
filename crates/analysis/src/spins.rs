//! Possible cost of counted spins, and samples of a running server: the arithmetic of published spinlock measurements,
//! with a clock in cycles per second.
//!
//! Seconds × cores × clock / spins is an upper bound of the cycles of a spin, as if all time had been spent spinning.
//! Conversely, a spin of known length has a share of the time. A spin takes at least a few cycles; with a PAUSE about
//! 10 cycles on Intel processors before Skylake and about 140 since (Intel 64 and IA-32 Architectures Optimization
//! Reference Manual, "Pause Latency in Skylake Client Microarchitecture").

use crate::Interval;
use crate::activity::cycles_per_spin_bound;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_statistics::{MeanEstimate, correlation};

/// Cycles of a spin with a PAUSE, on older Intel processors and since Skylake.
const PAUSE_CYCLES: [f64; 2] = [10.0, 140.0];

/// Counts of a server.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Counted {
    /// Spins.
    pub spins: f64,
    /// Backoffs, if counted.
    pub backoffs: Option<f64>,
    /// Seconds of the counts.
    pub seconds: f64,
    /// Cycles per second, in 10^9.
    pub ghz: f64,
    /// Cores that were busy.
    pub cores: f64,
    /// Sampled share of the CPU time spent spinning, if known.
    pub spinning_share: Option<f64>,
}

/// Figures that follow from the counts.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Cost {
    /// Cycles of all cores in the time.
    pub cycles: f64,
    /// Cycles of a spin, at most.
    pub cycles_per_spin_bound: f64,
    /// Cycles of a spin by the sampled share.
    pub cycles_per_spin: Option<f64>,
    /// Spins per backoff.
    pub spins_per_backoff: Option<f64>,
    /// Share of the time that spins with a PAUSE of 10 cycles take; above 1 if spins must be shorter.
    pub share_at_10_cycles: f64,
    /// Share with a PAUSE of 140 cycles.
    pub share_at_140_cycles: f64,
}

/// The part of a lost rate that spins explain at most: with a rate of `rate` times the baseline's and a share
/// `spinning` of the sessions' time spent spinning, the rate without spins would be at most `rate / (1 - spinning)`. It
/// grows with both, so that upper ends of intervals give an upper end. `None` if nothing is lost, or a figure is not a
/// share.
pub fn explained_at_most(rate: f64, spinning: f64) -> Option<f64> {
    let is_known = (0.0..1.0).contains(&rate) && (0.0..1.0).contains(&spinning);
    is_known.then(|| rate * spinning / ((1.0 - spinning) * (1.0 - rate)))
}

/// Part of the loss below which spins do not explain it.
pub const EXPLAINED_SHARE: f64 = 0.1;

impl Counted {
    /// The figures; every number has to be positive. `None` if the numbers are too large or too small.
    pub fn cost(&self) -> Option<Cost> {
        let bound = cycles_per_spin_bound(self.seconds, self.cores, self.ghz * 1e9, self.spins)?;
        let is_number = |value: &f64| value.is_finite() && *value > 0.0;
        Some(bound).filter(is_number).map(|bound| Cost {
            cycles: self.seconds * self.cores * self.ghz * 1e9,
            cycles_per_spin_bound: bound,
            cycles_per_spin: self.spinning_share.map(|share| share * bound),
            spins_per_backoff: self.backoffs.map(|backoffs| self.spins / backoffs),
            share_at_10_cycles: PAUSE_CYCLES[0] / bound,
            share_at_140_cycles: PAUSE_CYCLES[1] / bound,
        })
    }
}

/// Functions, one per line: kind, name, source.
const FUNCTIONS: &str = include_str!("spins/functions.txt");
/// Intervals are at 95%.
const ALPHA: f64 = 0.05;
/// Fewest samples in a second that counts.
const FEWEST_SAMPLES: u64 = 10;

/// What threads do in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// They spin.
    Spin,
    /// They take or wait for a lock.
    Wait,
    /// Anything else.
    Other,
}

impl Kind {
    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Wait => "lock",
            Self::Other => "other",
        }
    }
}

/// Samples by second and kind, and by function of the first two kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// Of each kind, in the order of [`Kind`].
    pub by_second: BTreeMap<u64, [u64; 3]>,
    /// Of the functions that spin or lock.
    pub by_function: BTreeMap<(Kind, String), u64>,
    /// Samples whose function has no name.
    pub unnamed: u64,
}

impl Samples {
    /// All samples.
    pub fn total(&self) -> u64 {
        self.by_second.values().flatten().sum()
    }

    /// Share of a kind, over seconds with enough samples; `None` without such. Neighbouring seconds of a server are
    /// correlated, which widens the interval if there are enough of them to estimate it (`statistics::correlation`).
    pub fn share(&self, kind: Kind) -> Option<Interval> {
        let share = |counts: &[u64; 3]| {
            let all: u64 = counts.iter().sum();
            (all >= FEWEST_SAMPLES).then(|| counts[kind as usize] as f64 / all as f64)
        };
        let shares: Vec<f64> = self.by_second.values().filter_map(share).collect();
        let mean = MeanEstimate::correlated(&shares, correlation::common(&[&shares]))?;
        let (low, mut high) = mean.interval(ALPHA);
        if mean.mean == 0.0 {
            // None of n samples: 3/n at 95% (Hanley and Lippman-Hand, J. American Medical Association 249, 1983).
            high = 3.0 / self.total() as f64;
        }
        Some(Interval { mean: mean.mean, low: low.max(0.0), high: high.min(1.0), unit: "share".to_owned() })
    }
}

/// Lines of `perf script -F time,ip,sym`: seconds with a colon, address, function.
pub fn read(text: &str) -> Samples {
    let mut samples = Samples::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(time), Some(_)) = (words.next(), words.next()) else { continue };
        let Some(second) = time.split_once('.').and_then(|(second, _)| second.parse::<u64>().ok()) else {
            continue;
        };
        let function = words.collect::<Vec<_>>().join(" ");
        let kind = kind(&function);
        samples.by_second.entry(second).or_default()[kind as usize] += 1;
        match kind {
            Kind::Other if function == "[unknown]" || function.is_empty() => samples.unnamed += 1,
            Kind::Other => {}
            _ => *samples.by_function.entry((kind, function)).or_default() += 1,
        }
    }
    samples
}

fn kind(function: &str) -> Kind {
    let lines = FUNCTIONS.lines().filter(|line| !line.starts_with('#'));
    let known = lines.filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?))
    });
    for (kind, pattern) in known {
        if is_match(pattern, function) {
            return if kind == "spin" { Kind::Spin } else { Kind::Wait };
        }
    }
    Kind::Other
}

/// Whether a name matches a pattern, in which `*` is any text.
fn is_match(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut is_open = false;
    for part in parts {
        is_open = part.is_empty();
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    is_open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(spins: f64, seconds: f64) -> Counted {
        Counted { spins, backoffs: None, seconds, ghz: 2.4, cores: 5.0, spinning_share: None }
    }

    /// The published figures of sessions on 10 siblings of 5 cores, near and far from the log writer: an arithmetic with
    /// a tenth of the clock gives 111 and 3.
    #[test]
    fn published_counts_give_cycles_by_the_whole_clock() {
        let near = counted(113_246_628.0, 10.434).cost().unwrap();
        let far = counted(6_692_284_057.0, 18.388).cost().unwrap();
        assert_eq!(near.cycles_per_spin_bound.round(), 1106.0);
        assert_eq!(far.cycles_per_spin_bound.round(), 33.0);
        assert!(far.share_at_140_cycles > 1.0 && (far.share_at_10_cycles - 0.303).abs() < 0.001, "{far:?}");
    }

    #[test]
    fn a_sampled_share_and_backoffs_are_taken_in() {
        let one =
            Counted { spinning_share: Some(0.0026), backoffs: Some(1e6), ..counted(6_692_284_057.0, 18.388) };
        let cost = one.cost().unwrap();
        assert!((cost.cycles_per_spin.unwrap() - 0.0857).abs() < 0.001, "{cost:?}");
        assert!((cost.spins_per_backoff.unwrap() - 6692.0).abs() < 1.0);
        assert_eq!(counted(f64::MIN_POSITIVE, f64::MAX).cost(), None);
    }

    #[test]
    fn functions_are_of_a_kind_each() {
        for (function, wanted) in [
            ("s_lock", Kind::Spin),
            ("native_queued_spin_lock_slowpath", Kind::Spin),
            ("_raw_spin_lock_irqsave", Kind::Spin),
            ("ssux_lock_impl<true>::rd_wait", Kind::Spin),
            ("Spinlock<1,8,1>::SpinToAcquireWithExponentialBackoff", Kind::Spin),
            ("LWLockAcquire", Kind::Wait),
            ("__GI___pthread_mutex_lock", Kind::Wait),
            ("s_lock_stuck", Kind::Other),
            ("heap_insert", Kind::Other),
            ("[unknown]", Kind::Other),
        ] {
            assert_eq!(kind(function), wanted, "{function}");
        }
        let lines = FUNCTIONS.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().count() > 20);
        for line in lines {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            assert!(words.len() == 3 && ["spin", "wait"].contains(&words[0]), "{line}");
        }
    }

    #[test]
    fn seconds_that_are_like_their_neighbours_widen_the_interval() {
        let shares = |spinning: &dyn Fn(u64) -> bool| {
            let counts = |second: u64| (second, if spinning(second) { [20, 0, 80] } else { [0, 0, 100] });
            let samples = Samples { by_second: (0..40).map(counts).collect(), ..Samples::default() };
            let share = samples.share(Kind::Spin).unwrap();
            assert!((share.mean - 0.1).abs() < 1e-12, "{share:?}");
            share.high - share.low
        };
        let (apart, in_runs) = (shares(&|second| second % 2 == 0), shares(&|second| second / 10 % 2 == 0));
        assert!(in_runs > 2.0 * apart, "{in_runs} {apart}");
    }

    #[test]
    fn samples_are_counted_by_second_and_function() {
        let mut text = String::new();
        for second in 100..104 {
            for number in 0..20 {
                let function = match number {
                    0 => "s_lock",
                    1 | 2 => "LWLockAcquire",
                    3 => "[unknown]",
                    _ => "heap insert",
                };
                text.push_str(&format!(" {second}.{number:06}:  55d2c0a1 {function}\n"));
            }
        }
        text.push_str("no sample\n 104.000001: 1 s_lock\n");
        let samples = read(&text);
        assert_eq!((samples.total(), samples.unnamed), (81, 4));
        let spin = samples.share(Kind::Spin).unwrap();
        // The last second has too few.
        assert!((spin.mean - 0.05).abs() < 1e-12 && spin.high - spin.low < 1e-9, "{spin:?}");
        assert_eq!(samples.by_function[&(Kind::Wait, "LWLockAcquire".to_owned())], 8);
        assert_eq!(read("").share(Kind::Spin), None);
        let none =
            Samples { by_second: (0..3).map(|second| (second, [0, 0, 100])).collect(), ..Samples::default() };
        assert_eq!(none.share(Kind::Spin).map(|share| (share.low, share.high)), Some((0.0, 0.01)));
    }
}
