//! Where slices ran: what the looks around them show of cores and neighbours (docs/METHODOLOGY.md, "Where slices ran").

pub mod checks;
pub mod claim;
pub mod contrast;
pub mod counted;
pub mod coverage;
mod distance;
pub mod effect;
pub mod gate;
pub mod prevalence;
pub mod rows;
mod sequence;
pub(crate) mod shares;
pub mod spread;
pub mod states;
pub mod strip;
pub mod words;

pub use coverage::Coverage;
pub use distance::Distance;
pub use prevalence::{CpuShares, Looks, StateShare, TreatmentLooks};
pub use sequence::{Stretches, Transition};

#[cfg(test)]
mod tests;
