//! What an engine is like, on the wire: a part of `hello`.

use serde::{Deserialize, Serialize};
use threadwise_study::engine::Properties;

/// Mirrors [`Properties`]; what is left out is as for an engine that says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireProperties {
    /// Whether its results come from a model.
    pub simulated: bool,
    /// Bytes of the block that it reads at once.
    pub block_bytes: u64,
    /// Whether it has service threads that a study can place.
    pub service_threads: bool,
    /// Dialect of SQL of its queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Whether it reads a data set's own files.
    pub reads_files: bool,
    /// Whether the workload option `hold_plan` keeps its plans the same.
    pub holds_plans: bool,
    /// Bytes on disk of a row of the workload `insert`.
    pub row_bytes: u64,
    /// Bytes on disk of a data set of TPC-H of scale factor 1 that it has loaded.
    pub tpch_bytes: u64,
}

impl Default for WireProperties {
    fn default() -> Self {
        Properties::default().into()
    }
}

impl From<Properties> for WireProperties {
    fn from(properties: Properties) -> Self {
        let Properties {
            simulated,
            block_bytes,
            service_threads,
            dialect,
            reads_files,
            holds_plans,
            row_bytes,
            tpch_bytes,
        } = properties;
        Self {
            simulated,
            block_bytes,
            service_threads,
            dialect,
            reads_files,
            holds_plans,
            row_bytes,
            tpch_bytes,
        }
    }
}

impl From<WireProperties> for Properties {
    fn from(wire: WireProperties) -> Self {
        let WireProperties {
            simulated,
            block_bytes,
            service_threads,
            dialect,
            reads_files,
            holds_plans,
            row_bytes,
            tpch_bytes,
        } = wire;
        Self {
            simulated,
            block_bytes,
            service_threads,
            dialect,
            reads_files,
            holds_plans,
            row_bytes,
            tpch_bytes,
        }
    }
}
