//! Placements that take a whole part of the machine: one package, one NUMA node, a named group, all but some.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::placement_support::{CoreSpec, Thread, cpus, even, hybrid, machine, resolve};
use proptest::prelude::*;
use threadwise_machine::placement::remark;
use threadwise_machine::topology::Topology;
use threadwise_machine::{CpuSet, Draw, Placement};

/// Packages of so many cores of so many siblings, numbered core after core.
fn uneven(packages: &[(usize, u32)]) -> Topology {
    let mut numbers = 0..;
    let mut core = |threads: u32| CoreSpec {
        kind: 0,
        threads: (0..threads)
            .map(|_| Thread { os_id: numbers.next().unwrap(), allowed: true, online: true })
            .collect(),
    };
    let built: Vec<Vec<CoreSpec>> =
        packages.iter().map(|&(cores, threads)| (0..cores).map(|_| core(threads)).collect()).collect();
    machine(&built)
}

fn set(text: &str, topology: &Topology) -> Result<String, String> {
    cpus(text, topology).map(|found| found.into_iter().collect::<CpuSet>().to_string())
}

fn remark_of(text: &str, topology: &Topology) -> Option<String> {
    remark(&text.parse::<Placement>().unwrap(), topology)
}

/// 2 packages of 4 cores of 2 siblings: first siblings are 0-7, second ones 8-15.
#[test]
fn one_package_and_one_node_of_a_server() {
    let topology = even(2, 4, 2);
    for whole in ["package", "node", "all@p0", "all@n0"] {
        assert_eq!(cpus(whole, &topology).unwrap(), [0, 1, 2, 3, 8, 9, 10, 11], "{whole}");
    }
    for cores in ["package-no-smt", "node-no-smt", "no-smt@p0", "no-smt@llc0"] {
        assert_eq!(cpus(cores, &topology).unwrap(), [0, 1, 2, 3], "{cores}");
    }
    for half in ["package-half-cores", "node-half-cores", "half-cores@p0"] {
        assert_eq!(cpus(half, &topology).unwrap(), [0, 8, 1, 9], "{half}");
    }
    assert_eq!(cpus("package-but-one", &topology).unwrap(), [0, 1, 2]);
    assert_eq!(set("all@p1", &topology).unwrap(), "4-7,12-15");
    assert_eq!(set("half-cores@n1", &topology).unwrap(), "4-5,12-13");
    assert_eq!(remark_of("package", &topology), None);
    assert_eq!(remark_of("node-no-smt", &topology), None);
}

/// The published machine of the inserts, one package: 3c2t, 6c1t, 6c2t.
#[test]
fn the_published_arms_are_had_without_knowing_the_size() {
    let topology = even(2, 6, 2);
    for (name, shape) in [("package-half-cores", "3c2t"), ("package-no-smt", "6c1t"), ("package", "6c2t")] {
        assert_eq!(set(name, &topology), set(shape, &topology), "{name}");
    }
}

#[test]
fn half_of_an_odd_number_of_cores_is_rounded_down() {
    assert_eq!(cpus("package-half-cores", &even(1, 3, 2)).unwrap(), [0, 3]);
    assert_eq!(cpus("package-half-cores", &even(2, 5, 2)).unwrap().len(), 4);
}

#[test]
fn what_a_part_lacks_is_named() {
    let why = |text: &str, topology: &Topology| cpus(text, topology).unwrap_err();
    let needs = "it needs 2 cores with allowed SMT siblings";
    assert!(why("package-half-cores", &even(2, 1, 2)).contains(&format!("{needs}; this machine has 1")));
    assert!(why("package-half-cores", &even(1, 4, 1)).contains(&format!("{needs}; this machine has 0")));
    assert!(why("node-half-cores", &even(2, 1, 2)).contains(needs), "two nodes of one core each");
    assert_eq!(
        why("all@p2", &even(2, 2, 2)),
        "placement 'all@p2' is not possible here: it names package 2; this machine has 2 packages, counted from 0"
    );
    assert!(why("no-smt@k1", &even(1, 2, 2)).contains("core kind 1; this machine has 1 core kind"));
    assert!(why("all-but:4", &even(1, 2, 2)).contains("4 logical CPUs free, and 4 are allowed"));
}

#[test]
fn a_machine_that_declares_no_packages_or_nodes_counts_as_one() {
    let mut topology = even(2, 2, 2);
    topology.packages.clear();
    topology.numa_nodes.clear();
    topology.cores.iter_mut().for_each(|core| core.package = None);
    for text in ["package", "node", "all@p0"] {
        assert_eq!(set(text, &topology).unwrap(), "0-7", "{text}");
    }
    assert!(cpus("all@n0", &topology).unwrap_err().contains("NUMA node 0; this machine has 0 NUMA nodes"));
}

