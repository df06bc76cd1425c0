//! Memory policy: the NUMA nodes of a treatment's memory; parser and pure resolver.
//!
//! Source: `set_mempolicy(2)`, `numa(7)`, kernel `Documentation/admin-guide/mm/numa_memory_policy.rst`.
//! The runner makes the call, between fork and exec of a worker.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::placement::parse::indices;
use crate::topology::NumaNode;
use crate::{CpuSet, PlacementError, Topology};

/// Allowed after `memory=`.
const ALLOWED: &str = "local, remote, interleave, and NUMA nodes such as 0 or 0-1,3";

/// Where a treatment's memory should be, not yet bound to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(into = "String")]
pub enum Memory {
    /// No policy is set: a page is on the node of the logical CPU that touches it first, and every
    /// session touches its own data first.
    #[default]
    Local,
    /// All of it on one node that holds none of the placement's logical CPUs.
    Remote,
    /// Interleaved by page over all nodes with memory.
    Interleave,
    /// Only on these nodes: dense ids ([`Topology::numa_nodes`]), ascending, as `@nN` counts them.
    Nodes(Vec<u32>),
}

/// The policy that the kernel is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryMode {
    /// None: the process keeps the policy that it inherited.
    #[default]
    Default,
    /// MPOL_BIND: only these nodes.
    Bind,
    /// MPOL_INTERLEAVE: these nodes by turns.
    Interleave,
}

/// A memory policy bound to a machine. Its text is the kernel's own in `/proc/PID/numa_maps`:
/// `default`, `bind:1`, `interleave:0-1`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryBinding {
    /// How the nodes are used.
    pub mode: MemoryMode,
    /// The operating system's node numbers, ascending; empty for [`MemoryMode::Default`].
    pub nodes: Vec<u32>,
}

impl FromStr for Memory {
    type Err = PlacementError;

    /// Reads `local`, `remote`, `interleave` or a list of NUMA nodes, `0-1,3`.
    ///
    /// # Errors
    /// [`PlacementError::Part`] with what is wrong and the allowed words.
    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let text = text.trim();
        let wrong = |why: String| PlacementError::Part {
            part: "memory",
            text: text.to_owned(),
            why,
            allowed: ALLOWED,
        };
        match text {
            "local" => Ok(Self::Local),
            "remote" => Ok(Self::Remote),
            "interleave" => Ok(Self::Interleave),
            "" => Err(wrong("it is empty".to_owned())),
            word if !word.starts_with(|c: char| c.is_ascii_digit() || c == ',') => {
                Err(wrong("there is no such policy".to_owned()))
            }
            list => {
                let mut nodes = indices(list, "NUMA node").map_err(wrong)?;
                nodes.sort_unstable();
                Ok(Self::Nodes(nodes))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::parsed(deserializer)
    }
}

impl From<Memory> for String {
    fn from(memory: Memory) -> Self {
        memory.to_string()
    }
}

/// As the user writes it: `interleave`, `0-1,3`.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Remote => f.write_str("remote"),
            Self::Interleave => f.write_str("interleave"),
            Self::Nodes(nodes) => write!(f, "{}", list(nodes)),
        }
    }
}

impl fmt::Display for MemoryBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            MemoryMode::Default => f.write_str("default"),
            MemoryMode::Bind => write!(f, "bind:{}", list(&self.nodes)),
            MemoryMode::Interleave => write!(f, "interleave:{}", list(&self.nodes)),
        }
    }
}

/// Node lists and CPU lists have the same form.
fn list(nodes: &[u32]) -> CpuSet {
    nodes.iter().copied().collect()
}

/// Binds a memory policy to a machine and the logical CPUs of a placement.
///
/// `remote` takes the lowest-numbered node that has memory and no logical CPU of the placement; distances between
/// nodes are ignored, so on a machine of more than two nodes name the node if its distance matters. Nodes
/// without logical CPUs (memory only, CXL) count as remote and have the highest numbers.
///
/// # Errors
/// [`PlacementError::Lacking`]: no remote node, a node that does not exist or has no memory, or a
/// kernel without NUMA.
pub fn resolve(memory: &Memory, topology: &Topology, cpus: &CpuSet) -> Result<MemoryBinding, PlacementError> {
    let (mode, nodes) = match memory {
        Memory::Local => return Ok(MemoryBinding::default()),
        Memory::Remote => (MemoryMode::Bind, remote(topology, cpus)),
        Memory::Interleave => (MemoryMode::Interleave, with_memory(topology)),
        Memory::Nodes(wanted) => (MemoryMode::Bind, named(wanted, topology)),
    };
    nodes
        .and_then(|nodes| os_numbers(&nodes))
        .map(|nodes| MemoryBinding { mode, nodes })
        .map_err(|lacks| PlacementError::Lacking { text: format!("memory={memory}"), lacks })
}

/// A node whose size is not known counts: the topology leaves out nodes without memory.
fn has_memory(node: &NumaNode) -> bool {
    node.memory_bytes.is_none_or(|bytes| bytes > 0)
}

