//! Items of a work list on the wire (docs/WORKER.md).

use serde::{Deserialize, Serialize};
use threadwise_study::ItemSpan;

/// One item of a work list (mirrors `ItemSpan`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WireItem {
    /// Its place in the list, from 0.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its job, from 0.
    pub job: u32,
    /// Since the window's start.
    pub started_ns: u64,
    /// Of its recipe.
    pub elapsed_ns: u64,
}

impl From<ItemSpan> for WireItem {
    fn from(item: ItemSpan) -> Self {
        let ItemSpan { index, name, job, started_ns, elapsed_ns } = item;
        Self { index, name, job, started_ns, elapsed_ns }
    }
}

impl From<WireItem> for ItemSpan {
    fn from(wire: WireItem) -> Self {
        let WireItem { index, name, job, started_ns, elapsed_ns } = wire;
        Self { index, name, job, started_ns, elapsed_ns }
    }
}
