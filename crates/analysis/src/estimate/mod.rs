//! From runs to estimates: which runs count, one number d per block, intervals over blocks.
//!
//! The method and its sources are described in docs/METHODOLOGY.md. In short: a round gives every
//! treatment one slice; d of a block is the mean over its rounds of ln(treatment / baseline); the
//! interval is Student's t over blocks (Georges et al. 2007; Kalibera and Jones 2013).

pub(crate) mod comparisons;
pub(crate) mod covariates;
mod digest;
mod judge;
pub(crate) mod member;
mod observed;
mod readings;
pub(crate) mod treatments;
mod types;

#[cfg(test)]
mod tests;

pub use comparisons::block_difference;
pub use covariates::{BUSY_FLAG_SHARE, CO_RUNNER_FLAG_SHARE, STEAL_FLAG_SHARE};
pub use digest::{MAX_EMPTY_SHARE, MIN_STEPS};
pub use judge::{Judgement, judge};
pub(crate) use observed::{Observed, first_reason, is_throttled};
pub use types::{BlockCovariates, Covariates, Estimate, NoiseFloor, THROUGHPUT, TreatmentSummary, Unflagged};
