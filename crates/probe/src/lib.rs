//! Measures the hardware itself, since a hypervisor may declare anything: which logical CPUs
//! share a core, whether a neighbour is busy on a sibling, cache-line latencies, and the clock.
//!
//! Classification and planning are pure and work on a [`bench::Bench`]: the live one runs kernels on
//! pinned threads, and tests use a model. Methods and figures: docs/PROBE.md.

pub mod bench;
pub mod clock;
pub mod groups;
pub mod kernels;
pub mod latency;
pub mod live;
pub mod look;
pub mod neighbour;
pub mod siblings;
pub mod wakeup;
pub mod whole;
