//! The SMT yield for the capacity.
//!
//! Source: docs/HEADROOM.md; the term is in docs/GLOSSARY.md.

/// A lower yield is a mistake; with one above [`MOST`] two siblings would be more than two cores.
pub const LEAST: f64 = 0.5;
/// See [`LEAST`].
pub const MOST: f64 = 2.0;

/// Throughput of a core with two busy siblings over that with one, as an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmtYield {
    low: f64,
    high: f64,
}

/// An invalid SMT yield.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum YieldError {
    /// Not between [`LEAST`] and [`MOST`].
    #[error("{0} is not an SMT yield: two busy siblings do 0.5 to 2 times the work of one, such as 1.27")]
    Range(f64),
    /// The lower end is above the upper one.
    #[error("{0} to {1} is not an interval: write the lower end first")]
    Order(f64, f64),
}

impl SmtYield {
    /// A yield between two ends, both as ratios.
    ///
    /// # Errors
    /// An end is not between [`LEAST`] and [`MOST`], or they are in the wrong order.
    pub fn new(low: f64, high: f64) -> Result<Self, YieldError> {
        match [low, high].into_iter().find(|end| !(LEAST..=MOST).contains(end)) {
            Some(end) => Err(YieldError::Range(end)),
            None if low > high => Err(YieldError::Order(low, high)),
            None => Ok(Self { low, high }),
        }
    }

    /// Lower end, a ratio.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Upper end, a ratio.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Whether both ends are the same number.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Both ends for the capacity. Below 1 a second thread takes more than it gives, so that a core is
    /// at its limit with one thread: it counts as 1.
    pub fn counted(&self) -> [f64; 2] {
        [self.low.max(1.0), self.high.max(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_yields_are_refused() {
        assert_eq!(SmtYield::new(1.27, 1.27).map(|one| one.is_exact()), Ok(true));
        assert_eq!(SmtYield::new(27.0, 27.0), Err(YieldError::Range(27.0)));
        assert_eq!(SmtYield::new(1.3, 1.2), Err(YieldError::Order(1.3, 1.2)));
        assert!(SmtYield::new(f64::NAN, 1.0).is_err() && SmtYield::new(1.0, f64::INFINITY).is_err());
        assert_eq!(SmtYield::new(0.9, 1.1).unwrap().counted(), [1.0, 1.1]);
    }
}
