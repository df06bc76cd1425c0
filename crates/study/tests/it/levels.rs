//! The default study on machines of 2 to 512 logical CPUs: every level of locality once, within its minute.

use crate::support::{machine, names};
use threadwise_machine::topology::{Group, NumaNode};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{Stopping, Study};

const MIB: u64 = 1 << 20;

/// Packages, cores of each, logical CPUs of a core; NUMA nodes and last-level caches of a package.
struct Built {
    machine: [u32; 3],
    nodes: u32,
    llcs: u32,
}

impl Built {
    fn topology(&self) -> Topology {
        let [packages, cores, threads] = self.machine;
        let mut topology = machine(packages, cores, threads, Some(MIB), Some(32 * MIB));
        let parts = |count: u32| -> Vec<CpuSet> {
            let each = (cores / count) as usize;
            topology
                .cores
                .chunks(each)
                .map(|part| part.iter().flat_map(|core| core.cpus.iter()).collect())
                .collect()
        };
        let (nodes, llcs) = (parts(self.nodes), parts(self.llcs));
        let at =
            |sets: &[CpuSet], cpu: u32| sets.iter().position(|set| set.contains(cpu)).map(|at| at as u32);
        for cpu in &mut topology.logical_cpus {
            (cpu.numa_node, cpu.llc) = (at(&nodes, cpu.os_id), at(&llcs, cpu.os_id));
        }
        let node = |(id, cpus): (i64, CpuSet)| NumaNode { os_id: Some(id), cpus, memory_bytes: None };
        topology.numa_nodes = (0..).zip(nodes).map(node).collect();
        topology.llc_domains = llcs.into_iter().map(|cpus| Group { os_id: None, cpus }).collect();
        topology
    }
}

fn default_study(topology: &Topology) -> Study {
    StudyFile::preset("placement").unwrap().resolve(topology, &Overrides::default()).unwrap()
}

#[test]
fn every_level_once_within_a_minute() {
    let two = ["one-cpu", "same-core", "same-package"];
    // Logical CPUs, the machine, what is compared with data beyond the LLC, rounds.
    let table: [(usize, Built, Vec<&str>, u32); 7] = [
        (
            2,
            Built { machine: [1, 2, 1], nodes: 1, llcs: 1 },
            vec!["one-cpu", "same-package", "sessions-3"],
            10,
        ),
        (
            8,
            Built { machine: [1, 4, 2], nodes: 1, llcs: 1 },
            [&two[..], &["sessions-4", "sessions-8", "sessions-12"]].concat(),
            8,
        ),
        (
            8,
            Built { machine: [1, 8, 1], nodes: 1, llcs: 2 },
            vec!["one-cpu", "same-package", "same-l3", "sessions-4", "sessions-8", "sessions-12"],
            8,
        ),
        (
            64,
            Built { machine: [2, 16, 2], nodes: 1, llcs: 4 },
            [&two[..], &["same-l3", "cross-package"]].concat(),
            8,
        ),
        (192, Built { machine: [1, 96, 2], nodes: 1, llcs: 12 }, [&two[..], &["same-l3"]].concat(), 9),
        (
            192,
            Built { machine: [2, 48, 2], nodes: 4, llcs: 4 },
            [&two[..], &["same-l3", "cross-package"]].concat(),
            8,
        ),
        (
            512,
            Built { machine: [2, 128, 2], nodes: 4, llcs: 16 },
            [&two[..], &["same-l3", "cross-node", "cross-package"]].concat(),
            7,
        ),
    ];
    for (cpus, built, compared, rounds) in table {
        let topology = built.topology();
        assert_eq!(topology.allowed().len(), cpus);
        let study = default_study(&topology);
        let last: Vec<String> = names(&study)
            .into_iter()
            .filter(|name| !name.ends_with("/l2") && !name.starts_with("alone"))
            .map(|name| name.split('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(last, compared, "{cpus}: {:?}", study.left_out);
        assert_eq!(study.design.stopping, Stopping::Budget { budget_s: 60.0 }, "{cpus}");
        assert_eq!(study.design.rounds, rounds, "{cpus}: {} treatments", study.treatments.len());
    }
}

#[test]
fn levels_are_compared_with_two_cores_of_a_package() {
    let topology = Built { machine: [2, 128, 2], nodes: 4, llcs: 16 }.topology();
    let study = default_study(&topology);
    let of_levels: Vec<(&str, &str)> = study
        .comparisons
        .iter()
        .filter(|one| ["shared-l2", "shared-l3", "nodes", "packages"].contains(&one.kind.word()))
        .map(|one| (one.name.as_str(), one.baseline[0].as_str()))
        .collect();
    assert_eq!(
        of_levels,
        [
            ("shared-l3/l2", "same-package/l2"),
            ("nodes/l2", "same-package/l2"),
            ("packages/l2", "same-package/l2"),
            ("shared-l3/memory", "same-package/memory"),
            ("nodes/memory", "same-package/memory"),
            ("packages/memory", "same-package/memory"),
        ]
    );
}
