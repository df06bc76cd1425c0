//! Where the memory of a treatment's sessions lay: pages by NUMA node, as readings of a run.
//!
//! Source: numa(7), `/proc/PID/numa_maps`: `N1=16` are 16 pages of `kernelpagesize_kB` that this process has mapped and
//! that lie on node 1. Pages of shared memory count for each process that has touched them.

use crate::Reading;
use std::collections::BTreeMap;

/// The sampler of these readings.
pub const SAMPLER: &str = "numa-maps";

/// The sampler of what a server says of its memory: `shared_node_0_bytes`, `buffers_node_0_bytes`.
pub const SERVER: &str = "server-memory";

/// The metric of bytes on a node, by the system's number of the node.
pub fn metric(node: u32) -> String {
    format!("node_{node}_bytes")
}

/// The bytes by kind of memory and node of a server's last readings.
pub fn last_of_server(readings: &[Reading]) -> BTreeMap<&str, BTreeMap<u32, f64>> {
    let mut found: BTreeMap<&str, BTreeMap<u32, f64>> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.sampler == SERVER) {
        let parts = reading.metric.strip_suffix("_bytes").and_then(|rest| rest.split_once("_node_"));
        if let (Some((kind, Ok(node))), Some(bytes)) =
            (parts.map(|(kind, node)| (kind, node.parse())), reading.value)
        {
            found.entry(kind).or_default().insert(node, bytes);
        }
    }
    found
}

/// The bytes by node of a run's last readings, by logical CPU of the session whose process it is; without one it is the
/// process of all its sessions.
pub fn last(readings: &[Reading]) -> BTreeMap<Option<u32>, BTreeMap<u32, f64>> {
    let mut found: BTreeMap<Option<u32>, BTreeMap<u32, f64>> = BTreeMap::new();
    // Later ones replace earlier ones.
    for reading in readings.iter().filter(|reading| reading.sampler == SAMPLER) {
        let node = reading.metric.strip_prefix("node_").and_then(|rest| rest.strip_suffix("_bytes"));
        if let (Some(node), Some(bytes)) = (node.and_then(|node| node.parse().ok()), reading.value) {
            found.entry(reading.cpu).or_default().insert(node, bytes);
        }
    }
    found
}
