//! Logical CPUs of a user's server that can only be bound as a whole, as it sees them itself.

use threadwise_machine::CpuSet;

/// Engine option that says whether such a server is bound to the placement of each treatment.
pub use threadwise_study::engine::AFFINITY;

/// A logical CPU as the server knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCpu {
    /// Its number, which is the system's.
    pub cpu: u32,
    /// Number of its memory node, which is the server's.
    pub node: u32,
}

/// What a server says of its logical CPUs, and whether they may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCpus {
    /// All that it can be bound to.
    pub cpus: Vec<ServerCpu>,
    /// Those that it uses now.
    pub online: CpuSet,
    /// Whether it is left to the server which it uses.
    pub is_auto: bool,
    /// Why the login may not bind it, in one line that names the right; `None` where it may.
    pub why_not: Option<String>,
    /// How many sessions of others there are.
    pub others: u32,
    /// Who the first of these are, one a line.
    pub who: Vec<String>,
}
