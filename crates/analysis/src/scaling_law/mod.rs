//! Scaling laws of sweeps: throughput against busy sessions, with cores that have one and more busy threads separate,
//! so that the gain of SMT is not taken for contention.
//!
//! Sources are with each part; the whole is in docs/METHODOLOGY.md, "Scaling law".

pub mod fit;
pub mod law;
pub mod load;
mod of_study;
pub mod result;
mod solve;
pub mod sweep;
pub mod table;
pub mod told;

pub use fit::{Candidate, Draws, Fit, REPLICATES, candidates, plans};
pub use law::{Law, Parameters, Yields};
pub use load::{Load, Shape, ShapeError};
pub use of_study::of_study;
pub(crate) use of_study::of_sweeps;
pub use result::{
    Fitted, KnownTurns, Ladder, Outcome, Prediction, ScalingLaw, SeriesLaw, Turns, Unknown, laws,
};
pub use solve::{Plan, richest};
pub use sweep::{Clock, FEWEST_LOADS, Measured, Series, Sweep, SweepError};
pub use told::Told;
