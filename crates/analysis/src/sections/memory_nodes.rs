//! Where the memory of each treatment's sessions lay, and what share of it was on another NUMA node than the session.

use crate::{Facts, Interval};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::numbers::{self, percent};
use threadwise_document::{Block, Cell, Column, Section, Shown, Table};
use threadwise_machine::Topology;
use threadwise_statistics::{arithmetic, mean};
use threadwise_study::{Run, pages};

/// Most NUMA nodes with a column of their own.
const MAX_NODES: usize = 8;

/// Shares of one treatment's memory, means over its runs.
#[derive(Debug, Clone, PartialEq)]
struct Lay {
    /// By the system's number of the node.
    by_node: BTreeMap<u32, f64>,
    /// Remote share of each session's memory, in the order of sessions; empty if their nodes are not known.
    remote: Vec<f64>,
    /// The mean over sessions in each run.
    by_run: Vec<f64>,
}

impl Lay {
    /// The remote share over runs, with its interval where there are two.
    fn of_runs(&self, alpha: f64) -> Cell {
        match arithmetic(&self.by_run, "share", alpha) {
            Some(share) if self.by_run.len() > 1 => {
                Cell::Share(Interval { high: share.high.min(1.0), ..share })
            }
            _ => Cell::value(self.by_run.first().copied(), "share"),
        }
    }
}

/// The table; `None` if no pages were counted.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let found = facts.study.treatments.iter().filter_map(|treatment| {
        let runs = facts.runs.iter().filter(|run| run.status.is_valid() && run.treatment == treatment.name);
        Some((treatment, lay(facts.topology, runs)?))
    });
    let found: Vec<_> = found.collect();
    let nodes: BTreeSet<u32> = found.iter().flat_map(|(_, lay)| lay.by_node.keys().copied()).collect();
    let shown: Vec<u32> = nodes.iter().copied().take(MAX_NODES).collect();
    let mut columns = vec![Column::text("treatment"), Column::text("memory")];
    columns.extend(shown.iter().map(|node| Column::figure(format!("node {node}"))));
    columns.push(Column::figure("on another node than its session"));
    columns.push(Column::figure("least to most of a session").shown(Shown::Page));
    let alpha = 1.0 - facts.level();
    let rows = found.iter().map(|(treatment, lay)| {
        let nodes =
            shown.iter().map(|node| Cell::value(lay.by_node.get(node).copied().unwrap_or(0.0), "share"));
        let ends = ends(&lay.remote);
        let remote = match ends {
            None => [Cell::none(), Cell::none()],
            Some((least, most)) => {
                [lay.of_runs(alpha), Cell::text(format!("{} to {}", percent(least), percent(most)))]
            }
        };
        [Cell::text(&treatment.name), Cell::text(treatment.memory.to_string())]
            .into_iter()
            .chain(nodes)
            .chain(remote)
            .collect()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let more = match nodes.len() - shown.len() {
        0 => String::new(),
        more => format!(" ({more} more nodes: see the export)"),
    };
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::on_page(ABOUT));
        blocks.push(Block::Table(Table::new(format!("Memory by NUMA node{more}"), columns, rows)));
    }
    blocks.extend(of_servers(facts).map(Block::Table));
    (!blocks.is_empty()).then(|| Section::new("memory-nodes", "Where memory lay", blocks))
}

const ABOUT: &str = "Pages that the processes of sessions had mapped after the last slice, from /proc/PID/numa_maps. Where all \
     sessions are threads of one process, pages are not separate by session: a session's share is that of the process.";