#[test]
fn of_unlike_packages_the_larger_is_taken_and_named() {
    let topology = uneven(&[(2, 2), (3, 2)]);
    for block in 0..8 {
        let draw = Draw::for_block(&topology, 3, block);
        for (text, cpus) in [("package", "4-9"), ("node", "4-9")] {
            assert_eq!(resolve(text, &topology, &draw).unwrap().set().to_string(), cpus, "block {block}");
        }
    }
    assert_eq!(
        remark_of("package-no-smt", &topology).unwrap(),
        "2 packages have 4, 6 allowed logical CPUs and are not alike; every block takes package 1"
    );
    assert_eq!(
        remark_of("node", &topology).unwrap(),
        "2 NUMA nodes have 4, 6 allowed logical CPUs and are not alike; every block takes NUMA node 1"
    );
    let three = uneven(&[(3, 2), (2, 2), (3, 2)]);
    assert!(remark_of("package", &three).unwrap().ends_with("a block takes one of package 0, 2"));
    // As many logical CPUs, and yet not alike.
    let twice = uneven(&[(4, 1), (2, 2)]);
    assert!(
        remark_of("package", &twice).unwrap().contains("have 4, 4 allowed logical CPUs and are not alike")
    );
}

#[test]
fn whole_cores_are_left_free_where_they_fit() {
    // Cores of 2 siblings: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    let topology = even(1, 4, 2);
    assert_eq!(set("all-but:1", &topology).unwrap(), "0-6");
    assert_eq!(set("all-but:2", &topology).unwrap(), "0-2,4-6");
    assert_eq!(set("all-but:3", &topology).unwrap(), "0-2,4-5");
    assert_eq!(set("all-but:7", &topology).unwrap(), "0");
    // Fast cores 0-1, 2-3, slow ones 4, 5, 6: one slow core is a whole one.
    let mixed = hybrid(2, 3);
    assert_eq!(set("all-but:1", &mixed).unwrap(), "0-5");
    assert_eq!(set("all-but:3", &mixed).unwrap(), "0-3");
    assert!(remark_of("all-but:2", &topology).unwrap().starts_with("2 logical CPUs stay free, whole cores"));
}

/// Packages of equal or unequal sizes, of 1 to 3 siblings a core.
fn any_packages() -> impl Strategy<Value = Vec<(usize, u32)>> {
    prop::collection::vec((1_usize..6, 1_u32..4), 1..4)
}

proptest! {
    #[test]
    fn treatments_of_one_part_share_it(packages in any_packages(), seed in any::<u64>(), block in 0_u32..40) {
        let topology = uneven(&packages);
        let draw = Draw::for_block(&topology, seed, block);
        let get = |text: &str| resolve(text, &topology, &draw).map(|found| found.set());
        for part in ["package", "node"] {
            let whole = get(part).unwrap();
            let first = whole.iter().next().unwrap();
            let package = topology.cpu(first).unwrap().package.unwrap();
            let cores: Vec<usize> = topology
                .cores
                .iter()
                .filter(|core| core.package == Some(package))
                .map(|core| core.cpus.len())
                .collect();
            prop_assert_eq!(&whole, &topology.packages[package as usize].cpus);
            let firsts = get(&format!("{part}-no-smt")).unwrap();
            prop_assert!(firsts.is_subset(&whole));
            prop_assert_eq!(firsts.len(), cores.len());
            let with_siblings = cores.iter().filter(|&&count| count > 1).count();
            let half = get(&format!("{part}-half-cores"));
            prop_assert_eq!(half.is_ok(), with_siblings >= 2);
            if let Ok(half) = half {
                prop_assert!(half.is_subset(&whole));
                prop_assert_eq!(half.intersection(&firsts).len(), with_siblings / 2, "cores of the same draw");
                // All siblings of each of its cores.
                for cpu in half.iter() {
                    prop_assert!(topology.cpu(cpu).unwrap().siblings.is_subset(&half));
                }
            }
        }
        let package = get("package").unwrap();
        prop_assert!(get("package-but-one").unwrap().is_subset(&get("package-no-smt").unwrap()));
        prop_assert!(package.contains(draw.siblings[draw.cores[0] as usize][0]), "the baseline's core is inside");
        // Every block takes as many logical CPUs.
        let other = Draw::for_block(&topology, seed, block + 1);
        for part in ["package", "node"] {
            prop_assert_eq!(get(part).unwrap().len(), resolve(part, &topology, &other).unwrap().cpus.len());
        }
    }

    #[test]
    fn as_many_are_free_as_asked_for(packages in any_packages(), free in 1_u32..12, seed in any::<u64>(), block in 0_u32..40) {
        let topology = uneven(&packages);
        let draw = Draw::for_block(&topology, seed, block);
        let all = topology.allowed();
        let Ok(found) = resolve(&format!("all-but:{free}"), &topology, &draw) else {
            prop_assert!(all.len() <= free as usize);
            return Ok(());
        };
        prop_assert_eq!(found.set().len(), all.len() - free as usize);
        let rest = all.difference(&found.set());
        // Whole cores first: at most one is partly free.
        let partly = topology.cores.iter().filter(|core| {
            let count = core.cpus.intersection(&rest).len();
            count > 0 && count < core.cpus.len()
        });
        prop_assert!(partly.count() <= 1);
    }
}
