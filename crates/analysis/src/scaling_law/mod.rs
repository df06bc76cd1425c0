//! Scaling laws of sweeps: throughput against busy sessions, with cores that have one and more busy threads kept apart,
//! so that what SMT adds is not read as contention.
//!
//! Sources are with each part; the whole is in docs/METHODOLOGY.md, "Scaling law".

pub mod choice;
pub mod curve;
pub mod fit;
pub mod law;
pub mod load;
mod of_study;
pub mod plan;
pub mod pool;
pub mod result;
pub mod series;
pub mod shape;
mod solve;
pub mod sweep;
pub mod table;
pub mod told;

pub use choice::{Candidate, candidates};
pub use curve::{Ladder, Turns};
pub use fit::{Draws, Fit, Known, REPLICATES};
pub use law::{Law, Parameters, Yields};
pub use load::Load;
pub use of_study::of_study;
pub(crate) use of_study::of_sweeps;
pub use plan::{Plan, richest};
pub use result::{Fitted, KnownTurns, Outcome, Prediction, ScalingLaw, SeriesLaw, Unknown, laws};
pub use series::{Clock, Series};
pub use shape::{Shape, ShapeError};
pub use sweep::{FEWEST_LOADS, Measured, Sweep, SweepError};
pub use told::Told;
