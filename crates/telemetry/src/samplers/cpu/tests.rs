//! Recorded /proc/stat: figures of the placement and of the others, stragglers, gaps.

use super::super::testing::{found, write};
use super::*;
use threadwise_machine::CpuSet;
use threadwise_machine::topology::{Core, LogicalCpu};

/// Cores of these logical CPUs, all of them online and allowed.
fn machine(cores: &[&str]) -> Topology {
    let mut topology = Topology::default();
    for (core, cpus) in cores.iter().enumerate() {
        let cpus = CpuSet::parse_list(cpus).unwrap();
        for os_id in cpus.iter() {
            let siblings = cpus.clone();
            let core = Some(core as u32);
            let cpu = LogicalCpu { os_id, core, siblings, online: true, allowed: true, ..Default::default() };
            topology.logical_cpus.push(cpu);
        }
        topology.cores.push(Core { cpus, ..Core::default() });
    }
    topology.logical_cpus.sort_by_key(|cpu| cpu.os_id);
    topology
}

/// Ticks of logical CPUs 0, 1, …: user, idle, softirq, steal.
fn stat(root: &Path, cpus: &[[u64; 4]]) {
    let line = |(cpu, [user, idle, soft, steal]): (usize, &[u64; 4])| {
        format!("cpu{cpu} {user} 0 0 {idle} 0 0 {soft} {steal} 0 0\n")
    };
    let lines: String = cpus.iter().enumerate().map(line).collect();
    write(root, "proc/stat", &format!("cpu  1 1 1 1\n{lines}intr 5\n"));
}

/// Readings between two states with a placement; `between` may look in between.
fn window(
    topology: &Topology,
    placement: &str,
    states: &[&[[u64; 4]]],
    at_end: impl FnOnce(&Path),
) -> Vec<Reading> {
    let root = tempfile::tempdir().unwrap();
    let cpus = CpuSet::parse_list(placement).unwrap();
    stat(root.path(), states[0]);
    let mut sampler = Cpu::new(root.path(), topology);
    assert_eq!(sampler.status(), Status::Ready);
    let moment = |look: usize| Moment { now_ns: look as u64 * 100 * MS, cpus: &cpus, pids: &[] };
    sampler.start(&moment(0));
    for (look, state) in states.iter().enumerate().skip(1).take(states.len() - 2) {
        stat(root.path(), state);
        sampler.tick(&moment(look));
    }
    stat(root.path(), states[states.len() - 1]);
    at_end(root.path());
    let mut readings = Vec::new();
    sampler.finish(&moment(states.len() - 1), &mut readings);
    assert!(readings.iter().all(|reading| reading.value.is_some() != reading.gap.is_some()));
    readings
}

const MS: u64 = 1_000_000;
const STRAGGLERS: &str = "siblings_busy_core_idle_ns";

fn of_cpu<'a>(readings: &'a [Reading], metric: &str, cpu: u32) -> &'a Reading {
    readings.iter().find(|reading| reading.metric == metric && reading.cpu == Some(cpu)).unwrap()
}

#[test]
fn the_placement_is_reported_one_by_one_and_the_rest_as_sums() {
    let before = [[10, 90, 5, 1], [0, 100, 0, 0], [3, 97, 0, 0]];
    let after = [[16, 91, 7, 2], [2, 108, 0, 0], [4, 106, 0, 1]];
    let readings = window(&machine(&["0", "1", "2"]), "0", &[&before, &after], |_| {});
    assert_eq!(readings.len(), 4 + 4 + 1);
    let value = |metric: &str| of_cpu(&readings, metric, 0).value.unwrap() as u64;
    assert_eq!(value("busy_ns"), 80 * MS, "softirq is inside busy");
    assert_eq!((value("irq_ns"), value("steal_ns"), value("total_ns")), (20 * MS, 10 * MS, 100 * MS));
    let others = |metric: &str| found(&readings, metric).value.unwrap() as u64;
    assert_eq!((others("others_busy_ns"), others("others_steal_ns")), (30 * MS, 10 * MS));
    assert_eq!(others("others_total_ns"), 210 * MS);
    assert!(found(&readings, STRAGGLERS).gap.as_ref().unwrap().contains("2 SMT siblings"));
}

#[test]
fn siblings_that_share_a_core_beside_an_idle_one_are_seen() {
    // CPUs 0 and 2 are one core, 1 and 3 the other.
    let topology = machine(&["0,2", "1,3"]);
    let start = [[0, 0, 0, 0]; 4];
    let both_on_one = [[10, 0, 0, 0], [0, 10, 0, 0], [8, 2, 0, 0], [0, 10, 0, 0]];
    let readings = window(&topology, "0-3", &[&start, &both_on_one], |_| {});
    assert_eq!(found(&readings, STRAGGLERS).value, Some(80.0 * MS as f64));
    let spread = [[10, 0, 0, 0], [10, 0, 0, 0], [0, 10, 0, 0], [0, 10, 0, 0]];
    let readings = window(&topology, "0-3", &[&start, &spread], |_| {});
    assert_eq!(found(&readings, STRAGGLERS).value, Some(0.0));
    let all_busy = [[10, 0, 0, 0]; 4];
    let readings = window(&topology, "0-3", &[&start, &all_busy], |_| {});
    assert_eq!(found(&readings, STRAGGLERS).value, Some(0.0));
}

