//! What is asked of a report beyond what the study says: prices, and a bound for latency. Neither changes an estimate.

use crate::cost::Prices;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Asked {
    /// What machine and licences cost.
    pub prices: Option<Prices>,
    /// The 99th percentile of a step's latency is to stay within this, nanoseconds.
    pub p99_ns: Option<f64>,
}
