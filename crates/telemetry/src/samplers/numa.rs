//! Where the kernel found pages, by NUMA node.
//!
//! Source: kernel `Documentation/admin-guide/numastat.rst`: counts of pages for `numa_hit` (on the
//! intended node), `numa_miss` (here, though another was intended), `numa_foreign` (intended here, given by
//! another), `local_node` and `other_node` (by a process that ran on this node, or on another).
//! `vm.numa_stat=0` switches them off (`Documentation/admin-guide/sysctl/vm.rst`), and they stand still.

use super::{Counter, Span, growths, numbers_of, opened, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

const WORDS: [&str; 5] = ["numa_hit", "numa_miss", "numa_foreign", "local_node", "other_node"];
const METRICS: [&str; 5] = ["hit_pages", "miss_pages", "foreign_pages", "local_pages", "other_pages"];

/// The sampler. Metrics are called `node_0_hit_pages` and so on, by the system's node numbers.
#[derive(Debug)]
pub struct Numa {
    nodes: Result<Vec<Node>, Status>,
    start_ns: u64,
}

#[derive(Debug)]
struct Node {
    file: String,
    metrics: [String; 5],
    counter: Counter,
    before: Result<[u64; 5], String>,
}

/// The nodes below `root`, ascending.
fn nodes(root: &Path) -> Result<Vec<Node>, Status> {
    let switch = std::fs::read_to_string(root.join("proc/sys/vm/numa_stat")).unwrap_or_default();
    if switch.trim() == "0" {
        return Err(Status::Denied {
            why: "the kernel does not count: vm.numa_stat is 0".to_owned(),
            remedy: "as root: sysctl vm.numa_stat=1".to_owned(),
        });
    }
    let folder = root.join("sys/devices/system/node");
    let entries = std::fs::read_dir(&folder).map_err(|error| status_of(&folder, &error, "mount /sys"))?;
    let number = |name: &str| name.strip_prefix("node")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    let open = |number: u32| {
        let file = format!("node{number}/numastat");
        let path = folder.join(&file);
        let counter =
            Counter::open(&path).map_err(|error| status_of(&path, &error, "let this user read /sys"))?;
        let metrics = METRICS.map(|metric| format!("node_{number}_{metric}"));
        Ok(Node { file, metrics, counter, before: Err("not started".to_owned()) })
    };
    let nodes = numbers.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    match nodes.is_empty() {
        true => Err(Status::Unsupported { why: format!("{} has no nodes", folder.display()) }),
        false => Ok(nodes),
    }
}

impl Node {
    fn read(&mut self) -> Result<[u64; 5], String> {
        let file = &self.file;
        let text = self.counter.read().map_err(|error| format!("{file}: {error}"))?;
        let mut counts = [0; 5];
        for ((count, number), word) in counts.iter_mut().zip(numbers_of(text, WORDS)).zip(WORDS) {
            *count = number.ok_or_else(|| format!("{file} has no readable line {word}"))?;
        }
        Ok(counts)
    }
}

impl Numa {
    /// Reads `sys/devices/system/node/node*/numastat` below `root`.
    pub fn new(root: &Path) -> Self {
        Self { nodes: nodes(root), start_ns: 0 }
    }
}

impl Sampler for Numa {
    fn name(&self) -> &'static str {
        "numa"
    }

    fn status(&self) -> Status {
        self.nodes.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        for node in self.nodes.iter_mut().flatten() {
            node.before = node.read();
        }
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let name = self.name();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        match opened(&mut self.nodes) {
            Ok(nodes) => {
                for node in nodes {
                    let after = node.read();
                    let metrics = node.metrics.each_ref().map(String::as_str);
                    growths(name, metrics, span, (&node.before, &after), readings);
                }
            }
            Err(why) => growths(name, METRICS, span, (&Err(why.clone()), &Err(why)), readings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, found, write};
    use super::*;

    fn node(root: &Path, number: u32, hits: u64, misses: u64) {
        let text = format!(
            "numa_hit {hits}\nnuma_miss {misses}\nnuma_foreign 0\ninterleave_hit 7\nlocal_node {hits}\nother_node 0\n"
        );
        write(root, &format!("sys/devices/system/node/node{number}/numastat"), &text);
    }

    #[test]
    fn every_node_has_its_own_figures() {
        let root = tempfile::tempdir().unwrap();
        node(root.path(), 0, 100, 0);
        node(root.path(), 12, 50, 1);
        write(root.path(), "sys/devices/system/node/online", "0,12\n");
        let mut sampler = Numa::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(1));
        node(root.path(), 0, 130, 0);
        node(root.path(), 12, 49, 4);
        let mut readings = Vec::new();
        sampler.finish(&at(2), &mut readings);
        assert_eq!(readings.len(), 10);
        assert_eq!(found(&readings, "node_0_hit_pages").value, Some(30.0));
        assert_eq!(found(&readings, "node_12_miss_pages").value, Some(3.0));
        assert!(found(&readings, "node_12_hit_pages").gap.as_ref().unwrap().contains("backwards"));
    }

    #[test]
    fn a_node_that_goes_offline_is_a_gap_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        node(root.path(), 0, 1, 0);
        node(root.path(), 1, 1, 0);
        let mut sampler = Numa::new(root.path());
        sampler.start(&at(1));
        write(root.path(), "sys/devices/system/node/node1/numastat", "");
        let mut readings = Vec::new();
        sampler.finish(&at(2), &mut readings);
        assert_eq!(found(&readings, "node_0_hit_pages").value, Some(0.0));
        let gap = found(&readings, "node_1_hit_pages").gap.as_ref().unwrap();
        assert!(gap.contains("node1/numastat has no readable line numa_hit"), "{gap}");
    }

    #[test]
    fn counters_that_are_switched_off_say_how_to_switch_them_on() {
        let root = tempfile::tempdir().unwrap();
        node(root.path(), 0, 1, 0);
        write(root.path(), "proc/sys/vm/numa_stat", "0\n");
        let Status::Denied { why, remedy } = Numa::new(root.path()).status() else {
            panic!("it stands still and must not be Ready");
        };
        assert!(why.contains("vm.numa_stat is 0") && remedy.contains("sysctl"));
        write(root.path(), "proc/sys/vm/numa_stat", "1\n");
        assert_eq!(Numa::new(root.path()).status(), Status::Ready);
    }
}