#[test]
fn time_that_alternates_is_found_by_the_looks_in_between() {
    let topology = machine(&["0,2", "1,3"]);
    let start = [[0, 0, 0, 0]; 4];
    // First both on one core, then all four busy: over the whole window the shares say less.
    let middle = [[10, 0, 0, 0], [0, 10, 0, 0], [10, 0, 0, 0], [0, 10, 0, 0]];
    let end = [[20, 0, 0, 0], [10, 10, 0, 0], [20, 0, 0, 0], [10, 10, 0, 0]];
    let readings = window(&topology, "0", &[&start, &middle, &end], |_| {});
    assert_eq!(found(&readings, STRAGGLERS).value, Some(100.0 * MS as f64));
    // A look before the first tick tells nothing and loses nothing.
    let readings = window(&topology, "0", &[&start, &start, &middle], |_| {});
    assert_eq!(found(&readings, STRAGGLERS).value, Some(200.0 * MS as f64));
    let readings = window(&topology, "0", &[&start, &start], |_| {});
    assert!(found(&readings, STRAGGLERS).gap.as_ref().unwrap().contains("10 ms"));
}

#[test]
fn the_idle_core_must_be_another_one_and_stolen_time_is_not_idle() {
    let shares = |cpus: &[[u64; 4]]| {
        let ticks: Vec<CpuTicks> = cpus
            .iter()
            .enumerate()
            .map(|(cpu, &[busy, idle, irq, steal])| CpuTicks {
                cpu: cpu as u32,
                busy,
                idle,
                iowait: 0,
                irq,
                steal,
            })
            .collect();
        let zero: Vec<CpuTicks> =
            ticks.iter().map(|entry| CpuTicks { cpu: entry.cpu, ..CpuTicks::default() }).collect();
        Shares::between(&zero, &ticks)
    };
    let cores = vec![vec![0, 2], vec![1, 3]];
    // Half busy, half idle, at both siblings of core 0; core 1 is never idle as a whole.
    let half = shares(&[[5, 5, 0, 0], [10, 0, 0, 0], [5, 5, 0, 0], [0, 10, 0, 0]]);
    assert_eq!(straggling(&cores, &half), Ok(0.0));
    let stolen = shares(&[[10, 0, 0, 0], [0, 0, 0, 10], [10, 0, 0, 0], [0, 10, 0, 0]]);
    assert_eq!(straggling(&cores, &stolen), Ok(0.0));
    let third = vec![vec![0, 2], vec![1, 3], vec![4, 5]];
    let beside =
        shares(&[[10, 0, 0, 0], [5, 5, 0, 0], [10, 0, 0, 0], [0, 10, 0, 0], [1, 9, 0, 0], [2, 8, 0, 0]]);
    assert_eq!(straggling(&third, &beside), Ok(0.8));
}

#[test]
fn a_logical_cpu_that_goes_offline_or_runs_backwards_is_a_gap() {
    let topology = machine(&["0,2", "1,3"]);
    let before = [[10, 90, 0, 0]; 4];
    let shorter = [[15, 95, 0, 0], [9, 99, 0, 0], [20, 90, 0, 0]];
    let readings = window(&topology, "0-1,3", &[&before, &shorter], |_| {});
    let gap = |cpu: u32| of_cpu(&readings, "busy_ns", cpu).gap.clone().unwrap();
    assert_eq!(of_cpu(&readings, "busy_ns", 0).value, Some(50.0 * MS as f64));
    assert!(gap(1).contains("logical CPU 1 ran backwards"));
    assert!(gap(3).contains("logical CPU 3 is not in proc/stat"));
    assert!(found(&readings, STRAGGLERS).gap.as_ref().unwrap().contains("logical CPU 1"));
    assert_eq!(found(&readings, "others_busy_ns").value, Some(100.0 * MS as f64));
    let readings = window(&topology, "0", &[&before, &shorter[..1]], |_| {});
    assert!(found(&readings, "others_busy_ns").gap.as_ref().unwrap().contains("went offline"));
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_a_gap_for_everything() {
    let states: [&[[u64; 4]]; 2] = [&[[1, 1, 1, 1]; 2], &[[2, 2, 2, 2]; 2]];
    let damage = |root: &Path| write(root, "proc/stat", "");
    let readings = window(&machine(&["0-1"]), "0", &states, damage);
    assert!(readings.iter().all(|reading| reading.gap.is_some()));
    assert!(found(&readings, "others_busy_ns").gap.as_ref().unwrap().contains("proc/stat"));
}
