//! Near and far: how long a cache line takes between different cores, by the levels of the machine.
//!
//! No fixed times separate one last-level cache from two: a line inside one cache of a large mesh takes longer than one
//! between two small ones of another machine. The levels are those of the study's own lines, separated by a valley of
//! their density (`threadwise_study::look::valleys`).

use super::shares::BlockShares;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::Interval;
use threadwise_study::look::valleys::{cuts, level_of};

/// One in this many lines may be odd at each end, since an interrupt may fall into every batch of a look.
const ODD: usize = 100;
/// Least share, and least number, of the lines in a level.
const LEVEL_SHARE: f64 = 0.02;
const LEVEL_LINES: usize = 5;
/// Displayed range of a level.
const SHOWN: [f64; 3] = [0.05, 0.5, 0.95];

/// A line between two logical CPUs on different cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Its block.
    pub(super) block: u32,
    /// One move, nanoseconds.
    pub(super) line_ns: f64,
    /// Which of the study's treatments both belong to in this look, if its slice followed.
    pub(super) treatment: Option<usize>,
}

/// A level of lines between different cores, nearest first.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Distance {
    /// 5th percentile of its lines, nanoseconds per move.
    pub line_ns_p5: f64,
    /// Median.
    pub line_ns_p50: f64,
    /// 95th percentile.
    pub line_ns_p95: f64,
    /// Number of its lines.
    pub lines: u32,
    /// Share of all lines between different cores.
    pub share: Interval,
}

/// Boundaries between levels, nanoseconds.
pub(super) fn boundaries(lines: &[Line]) -> Vec<f64> {
    let mut sorted: Vec<f64> = lines.iter().map(|line| line.line_ns).collect();
    sorted.sort_by(f64::total_cmp);
    let odd = sorted.len() / ODD;
    let kept = &sorted[odd..sorted.len() - odd];
    let least = ((LEVEL_SHARE * kept.len() as f64) as usize).max(LEVEL_LINES);
    let mut cuts = cuts(kept);
    loop {
        let mut counts = vec![0; cuts.len() + 1];
        kept.iter().for_each(|line_ns| counts[level_of(&cuts, *line_ns)] += 1);
        // A few lines are strays of the adjacent level.
        match counts.iter().position(|count| *count < least) {
            Some(few) if !cuts.is_empty() => drop(cuts.remove(few.saturating_sub(1))),
            _ => return cuts,
        }
    }
}

/// The levels with their shares; empty without lines.
pub(super) fn levels(lines: &[Line], cuts: &[f64], alpha: f64) -> Vec<Distance> {
    let level = |at: usize| {
        let mut line_ns: Vec<f64> =
            lines.iter().map(|line| line.line_ns).filter(|ns| level_of(cuts, *ns) == at).collect();
        line_ns.sort_by(f64::total_cmp);
        let quantile =
            |share: f64| line_ns.get((share * (line_ns.len().saturating_sub(1)) as f64).round() as usize);
        let [Some(low), Some(middle), Some(high)] = SHOWN.map(quantile) else { return None };
        Some(Distance {
            line_ns_p5: *low,
            line_ns_p50: *middle,
            line_ns_p95: *high,
            lines: line_ns.len() as u32,
            share: share(lines.iter(), cuts, at, alpha)?,
        })
    };
    (0..=cuts.len()).filter_map(level).collect()
}

/// Share of some lines that lie in a level; `None` without lines.
pub(super) fn share<'l>(
    lines: impl Iterator<Item = &'l Line>,
    cuts: &[f64],
    level: usize,
    alpha: f64,
) -> Option<Interval> {
    let mut shares = BlockShares::default();
    lines.for_each(|line| shares.add(line.block, level_of(cuts, line.line_ns) == level));
    shares.interval(alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines around some times, 5% to each side, blocks in turn.
    fn lines(times: &[(f64, usize)]) -> Vec<Line> {
        let spread = |at: usize| 0.95 + 0.1 * ((at * 37) % 101) as f64 / 100.0;
        let around = |&(ns, count): &(f64, usize)| {
            (0..count).map(move |at| Line {
                block: (at % 4) as u32,
                line_ns: ns * spread(at),
                treatment: None,
            })
        };
        times.iter().flat_map(around).collect()
    }

    #[test]
    fn levels_are_those_of_the_lines_and_not_of_fixed_times() {
        for (near, far) in [(25.0, 90.0), (60.0, 130.0), (110.0, 300.0)] {
            let all = lines(&[(near, 300), (far, 100)]);
            let cuts = boundaries(&all);
            assert_eq!(cuts.len(), 1, "{near} {far}: {cuts:?}");
            let found = levels(&all, &cuts, 0.05);
            assert_eq!((found[0].lines, found[1].lines), (300, 100));
            assert!((found[0].share.mean - 0.75).abs() < 1e-9 && (found[1].share.mean - 0.25).abs() < 1e-9);
            assert!(found[0].line_ns_p95 < cuts[0] && found[1].line_ns_p5 > cuts[0]);
            assert!((found[1].line_ns_p50 / far - 1.0).abs() < 0.03, "{}", found[1].line_ns_p50);
        }
    }

    #[test]
    fn one_level_with_odd_lines_stays_one() {
        for odd in [&[][..], &[(400.0, 1)], &[(400.0, 3), (900.0, 2)], &[(18.0, 2), (4000.0, 4)]] {
            let all = lines(&[&[(60.0, 300)], odd].concat());
            assert_eq!(boundaries(&all), Vec::<f64>::new(), "{odd:?}");
            assert_eq!(levels(&all, &[], 0.05).len(), 1);
        }
        assert!(levels(&[], &boundaries(&[]), 0.05).is_empty());
    }
}
