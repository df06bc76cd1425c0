//! Quantiles, intervals, permutation tests, adjustment for many comparisons, percentiles.
//!
//! Pure functions on plain numbers. Each states what it computes, what it assumes, its source, and its result with too
//! little data. Sources in one place: docs/METHODOLOGY.md.

pub mod association;
pub mod average;
pub mod change_points;
pub mod clustered;
pub mod correlation;
pub mod false_discovery;
pub mod holm;
pub mod jackknife;
pub mod latency;
pub mod mean;
pub mod moderated;
pub mod nested;
pub mod normal;
pub mod outlier;
pub mod permutation;
pub mod pooled;
pub mod quantile;
pub mod student;
pub mod variances;
pub mod welch;

pub use association::{Association, Tail, association, blocks_needed};
pub use average::{arithmetic, geometric, mean, mean_of_known, median, per};
pub use clustered::Clusters;
pub use false_discovery::{Discoveries, discoveries};
pub use holm::{HolmStep, holm};
pub use jackknife::LeftOut;
pub use latency::{HistogramError, MergedLatency};
pub use mean::MeanEstimate;
pub use moderated::{Prior, moderated};
pub use nested::{Component, Level, Nested, components, own_share};
pub use normal::Normal;
pub use outlier::{Deviation, deviations};
pub use permutation::{EXACT_SIGN_FLIP_LIMIT, SIGN_FLIPS, sign_flip_p};
pub use pooled::pooled;
pub use quantile::quantile;
pub use student::{Summary, summary, t_quantile, t_two_sided_p};
pub use variances::{chi_squared_quantile, f_quantile};
pub use welch::{welch, welch_of};
