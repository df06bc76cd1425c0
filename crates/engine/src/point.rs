//! What a server allows a login to do: a line of `threadwise check`.

use threadwise_study::Workload;

/// The point of inserts with `durability=full`: commits that wait for the log.
pub const DURABLE_COMMITS: &str = "durable commits";
/// The point of inserts with `durability=relaxed`.
pub const DELAYED_DURABILITY: &str = "delayed durability";

/// A feature that a study may need of a server, and whether it is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What it is, such as `CREATE TABLE` or `sys.dm_os_wait_stats`.
    pub name: String,
    /// Whether it works.
    pub works: bool,
    /// One line: what was found, or which right is missing and what does not work without it.
    pub says: String,
}

impl Point {
    /// A point that works.
    pub fn works(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), works: true, says: says.into() }
    }

    /// A point that does not work.
    pub fn lacks(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), works: false, says: says.into() }
    }
}

/// A small study that `threadwise check` tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Workload.
    pub workload: Workload,
    /// Preset of `threadwise run`.
    pub preset: &'static str,
    /// Options of the workload as `KEY=VALUE`.
    pub settings: &'static [&'static str],
    /// Name of the [`Point`] that it needs.
    pub needs: Option<&'static str>,
}
