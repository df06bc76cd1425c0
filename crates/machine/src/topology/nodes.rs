//! NUMA nodes, including sparse numbers and memory-only nodes.
//!
//! Sources: kernel `Documentation/ABI/stable/sysfs-devices-node`, `Documentation/mm/numa.rst`.

use super::sets::{SetForm, and};
use super::tree::{Dir, Tree};
use super::{NumaNode, TopologyError, identity};
use crate::CpuSet;

const CPU_FILES: [(&str, SetForm); 2] = [("cpulist", SetForm::List), ("cpumap", SetForm::Mask)];

/// The nodes, and the online CPUs of each in the same order.
pub(super) struct Nodes {
    pub(super) nodes: Vec<NumaNode>,
    pub(super) online: Vec<CpuSet>,
    /// CPUs of the nodes that a cpuset allows for the process's memory.
    pub(super) picked: CpuSet,
}

/// Nodes with memory that the process may use, those with allowed CPUs first, by the lowest of them. A node whose
/// memory is all disabled or missing cannot hold data, so its CPUs have none. A kernel without NUMA has one node.
pub(super) fn read(
    tree: &Tree,
    online: &CpuSet,
    allowed: &CpuSet,
    mems: Option<&CpuSet>,
) -> Result<Nodes, TopologyError> {
    let folder = tree.dir("sys/devices/system/node");
    let found = folder.as_ref().map(|folder| folder.numbered("node")).unwrap_or_default();
    let (Some(folder), false) = (folder, found.is_empty()) else {
        let node =
            NumaNode { os_id: None, cpus: allowed.clone(), memory_bytes: identity::total_memory(tree)? };
        return Ok(Nodes { nodes: vec![node], online: vec![online.clone()], picked: CpuSet::new() });
    };
    let with_memory = folder.set(&[("has_memory", SetForm::List)])?;
    let counts = |number: u32| {
        with_memory.as_ref().is_none_or(|nodes| nodes.contains(number))
            && mems.is_none_or(|nodes| nodes.contains(number))
    };
    let mut nodes = Vec::new();
    for (number, dir) in found.iter().filter(|(number, _)| counts(*number)) {
        let all = and(&dir.set(&CPU_FILES)?.unwrap_or_default(), online);
        let node = NumaNode {
            os_id: Some(i64::from(*number)),
            cpus: and(&all, allowed),
            memory_bytes: node_memory(dir)?,
        };
        nodes.push((node, all));
    }
    nodes.sort_by_key(|(node, _)| (node.cpus.is_empty(), node.cpus.first(), node.os_id));
    let narrowed = mems.is_some_and(|mems| found.iter().any(|(number, _)| !mems.contains(*number)));
    let all_picked = nodes.iter().filter(|_| narrowed).flat_map(|(_, online)| online.iter());
    let picked = all_picked.collect();
    let (nodes, online) = nodes.into_iter().unzip();
    Ok(Nodes { nodes, online, picked })
}

/// `Node 0 MemTotal:  8386704 kB`
fn node_memory(dir: &Dir<'_>) -> Result<Option<u64>, TopologyError> {
    let text = dir.text("meminfo")?.unwrap_or_default();
    let line = text.lines().find_map(|line| line.split_once("MemTotal:"));
    Ok(line.and_then(|(_, amount)| identity::kib(amount)))
}