fn with_memory(topology: &Topology) -> Result<Vec<&NumaNode>, String> {
    let nodes: Vec<&NumaNode> = topology.numa_nodes.iter().filter(|node| has_memory(node)).collect();
    if nodes.is_empty() { Err("this machine has no NUMA node with memory".to_owned()) } else { Ok(nodes) }
}

fn remote<'a>(topology: &'a Topology, cpus: &CpuSet) -> Result<Vec<&'a NumaNode>, String> {
    let nodes = with_memory(topology)?;
    let is_free = |node: &&NumaNode| node.cpus.intersection(cpus).is_empty();
    match (nodes.len(), nodes.iter().copied().find(is_free)) {
        (1, _) => Err("this machine has 1 NUMA node with memory".to_owned()),
        (_, Some(node)) => Ok(vec![node]),
        (count, None) => {
            Err(format!("each of the {count} NUMA nodes with memory has logical CPUs of the placement"))
        }
    }
}

fn named<'a>(wanted: &[u32], topology: &'a Topology) -> Result<Vec<&'a NumaNode>, String> {
    let there = topology.numa_nodes.len();
    let find = |&index: &u32| match topology.numa_nodes.get(index as usize) {
        Some(node) if has_memory(node) => Ok(node),
        Some(_) => Err(format!("NUMA node {index} has no memory")),
        None => {
            let plural = if there == 1 { "" } else { "s" };
            Err(format!(
                "there is no NUMA node {index}: this machine has {there} node{plural}, counted from 0"
            ))
        }
    };
    wanted.iter().map(find).collect()
}

