//! How often each treatment came after each, and what carry-over does to a ratio where that is uneven.

use super::types::Pairs;
use crate::estimate::Change;

/// Counts of neighbours, by index of the treatments.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// Of each predecessor (first) and treatment (second).
    counts: Vec<Vec<u32>>,
    /// Slices of each treatment, those without a predecessor too.
    slices: Vec<u32>,
}

impl Neighbours {
    /// None yet.
    pub fn new(treatments: usize) -> Self {
        Self { counts: vec![vec![0; treatments]; treatments], slices: vec![0; treatments] }
    }

    /// Adds the slices of a block, as treatments in the order of execution.
    pub fn add(&mut self, ran: &[usize]) {
        let mut before = None;
        for &treatment in ran {
            self.add_slice(before, treatment);
            before = Some(treatment);
        }
    }

    /// Adds a slice.
    pub fn add_slice(&mut self, predecessor: Option<usize>, treatment: usize) {
        self.slices[treatment] += 1;
        if let Some(predecessor) = predecessor {
            self.counts[predecessor][treatment] += 1;
        }
    }

    /// Slices that came after a treatment.
    pub fn slices_after(&self, predecessor: usize) -> u32 {
        self.counts[predecessor].iter().sum()
    }

    /// How even the counts are among treatments that have slices.
    pub fn pairs(&self) -> Pairs {
        let known: Vec<usize> = (0..self.slices.len()).filter(|&at| self.slices[at] > 0).collect();
        let counts = known.iter().flat_map(|&one| known.iter().map(move |&next| self.counts[one][next]));
        Pairs {
            pairs: (known.len() * known.len()) as u32,
            least: counts.clone().min().unwrap_or(0),
            most: counts.max().unwrap_or(0),
        }
    }

    /// Share of a treatment's slices that came after another; 0 without slices.
    fn share(&self, predecessor: usize, treatment: usize) -> f64 {
        match self.slices[treatment] {
            0 => 0.0,
            all => f64::from(self.counts[predecessor][treatment]) / f64::from(all),
        }
    }

    /// By how much, in logarithms, carry-over may shift the ratio of a treatment to others below it: for each
    /// predecessor the difference between the shares of both sides' slices after it, times the end of its interval
    /// that is further from 0, all with one sign. `None` where a predecessor of which the shares differ is not known, or
    /// where a side has no slices.
    ///
    /// What the first slices of blocks are like, which follow none, is not in it.
    pub fn shift_bound(&self, top: usize, below: &[usize], found: &[Option<Change>]) -> Option<f64> {
        if std::iter::once(&top).chain(below).any(|at| self.slices[*at] == 0) {
            return None;
        }
        let known = found.iter().flatten().count() as f64;
        let mut bound = 0.0;
        for predecessor in 0..self.slices.len() {
            let shares =
                below.iter().map(|at| self.share(predecessor, *at)).sum::<f64>() / below.len() as f64;
            let difference = (self.share(predecessor, top) - shares).abs();
            if difference > 0.0 {
                let after = &found.get(predecessor)?.as_ref()?.value;
                // From a distance to the mean of the others to one to the mean of all, which is in both sides.
                let size = after.low.abs().max(after.high.abs()) * (known - 1.0) / known;
                bound += difference * size;
            }
        }
        Some(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(low: f64, high: f64) -> Option<Change> {
        Some(Change {
            value: crate::Interval { mean: (low + high) / 2.0, low, high, unit: "1".to_owned() },
            adjusted_low: low,
            adjusted_high: high,
            blocks: 8,
            p_t: 0.5,
            adjusted_p: 1.0,
            family: 2,
            correlation: 0.0,
            shown: false,
        })
    }

    #[test]
    fn neighbours_are_counted_within_blocks() {
        let mut neighbours = Neighbours::new(4);
        neighbours.add(&[0, 1, 1, 2]);
        neighbours.add(&[2, 0]);
        assert_eq!(neighbours.counts[0], [0, 1, 0, 0]);
        assert_eq!((neighbours.slices_after(1), neighbours.slices_after(2)), (2, 1));
        // Treatment 3 has no slice.
        assert_eq!(neighbours.pairs(), Pairs { pairs: 9, least: 0, most: 1 });
    }

    #[test]
    fn the_bound_is_imbalance_times_effect() {
        let mut neighbours = Neighbours::new(2);
        // After 0: a quarter of 0's slices, three quarters of 1's; the other way round after 1.
        for (predecessor, treatment, times) in [(0, 0, 1), (0, 1, 3), (1, 0, 3), (1, 1, 1)] {
            (0..times).for_each(|_| neighbours.add_slice(Some(predecessor), treatment));
        }
        let all = [found(-0.03, -0.01), found(0.01, 0.02)];
        let bound = neighbours.shift_bound(1, &[0], &all).unwrap();
        assert!((bound - (0.5 * 0.015 + 0.5 * 0.01)).abs() < 1e-12, "{bound}");
        assert_eq!(neighbours.shift_bound(0, &[0], &all), Some(0.0));
        assert_eq!(neighbours.shift_bound(1, &[0], &[None, None]), None, "unknown, and not 0");
        assert_eq!(neighbours.shift_bound(1, &[0], &[]), None);
        assert_eq!(Neighbours::new(2).shift_bound(1, &[0], &all), None);
    }
}
