//! The jackknife that leaves out one block at a time (Efron, Stein, Annals of Statistics 9, 1981; pseudo-values: Tukey 1958;
//! Miller, Biometrika 61, 1974).

use crate::{MeanEstimate, mean};

/// A function of blocks, of all and without each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Of all.
    pub all: f64,
    /// Without each block, in their order.
    pub without: Vec<f64>,
}

impl LeftOut {
    /// `None` where the function is not known for all blocks, or without one of them.
    pub fn of<B>(blocks: &[B], value: impl Fn(&[&B]) -> Option<f64>) -> Option<Self> {
        let every: Vec<&B> = blocks.iter().collect();
        let all = value(&every).filter(|value| value.is_finite())?;
        let without = |at: usize| value(&[&every[..at], &every[at + 1..]].concat());
        Some(Self { all, without: (0..every.len()).map(without).collect::<Option<_>>()? })
    }

    /// The value of all with its standard error, of one degree of freedom less than blocks; `None` where that is unknown.
    pub fn estimate(&self) -> Option<MeanEstimate> {
        let n = self.without.len();
        let middle = mean(self.without.iter().copied())?;
        let squares: f64 = self.without.iter().map(|value| (value - middle).powi(2)).sum();
        let standard_error = (squares * (n - 1) as f64 / n as f64).sqrt();
        (n > 1 && standard_error.is_finite()).then_some(MeanEstimate {
            n,
            mean: self.all,
            standard_error,
            correlation: 0.0,
            degrees: (n - 1) as f64,
        })
    }

    /// Pseudo-values by block.
    pub fn pseudo_values(&self) -> Vec<f64> {
        let n = self.without.len() as f64;
        self.without.iter().map(|value| n * self.all - (n - 1.0) * value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(blocks: &[&(f64, f64)]) -> Option<f64> {
        let (top, below) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        Some(top / below)
    }

    #[test]
    fn of_a_mean_it_is_the_mean_and_its_standard_error() {
        let left_out = LeftOut::of(&[1.0, 2.0, 4.0, 9.0], |values| mean(values.iter().map(|v| **v))).unwrap();
        assert_eq!(left_out.pseudo_values(), [1.0, 2.0, 4.0, 9.0]);
        let (found, usual) = (left_out.estimate().unwrap(), MeanEstimate::of(&[1.0, 2.0, 4.0, 9.0]).unwrap());
        assert!((found.mean - 4.0).abs() < 1e-12 && found.degrees == 3.0);
        assert!((found.standard_error - usual.standard_error).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_known_without_a_block_has_no_estimate() {
        assert_eq!(
            LeftOut::of(&[(1.0, 2.0), (3.0, 0.0)], |blocks| ratio(blocks).filter(|r| r.is_finite())),
            None
        );
        let one = LeftOut::of(&[(1.0, 2.0)], ratio).unwrap();
        assert_eq!((one.all, one.estimate()), (0.5, None));
        assert_eq!(LeftOut::of(&[], ratio), None, "0 / 0");
    }
}
