//! From runs to estimates: which runs count, one number d per block, intervals over blocks.
//!
//! The method and its sources are described in docs/METHODOLOGY.md. In short: a round gives every
//! treatment one slice; d of a block is ln(treatment / baseline) of the sums over its rounds; the
//! interval is Student's t over blocks (Georges et al. 2007; Kalibera and Jones 2013).

mod choose;
pub(crate) mod comparisons;
pub(crate) mod covariates;
mod digest;
mod guess;
mod judge;
pub(crate) mod lost_cpu;
pub(crate) mod member;
mod observed;
pub(crate) mod overload;
mod power;
pub(crate) mod readings;
pub(crate) mod requests;
pub(crate) mod sides;
pub(crate) mod treatments;
mod types;
mod work;

#[cfg(test)]
mod tests;

pub use choose::{Best, Chosen, Fastest, Likeliest, best, choose, near_best};
pub use comparisons::block_difference;
pub(crate) use comparisons::throughput_over;
pub use covariates::{BUSY_FLAG_SHARE, NEIGHBOUR_FLAG_SHARE, RUN_QUEUE_FLAG_SHARE, STEAL_FLAG_SHARE};
pub(crate) use digest::{Digest, Latency, left_over};
pub use digest::{MAX_EMPTY_SHARE, MIN_STEPS};
pub(crate) use guess::standard_error;
pub use guess::{Guess, level_at_worst};
pub use judge::{
    Bounded, Judgeable, Rule, equivalence_p, judge, judge_bounded, judge_known, judge_many, judge_means,
    means, paired, paired_difference, together,
};
pub(crate) use judge::{FAMILY_SHARE, family_alpha, largest};
pub use lost_cpu::{LostCpu, cpu_share, pseudo_values};
pub(crate) use observed::{Block as ObservedBlock, Observed, first_reason, is_throttled, latest_attempts};
pub use power::Power;
pub(crate) use power::blocks_needed as blocks_for;
pub use sides::Sides;
pub use types::{
    Adjusted, Alarm, BlockCovariates, Covariates, Estimate, LATENCY_MEAN, NoiseFloor, ROWS_PER_JOULE,
    THROUGHPUT, TreatmentSummary, Unflagged,
};
pub use work::{Halves, Work};
