//! Where the memory of a treatment's sessions lies, before its first slice and after its last.

use super::input::Input;
use super::treatment_run::TreatmentRun;
use crate::memory;
use std::collections::BTreeMap;
use threadwise_study::pages::{SAMPLER, SERVER, metric};
use threadwise_study::{Counters, Reading};

/// Adds the bytes on each NUMA node to a run's readings, on a machine with several. A server with a process for each
/// session has those of each by the session's logical CPU, and another one those of the process of all its sessions.
pub(super) fn read(input: &Input<'_>, run: &mut TreatmentRun<'_>) {
    let has_memory = |node: &&threadwise_machine::topology::NumaNode| node.memory_bytes != Some(0);
    if input.topology.numa_nodes.iter().filter(has_memory).count() < 2 || run.worker.is_none() {
        return;
    }
    let now_ns = input.clock.now_ns();
    for (cpu, pid) in processes(run) {
        let found = match memory::bytes_by_node(pid) {
            Ok(nodes) => {
                nodes.into_iter().map(|(node, bytes)| bytes_read(metric(node), bytes, now_ns)).collect()
            }
            Err(why) => {
                vec![Reading { value: None, gap: Some(why), ..bytes_read("bytes".to_owned(), 0, now_ns) }]
            }
        };
        run.readings.extend(found.into_iter().map(|reading| Reading { cpu, ..reading }));
    }
}

/// Adds what a server says of its memory, before the first slice or after the last.
pub(super) fn of_server(input: &Input<'_>, run: &mut TreatmentRun<'_>, memory: Counters) {
    let now_ns = input.clock.now_ns();
    let found = memory.into_iter().map(|(metric, bytes)| bytes_read(metric, bytes, now_ns));
    run.readings.extend(found.map(|reading| Reading { sampler: SERVER.to_owned(), ..reading }));
}

/// A number of bytes at one moment.
fn bytes_read(metric: String, bytes: u64, now_ns: u64) -> Reading {
    Reading {
        sampler: SAMPLER.to_owned(),
        metric,
        cpu: None,
        start_ns: now_ns,
        end_ns: now_ns,
        value: Some(bytes as f64),
        gap: None,
    }
}

/// The processes of sessions, each with the logical CPU of its session if that has a process of its own.
fn processes(run: &TreatmentRun<'_>) -> Vec<(Option<u32>, u32)> {
    let sessions = run.placed.iter().filter(|thread| thread.name.starts_with("session"));
    let mut of_server: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    for thread in sessions {
        of_server.entry(thread.pid).and_modify(|cpu| *cpu = None).or_insert(thread.cpus.first());
    }
    match (of_server.len(), run.worker.as_ref()) {
        (0, Some(worker)) => vec![(None, worker.pid())],
        (1, _) => of_server.into_keys().map(|pid| (None, pid)).collect(),
        _ => of_server.into_iter().map(|(pid, cpu)| (cpu, pid)).collect(),
    }
}
