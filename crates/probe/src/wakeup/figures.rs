//! Blocks of round trips to figures. The block is the unit: what disturbs a machine lasts longer than a round trip.

use crate::latency::quantile;

/// Fewest blocks for figures: the least and the greatest of six medians hold the true median with 96.9%.
const LEAST_BLOCKS: usize = 6;
/// Share of intervals that may miss the median.
const ALPHA: f64 = 0.05;

/// Times of a cell, block by block.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    medians_ns: Vec<f64>,
    times_ns: Vec<f64>,
}

/// Figures of a cell, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) min_ns: f64,
    pub(super) median_ns: f64,
    pub(super) median_low_ns: f64,
    pub(super) median_high_ns: f64,
    pub(super) p90_ns: f64,
    pub(super) blocks: u32,
    pub(super) samples: u32,
}

impl Blocks {
    /// Adds a block; one with fewer usable times than were wanted is left out.
    pub(super) fn add(&mut self, times_ns: Vec<f64>, wanted: u32) {
        let mut usable: Vec<f64> = times_ns.into_iter().filter(|ns| ns.is_finite() && *ns > 0.0).collect();
        if usable.is_empty() || usable.len() < wanted as usize {
            return;
        }
        usable.sort_by(f64::total_cmp);
        self.medians_ns.push(quantile(&usable, 0.5));
        self.times_ns.extend(usable);
    }

    /// The figures; `None` of too few blocks.
    pub(super) fn finish(mut self) -> Option<Figures> {
        let blocks = self.medians_ns.len();
        if blocks < LEAST_BLOCKS {
            return None;
        }
        self.medians_ns.sort_by(f64::total_cmp);
        self.times_ns.sort_by(f64::total_cmp);
        let left_out = left_out(blocks);
        Some(Figures {
            min_ns: self.times_ns[0],
            median_ns: quantile(&self.medians_ns, 0.5),
            median_low_ns: self.medians_ns[left_out],
            median_high_ns: self.medians_ns[blocks - 1 - left_out],
            p90_ns: quantile(&self.times_ns, 0.9),
            blocks: blocks as u32,
            samples: self.times_ns.len() as u32,
        })
    }
}

/// How many values at each end are outside of the interval of a median at 95% or more: the most, r, for which at most r
/// of n values lie on one side of the median with a probability of 2.5% or less (sign test; Conover, *Practical
/// Nonparametric Statistics*, chapter 3).
fn left_out(n: usize) -> usize {
    let mut term = 0.5_f64.powi(n as i32);
    let (mut sum, mut r) = (term, 0);
    while 2.0 * sum <= ALPHA {
        r += 1;
        term *= (n + 1 - r) as f64 / r as f64;
        sum += term;
    }
    // `sum` is of r or fewer on one side; the r-th value from the end is inside.
    r.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_interval_are_those_of_tables() {
        // Conover's table of the binomial distribution: rank r of the lower end is one more than what is left out.
        let known = [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (14, 2), (15, 3), (20, 5), (25, 7)];
        for (n, expected) in known {
            assert_eq!(left_out(n), expected, "{n} blocks");
        }
    }

    #[test]
    fn figures_of_known_blocks() {
        let mut blocks = Blocks::default();
        for block in 1..=9 {
            blocks.add(vec![f64::from(10 * block), f64::from(10 * block + 2), f64::from(10 * block + 1)], 3);
        }
        let figures = blocks.finish().unwrap();
        assert_eq!((figures.min_ns, figures.median_ns, figures.blocks, figures.samples), (10.0, 51.0, 9, 27));
        assert_eq!((figures.median_low_ns, figures.median_high_ns), (21.0, 81.0));
        assert!((figures.p90_ns - 85.2).abs() < 1e-9, "{figures:?}");
    }

    #[test]
    fn incomplete_blocks_and_too_few_are_no_figure() {
        let mut blocks = Blocks::default();
        for _ in 0..5 {
            blocks.add(vec![1.0, 2.0], 2);
        }
        blocks.add(vec![1.0, f64::NAN], 2);
        blocks.add(vec![1.0, 0.0], 2);
        blocks.add(Vec::new(), 0);
        assert_eq!(blocks.clone().finish(), None);
        blocks.add(vec![1.0, 2.0], 2);
        assert_eq!(blocks.finish().map(|figures| figures.blocks), Some(6));
    }
}
