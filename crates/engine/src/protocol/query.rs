//! Executions of queries on the wire (docs/WORKER.md, "Queries").

use super::limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use threadwise_study::{Answer, QueryExecution};

/// One execution of a query (mirrors `QueryExecution`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WireQuery {
    /// Its number.
    pub query: u8,
    /// Since the window's start.
    pub started_ns: u64,
    /// Execution.
    pub elapsed_ns: u64,
    /// Planning, where it is told apart.
    #[serde(default)]
    pub planning_ns: Option<u64>,
    /// CPU time, where it is known.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Observed degree of parallelism.
    #[serde(default)]
    pub dop: Option<u32>,
    /// Rows of the answer.
    pub rows: u64,
    /// Canonical plan.
    #[serde(default)]
    pub plan: Option<String>,
    /// Counters.
    #[serde(default, deserialize_with = "limits::counters")]
    pub counters: BTreeMap<String, u64>,
    /// The answer, which the runner compares.
    #[serde(default)]
    pub answer: Option<Answer>,
}

impl From<QueryExecution> for WireQuery {
    fn from(of: QueryExecution) -> Self {
        Self {
            query: of.query,
            started_ns: of.started_ns,
            elapsed_ns: of.elapsed_ns,
            planning_ns: of.planning_ns,
            cpu_ns: of.cpu_ns,
            dop: of.dop,
            rows: of.rows,
            plan: of.plan,
            counters: of.counters,
            answer: of.answer,
        }
    }
}

impl From<WireQuery> for QueryExecution {
    fn from(of: WireQuery) -> Self {
        Self {
            query: of.query,
            started_ns: of.started_ns,
            elapsed_ns: of.elapsed_ns,
            planning_ns: of.planning_ns,
            cpu_ns: of.cpu_ns,
            dop: of.dop,
            rows: of.rows,
            plan: of.plan,
            counters: of.counters,
            answer: of.answer,
        }
    }
}