/// What servers say of their own memory; `None` if none said anything.
fn of_servers(facts: &Facts<'_>) -> Option<Table> {
    let rows = facts.study.treatments.iter().flat_map(|treatment| {
        let runs = facts.runs.iter().filter(|run| run.status.is_valid() && run.treatment == treatment.name);
        // Of several runs the last, since a server's memory is its own from run to run.
        let last = runs.map(|run| pages::last_of_server(&run.readings)).rfind(|kinds| !kinds.is_empty());
        last.unwrap_or_default().into_iter().map(|(kind, nodes)| {
            let bytes =
                nodes.iter().map(|(node, bytes)| format!("node {node}: {}", numbers::bytes(*bytes as u64)));
            [treatment.name.clone(), kind.to_owned(), bytes.collect::<Vec<_>>().join(", ")]
                .map(Cell::Text)
                .into()
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns =
        vec![Column::text("treatment"), Column::text("memory"), Column::text("bytes after the last slice")];
    (!rows.is_empty())
        .then(|| Table::new("The server's memory by NUMA node, as it says itself", columns, rows))
}

fn ends(shares: &[f64]) -> Option<(f64, f64)> {
    let least = shares.iter().copied().reduce(f64::min)?;
    Some((least, shares.iter().copied().reduce(f64::max)?))
}

/// `None` without a run whose pages were counted.
fn lay<'r>(topology: &Topology, runs: impl Iterator<Item = &'r Run>) -> Option<Lay> {
    let mut by_node: BTreeMap<u32, f64> = BTreeMap::new();
    let mut remote: Vec<Vec<f64>> = Vec::new();
    let mut by_run = Vec::new();
    let mut count = 0.0;
    for run in runs {
        let processes = pages::last(&run.readings);
        let total: f64 = processes.values().flat_map(BTreeMap::values).sum();
        if total <= 0.0 {
            continue;
        }
        count += 1.0;
        for (node, bytes) in processes.values().flatten() {
            *by_node.entry(*node).or_default() += bytes / total;
        }
        let mut shares = Vec::new();
        for (session, cpu) in run.cpus.iter().enumerate() {
            let process = processes.get(&Some(*cpu)).or_else(|| processes.get(&None));
            let Some(share) = process.and_then(|nodes| remote_share(topology, *cpu, nodes)) else { continue };
            if remote.len() <= session {
                remote.resize(session + 1, Vec::new());
            }
            remote[session].push(share);
            shares.push(share);
        }
        by_run.extend(mean(shares.iter().copied()));
    }
    by_node.values_mut().for_each(|share| *share /= count);
    let remote = remote.into_iter().filter_map(|shares| mean(shares.into_iter())).collect();
    (count > 0.0).then_some(Lay { by_node, remote, by_run })
}

/// The share of bytes on another node than that of a logical CPU; `None` if that is not known.
fn remote_share(topology: &Topology, cpu: u32, nodes: &BTreeMap<u32, f64>) -> Option<f64> {
    let home = topology.numa_nodes.get(topology.cpu(cpu)?.numa_node? as usize)?.os_id?;
    let total: f64 = nodes.values().sum();
    let local = nodes.iter().find(|(node, _)| i64::from(**node) == home).map_or(0.0, |(_, bytes)| *bytes);
    (total > 0.0).then(|| 1.0 - local / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{machine, run};
    use threadwise_machine::topology::NumaNode;
    use threadwise_study::Reading;

    /// Two packages of a core, each a node.
    fn two_nodes() -> Topology {
        let mut topology = machine(2, 1, 1);
        let node = |node: u32| NumaNode {
            os_id: Some(i64::from(node)),
            cpus: [node].into_iter().collect(),
            memory_bytes: None,
        };
        topology.numa_nodes = vec![node(0), node(1)];
        topology.logical_cpus.iter_mut().for_each(|cpu| cpu.numa_node = Some(cpu.os_id));
        topology
    }

    fn reading(cpu: Option<u32>, node: u32, mib: f64, at: u64) -> Reading {
        Reading {
            sampler: pages::SAMPLER.to_owned(),
            metric: pages::metric(node),
            cpu,
            start_ns: at,
            end_ns: at,
            value: Some(mib),
            gap: None,
        }
    }

    fn placed(cpus: &[u32], readings: Vec<Reading>) -> Run {
        Run { cpus: cpus.to_vec(), readings, ..run(0, "A", &[1]) }
    }

    #[test]
    fn the_last_pages_of_each_process_count() {
        let apart = placed(
            &[0, 1],
            vec![
                reading(Some(0), 0, 9.0, 1),
                reading(Some(0), 0, 30.0, 2),
                reading(Some(0), 1, 10.0, 2),
                reading(Some(1), 0, 40.0, 2),
            ],
        );
        let found = lay(&two_nodes(), [&apart].into_iter()).unwrap();
        assert_eq!(found.by_node, BTreeMap::from([(0, 0.875), (1, 0.125)]));
        assert_eq!((found.remote.as_slice(), found.by_run.as_slice()), (&[0.25, 1.0][..], &[0.625][..]));
    }

    #[test]
    fn a_node_without_pages_any_more_is_left_out() {
        let moved = placed(
            &[0],
            vec![reading(None, 1, 50.0, 1), reading(None, 0, 20.0, 1), reading(None, 0, 70.0, 2)],
        );
        let found = lay(&two_nodes(), [&moved, &moved].into_iter()).unwrap();
        assert_eq!((found.by_node, found.by_run.as_slice()), (BTreeMap::from([(0, 1.0)]), &[0.0, 0.0][..]));
    }

    #[test]
    fn threads_of_one_process_have_its_share() {
        let shared = placed(&[0, 1], vec![reading(None, 0, 75.0, 1), reading(None, 1, 25.0, 1)]);
        let none = placed(&[0], Vec::new());
        let found = lay(&two_nodes(), [&shared, &none].into_iter()).unwrap();
        assert_eq!(found.remote, [0.25, 0.75]);
        assert_eq!(lay(&two_nodes(), [&none].into_iter()), None);
        // Without nodes of logical CPUs only the nodes of pages are known.
        assert!(lay(&machine(2, 1, 1), [&shared].into_iter()).unwrap().remote.is_empty());
    }
}
