//! The share of a running server's CPU samples that lie in functions that spin or wait for locks.
//!
//! Samples are lines of perf-script(1). Shares are taken second by second, and the interval is Student's t over seconds.

use crate::Interval;
use std::collections::BTreeMap;
use threadwise_statistics::{MeanEstimate, correlation};

/// Functions, a line each: kind, name, where it is.
const FUNCTIONS: &str = include_str!("functions.txt");
/// Intervals are at 95%.
const ALPHA: f64 = 0.05;
/// Fewest samples of a second that counts.
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
    /// All of them.
    pub fn total(&self) -> u64 {
        self.by_second.values().flatten().sum()
    }

    /// Share of a kind, over seconds with enough samples; `None` without such. Neighbouring seconds of a server are alike:
    /// their correlation widens the interval where there are enough of them to tell (`statistics::correlation`).
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

/// Whether a name fits a pattern, in which `*` stands for any text.
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