/// The kernel's node numbers, ascending.
fn os_numbers(nodes: &[&NumaNode]) -> Result<Vec<u32>, String> {
    let number = |node: &&NumaNode| node.os_id.and_then(|id| u32::try_from(id).ok());
    let mut numbers: Vec<u32> = nodes
        .iter()
        .map(number)
        .collect::<Option<_>>()
        .ok_or("this kernel was built without NUMA, so it cannot bind memory to nodes")?;
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nodes of (OS number, logical CPUs, bytes).
    fn machine(nodes: &[(i64, &str, Option<u64>)]) -> Topology {
        let node = |&(os_id, cpus, memory_bytes): &(i64, &str, Option<u64>)| NumaNode {
            os_id: Some(os_id),
            cpus: cpu_list(cpus),
            memory_bytes,
        };
        Topology { numa_nodes: nodes.iter().map(node).collect(), ..Topology::default() }
    }

    fn cpu_list(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    fn bound(text: &str, topology: &Topology, cpus: &str) -> Result<String, String> {
        let memory: Memory = text.parse().map_err(|error: PlacementError| error.to_string())?;
        resolve(&memory, topology, &cpu_list(cpus))
            .map(|binding| binding.to_string())
            .map_err(|error| error.to_string())
    }

    fn lacking(text: &str, why: &str) -> Result<String, String> {
        Err(format!("placement 'memory={text}' is not possible here: {why}"))
    }

    #[test]
    fn words_and_lists_are_read_and_printed_back() {
        for (text, memory, printed) in [
            ("local", Memory::Local, "local"),
            (" remote ", Memory::Remote, "remote"),
            ("interleave", Memory::Interleave, "interleave"),
            ("0", Memory::Nodes(vec![0]), "0"),
            ("3,0-1", Memory::Nodes(vec![0, 1, 3]), "0-1,3"),
            ("0-4:2", Memory::Nodes(vec![0, 2, 4]), "0,2,4"),
        ] {
            let read: Memory = text.parse().unwrap();
            assert_eq!((&read, read.to_string().as_str()), (&memory, printed));
        }
        assert_eq!(Memory::default(), Memory::Local);
    }

    #[test]
    fn what_is_wrong_is_named_with_the_words_that_are_allowed() {
        for (text, why) in [
            ("", "it is empty"),
            ("near", "there is no such policy"),
            ("Local", "there is no such policy"),
            ("-1", "there is no such policy"),
            ("0,0", "NUMA node 0 appears twice"),
            ("0-2,1", "NUMA node 1 appears twice"),
            ("0,,1", "there is no number where a NUMA node is expected"),
            (",", "there is no number where a NUMA node is expected"),
            ("3-1", "range 3-1 is descending"),
            ("0-x", "'x' is not a number"),
            ("70000", "70000 is above 65536"),
        ] {
            let error = text.parse::<Memory>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "memory is '{text}': {why}; allowed are local, remote, interleave, and NUMA nodes such as 0 or 0-1,3"
                )
            );
        }
    }

    #[test]
    fn two_nodes_with_sparse_numbers() {
        let topology = machine(&[(0, "0-3", Some(8)), (8, "4-7", None)]);
        for (text, cpus, policy) in [
            ("local", "0-7", "default"),
            ("remote", "0-1", "bind:8"),
            ("remote", "7", "bind:0"),
            ("interleave", "0", "interleave:0,8"),
            ("1", "0", "bind:8"),
            ("0-1", "0", "bind:0,8"),
        ] {
            assert_eq!(bound(text, &topology, cpus).as_deref(), Ok(policy), "{text} on {cpus}");
        }
        let why = "each of the 2 NUMA nodes with memory has logical CPUs of the placement";
        assert_eq!(bound("remote", &topology, "3-4"), lacking("remote", why));
        let why = "there is no NUMA node 8: this machine has 2 nodes, counted from 0";
        assert_eq!(bound("8", &topology, "0"), lacking("8", why));
    }

    #[test]
    fn nodes_without_memory_or_without_cpus() {
        let memoryless = machine(&[(0, "0-3", Some(8)), (1, "4-7", Some(0))]);
        let one = "this machine has 1 NUMA node with memory";
        assert_eq!(bound("remote", &memoryless, "0"), lacking("remote", one));
        assert_eq!(bound("interleave", &memoryless, "0").as_deref(), Ok("interleave:0"));
        assert_eq!(bound("1", &memoryless, "0"), lacking("1", "NUMA node 1 has no memory"));
        let memory_alone = machine(&[(0, "0-3", Some(8)), (2, "", Some(8))]);
        assert_eq!(bound("remote", &memory_alone, "0-3").as_deref(), Ok("bind:2"));
        let four = machine(&[(0, "0-1", None), (1, "2-3", None), (2, "4-5", None), (3, "6-7", None)]);
        assert_eq!(bound("remote", &four, "0-3").as_deref(), Ok("bind:2"));
    }

    #[test]
    fn a_kernel_without_numa_binds_nothing() {
        let mut topology = machine(&[(0, "0-3", Some(8))]);
        topology.numa_nodes[0].os_id = None;
        assert_eq!(bound("local", &topology, "0").as_deref(), Ok("default"));
        for text in ["interleave", "0"] {
            assert!(bound(text, &topology, "0").unwrap_err().contains("built without NUMA"), "{text}");
        }
        let none = Topology::default();
        let why = "this machine has no NUMA node with memory";
        assert_eq!(bound("interleave", &none, "0"), lacking("interleave", why));
    }

    fn any_machine() -> impl Strategy<Value = Topology> {
        let node = (prop::collection::vec(0_u32..24, 0..6), prop::option::of(0_u64..3), 1_i64..9);
        prop::collection::vec(node, 0..6).prop_map(|nodes| {
            let (mut topology, mut os_id, mut taken) = (Topology::default(), -1, CpuSet::new());
            for (cpus, memory_bytes, step) in nodes {
                os_id += step;
                let cpus = cpus.into_iter().collect::<CpuSet>().difference(&taken);
                taken = taken.union(&cpus);
                topology.numa_nodes.push(NumaNode { os_id: Some(os_id), cpus, memory_bytes });
            }
            topology
        })
    }

    fn any_memory() -> impl Strategy<Value = Memory> {
        let nodes = prop::collection::btree_set(0_u32..8, 1..5);
        prop_oneof![
            Just(Memory::Local),
            Just(Memory::Remote),
            Just(Memory::Interleave),
            nodes.prop_map(|nodes| Memory::Nodes(nodes.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn the_printed_text_reads_back(memory in any_memory()) {
            prop_assert_eq!(memory.to_string().parse(), Ok(memory));
        }

        #[test]
        fn bindings_hold_what_was_asked_for_and_only_nodes_with_memory(
            topology in any_machine(), memory in any_memory(),
            cpus in prop::collection::vec(0_u32..24, 1..5),
        ) {
            let cpus: CpuSet = cpus.into_iter().collect();
            let usable: Vec<&NumaNode> =
                topology.numa_nodes.iter().filter(|node| node.memory_bytes != Some(0)).collect();
            let numbers = |nodes: &[&NumaNode]| -> Vec<u32> {
                nodes.iter().map(|node| node.os_id.unwrap() as u32).collect()
            };
            let free: Vec<&NumaNode> =
                usable.iter().copied().filter(|node| !node.cpus.iter().any(|cpu| cpus.contains(cpu))).collect();
            let wanted = match &memory {
                Memory::Local => Some((MemoryMode::Default, Vec::new())),
                Memory::Interleave => (!usable.is_empty()).then(|| (MemoryMode::Interleave, numbers(&usable))),
                Memory::Remote => (usable.len() > 1 && !free.is_empty())
                    .then(|| (MemoryMode::Bind, numbers(&free[..1]))),
                Memory::Nodes(nodes) => {
                    let found: Option<Vec<&NumaNode>> =
                        nodes.iter().map(|&node| topology.numa_nodes.get(node as usize)).collect();
                    found
                        .filter(|found| found.iter().all(|node| node.memory_bytes != Some(0)))
                        .map(|found| (MemoryMode::Bind, numbers(&found)))
                }
            };
            match resolve(&memory, &topology, &cpus) {
                Ok(binding) => prop_assert_eq!(Some((binding.mode, binding.nodes)), wanted),
                Err(error) => {
                    prop_assert_eq!(wanted, None, "{}", error);
                    let line = error.to_string();
                    prop_assert!(line.contains(&memory.to_string()) && !line.contains('\n'), "{line}");
                }
            }
        }
    }
}
