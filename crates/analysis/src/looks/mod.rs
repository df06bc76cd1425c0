//! Where slices ran: what looks around them say of cores and co-runners (docs/METHODOLOGY.md, "Where slices
//! ran").

mod distance;
pub mod prevalence;
mod sequence;
mod shares;
pub mod states;
pub mod strip;
pub mod words;

pub use distance::Distance;
pub use prevalence::{CpuShares, Looks, StateShare, TreatmentLooks};
pub use sequence::{Stretches, Transition};
