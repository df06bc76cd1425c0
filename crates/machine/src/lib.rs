//! Topology, CPU sets, placements, memory policies, pinning.
//!
//! `topology` and `boot` read only files below a given root; `placement` and `memory` are pure functions of a
//! topology and a block's draw; only `pin` and `hypervisor` look at the live process.

pub mod below;
pub mod boot;
pub mod cpuset;
pub mod given;
pub mod hypervisor;
pub mod memory;
pub mod pin;
pub mod placement;
pub mod quota;
pub mod text;
pub mod topology;
pub mod words;

pub use boot::BootFacts;
pub use cpuset::CpuSet;
pub use memory::{Memory, MemoryBinding, MemoryMode};
pub use placement::{Draw, Pin, Placement, PlacementError, Resolved};
pub use quota::Quota;
pub use topology::{Topology, TopologyError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
