//! Logical CPUs of a user's server that can only be bound as a whole, as the server sees them.

use threadwise_machine::CpuSet;

/// Engine option that says whether such a server is bound to the placement of each treatment.
pub use threadwise_study::engine::AFFINITY;

/// A logical CPU as the server numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCpu {
    /// Its number, the same as the system's.
    pub cpu: u32,
    /// Number of its memory node, the server's own numbering.
    pub node: u32,
}

/// A server's logical CPUs, and whether its binding may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCpus {
    /// All logical CPUs that it can be bound to.
    pub cpus: Vec<ServerCpu>,
    /// Those in use now.
    pub online: CpuSet,
    /// Whether the server chooses them itself.
    pub is_auto: bool,
    /// Why the login may not bind the server, in one line that names the right; `None` if it may.
    pub why_not: Option<String>,
    /// Number of sessions of other clients.
    pub others: u32,
    /// The first of these, one line each.
    pub who: Vec<String>,
}
