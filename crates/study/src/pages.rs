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
    last_by(readings, SERVER, |reading| {
        let (kind, node) = reading.metric.strip_suffix("_bytes")?.split_once("_node_")?;
        Some((kind, node.parse().ok()?))
    })
}

/// The bytes by node of a run's last readings, by logical CPU of the session whose process it is; without one it is the
/// process of all its sessions.
pub fn last(readings: &[Reading]) -> BTreeMap<Option<u32>, BTreeMap<u32, f64>> {
    last_by(readings, SAMPLER, |reading| {
        let node = reading.metric.strip_prefix("node_")?.strip_suffix("_bytes")?;
        Some((reading.cpu, node.parse().ok()?))
    })
}

/// The bytes by node of a sampler's readings at the last moment that each key has: a node without bytes has no reading.
fn last_by<'r, K: Ord>(
    readings: &'r [Reading],
    sampler: &str,
    place: impl Fn(&'r Reading) -> Option<(K, u32)>,
) -> BTreeMap<K, BTreeMap<u32, f64>> {
    let mut found: BTreeMap<K, (u64, BTreeMap<u32, f64>)> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.sampler == sampler) {
        if let (Some((key, node)), Some(bytes)) = (place(reading), reading.value) {
            let (moment_ns, nodes) = found.entry(key).or_default();
            if reading.start_ns > *moment_ns {
                (*moment_ns, *nodes) = (reading.start_ns, BTreeMap::new());
            }
            if reading.start_ns == *moment_ns {
                nodes.insert(node, bytes);
            }
        }
    }
    found.into_iter().map(|(key, (_, nodes))| (key, nodes)).collect()
}
