//! Measures the hardware itself, since a hypervisor may declare what it likes: which logical CPUs
//! share a core, whether a co-runner is busy on a sibling, how far a cache line has to go, and how
//! fast the clock runs.
//!
//! What classifies and plans is pure and works on a [`bench::Bench`]: the live one runs kernels on
//! pinned threads, and tests have one made of a model. Methods and figures: docs/PROBE.md.

pub mod bench;
pub mod clock;
pub mod co_runner;
pub mod groups;
pub mod kernels;
pub mod latency;
pub mod live;
pub mod look;
pub mod siblings;
pub mod whole;
