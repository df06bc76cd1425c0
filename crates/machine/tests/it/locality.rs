//! Levels of locality: a table of machines with the logical CPUs of every name and order, worked out by hand from how
//! the machines are built; and what holds on any machine.
//!
//! The machines are those that processors' makers document: AMD, "NUMA Topology for EPYC Processors" (nodes per socket,
//! core complexes); Intel, "Sub-NUMA Clustering"; Arm, "Neoverse N1" (no shared L2); IBM, "POWER9 Processor User's
//! Manual" (an L2 and L3 for each pair of cores).
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::placement_support::{Counts, cpus, declare, hybrid, nested, resolve};
use proptest::prelude::*;
use threadwise_machine::placement::{Localities, Locality};
use threadwise_machine::topology::{Cache, Group};
use threadwise_machine::{CpuSet, Draw, Topology};

/// The names of pairs, in the order of the tables.
const PAIRS: [&str; 8] = [
    "same-core",
    "same-l2",
    "same-l3",
    "cross-l3",
    "same-node",
    "cross-node",
    "same-package",
    "cross-package",
];

/// Those that mean one thing on every machine.
const ONE_RULE: [&str; 5] = ["same-core", "same-l2", "cross-l3", "cross-node", "cross-package"];

fn counts(packages: u32, nodes: u32, llcs: u32, l2s: u32, cores: u32, threads: u32) -> Topology {
    Counts { packages, nodes, llcs, l2s, cores, threads }.machine()
}

/// The pairs of a machine in its own order of cores; `-` for what it lacks.
fn pairs(topology: &Topology) -> Vec<String> {
    let text = |name: &&str| match cpus(name, topology) {
        Ok(cpus) => cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        Err(_) => "-".to_owned(),
    };
    PAIRS.iter().map(text).collect()
}

fn first(order: &str, topology: &Topology) -> Vec<u32> {
    cpus(order, topology).unwrap()
}

/// One L3 that all cores of a package share, over several nodes: sub-NUMA clusters as Linux shows them on processors
/// whose cache is still one.
fn one_llc_a_package(mut topology: Topology) -> Topology {
    topology.llc_domains = topology.packages.clone();
    declare(&mut topology);
    topology
}

#[test]
fn pairs_by_level() {
    let undeclared = |mut topology: Topology| {
        topology.llc_domains.clear();
        topology.caches.clear();
        declare(&mut topology);
        topology
    };
    // same-core, same-l2, same-l3, cross-l3, same-node, cross-node, same-package, cross-package
    let table: [(&str, Topology, [&str; 8]); 13] = [
        (
            "EPYC, 2 L3s of 8 cores, NPS1",
            counts(1, 1, 2, 8, 1, 2),
            ["0,1", "-", "0,2", "0,16", "0,16", "-", "0,16", "-"],
        ),
        (
            "2 x EPYC, 8 L3s, NPS1",
            counts(2, 1, 8, 8, 1, 2),
            ["0,1", "-", "0,2", "0,16", "0,16", "-", "0,16", "0,128"],
        ),
        (
            "2 x EPYC, 12 L3s, NPS1",
            counts(2, 1, 12, 8, 1, 2),
            ["0,1", "-", "0,2", "0,16", "0,16", "-", "0,16", "0,192"],
        ),
        (
            "2 x EPYC, 12 L3s, NPS4",
            counts(2, 4, 3, 8, 1, 2),
            ["0,1", "-", "0,2", "0,16", "0,16", "0,48", "0,16", "0,192"],
        ),
        (
            "2 x EPYC, 8 L3s, a node each",
            counts(2, 8, 1, 8, 1, 2),
            ["0,1", "-", "0,2", "-", "0,2", "0,16", "0,16", "0,128"],
        ),
        (
            "EPYC, 16 L3s, NPS4",
            counts(1, 4, 4, 8, 1, 2),
            ["0,1", "-", "0,2", "0,16", "0,16", "0,64", "0,16", "-"],
        ),
        (
            "Xeon, SNC2, an L3 each",
            counts(2, 2, 1, 16, 1, 2),
            ["0,1", "-", "0,2", "-", "0,2", "0,32", "0,32", "0,64"],
        ),
        (
            "Xeon, SNC3, one L3",
            one_llc_a_package(counts(2, 3, 1, 16, 1, 2)),
            ["0,1", "-", "0,2", "-", "0,2", "0,32", "0,2", "0,96"],
        ),
        (
            "2 x Ampere, 80 cores",
            counts(2, 1, 1, 80, 1, 1),
            ["-", "-", "0,1", "-", "0,1", "-", "0,1", "0,80"],
        ),
        ("Graviton, 64 cores", counts(1, 1, 1, 64, 1, 1), ["-", "-", "0,1", "-", "0,1", "-", "0,1", "-"]),
        (
            "POWER9, an L3 for each 2 cores",
            counts(2, 1, 8, 1, 2, 4),
            ["0,1", "0,4", "0,4", "0,8", "0,8", "-", "0,8", "0,64"],
        ),
        ("an L3 for each core", counts(1, 1, 4, 1, 1, 2), ["0,1", "-", "-", "0,2", "0,2", "-", "0,2", "-"]),
        (
            "a guest that declares no caches",
            undeclared(counts(1, 1, 1, 4, 1, 1)),
            ["-", "-", "-", "-", "0,1", "-", "0,1", "-"],
        ),
    ];
    for (name, topology, expected) in table {
        assert_eq!(pairs(&topology), expected, "{name}");
    }
}

#[test]
fn orders_by_level() {
    // 2 packages of 2 nodes of 2 L3s of 2 cores of 2 logical CPUs: cores have the even numbers 0 to 30.
    let topology = counts(2, 2, 2, 2, 1, 2);
    let spread = [0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30, 1, 17];
    assert_eq!(first("spread:18", &topology), spread);
    assert_eq!(first("packed:6", &topology), [0, 1, 2, 3, 4, 5]);
    assert_eq!(first("packed-cores:8", &topology), [0, 2, 4, 6, 8, 10, 12, 14]);
    assert_eq!(first("packed-cores:18", &topology)[14..], [28, 30, 1, 3]);
    assert_eq!(first("no-smt", &topology), spread[..16]);
    // One package, its L3s in turn.
    assert_eq!(first("4c1t", &topology), [0, 8, 4, 12]);
    assert_eq!(first("package-no-smt", &topology), [0, 8, 4, 12, 2, 10, 6, 14]);
    // Half of the cores as `packed` takes them: one package of the two.
    assert_eq!(first("half-cores", &topology), (0..16).collect::<Vec<u32>>());
    assert_eq!(first("package-half-cores", &topology), (0..8).collect::<Vec<u32>>());
    // Clusters of cores with one L2: their cores come in turn.
    let clusters = counts(1, 1, 1, 2, 4, 1);
    assert_eq!(first("spread:8", &clusters), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(pairs(&clusters), ["-", "0,1", "0,4", "-", "0,4", "-", "0,4", "-"]);
}

#[test]
fn last_level_caches_and_kinds_by_name() {
    let topology = counts(1, 1, 2, 2, 1, 2);
    assert_eq!(first("2c1t@llc1", &topology), [4, 6]);
    assert_eq!(first("same-l3@llc1", &topology), [4, 6]);
    assert_eq!(first("one-core@llc1", &topology), [4, 5]);
    assert_eq!(first("l2:3", &topology), [6, 7]);
    let error = cpus("2c1t@l1", &topology).unwrap_err();
    assert!(error.contains("'@llc1' is last-level cache 1"), "{error}");

    let mut mixed = hybrid(2, 4);
    mixed.kinds[0].name = "P-core".into();
    mixed.kinds[1].name = "E-core".into();
    mixed.caches.push(Cache { level: 2, cpus: (4..8).collect(), ..Cache::default() });
    assert_eq!(first("same-core@performance", &mixed), [0, 1]);
    assert_eq!(first("one-core@efficient", &mixed), [4]);
    assert_eq!(first("2c1t@efficient", &mixed), [4, 5]);
    assert_eq!(first("all@efficient", &mixed), [4, 5, 6, 7]);
    assert_eq!(first("same-l2@efficient", &mixed), [4, 5]);
    for (text, lacks) in [
        ("same-l2", "no 2 allowed cores of the fastest kind share an L2 cache here"),
        ("one-core@low-power", "it has no LP-E-core; its kinds of cores are P-core, E-core"),
        ("cross-l3@efficient", "(inside @efficient alone)"),
        ("1c1t@middle", "it has no M-core; its kinds of cores are P-core, E-core"),
    ] {
        assert!(cpus(text, &mixed).unwrap_err().ends_with(lacks), "{text}: {:?}", cpus(text, &mixed));
    }
    let error = cpus("one-core@efficient", &topology).unwrap_err();
    assert!(error.ends_with("all cores here are of one kind"), "{error}");
}

#[test]
fn what_two_logical_cpus_share() {
    let topology = counts(2, 2, 2, 2, 2, 2);
    let all = Localities::of(&topology);
    let shared = |other| all.between(0, other).unwrap();
    assert_eq!(
        [0, 1, 2, 4, 8, 16, 32].map(shared),
        [
            Locality::SameCpu,
            Locality::SameCore,
            Locality::SameL2,
            Locality::SameLlc,
            Locality::SameNode,
            Locality::SamePackage,
            Locality::OtherPackage
        ]
    );
    assert_eq!(all.between(0, 999), None);
}

#[test]
fn same_package_says_which_level_it_is() {
    let remark = |topology: &Topology| {
        threadwise_machine::placement::remark(&"same-package".parse().unwrap(), topology)
    };
    assert_eq!(remark(&counts(2, 1, 1, 4, 1, 2)), None);
    assert_eq!(
        remark(&counts(1, 1, 8, 8, 1, 2)).as_deref(),
        Some("cross-l3 on this machine: two cores of two L3s of one node")
    );
    assert_eq!(
        remark(&counts(1, 8, 1, 8, 1, 2)).as_deref(),
        Some("cross-node on this machine: two cores of two nodes of one package")
    );
}

/// Machines of up to 3 packages, uneven at every level, with up to 3 logical CPUs a core; on some a node has no caches of
/// its own, since an L3 spans the package.
fn any_nested() -> impl Strategy<Value = Topology> {
    let l2 = 1_u32..4;
    let llc = prop::collection::vec(l2, 1..4);
    let node = prop::collection::vec(llc, 1..4);
    let package = prop::collection::vec(node, 1..4);
    (prop::collection::vec(package, 1..4), 1_u32..4, any::<bool>()).prop_map(|(packages, threads, is_one)| {
        let topology = nested(&packages, threads);
        if is_one { one_llc_a_package(topology) } else { topology }
    })
}

/// The groups of a logical CPU: package, node, LLC, L2.
fn groups(topology: &Topology, cpu: u32) -> [Option<u32>; 4] {
    let known = topology.cpu(cpu).unwrap();
    let l2 = topology.caches.iter().position(|cache| cache.cpus.contains(cpu)).map(|at| at as u32);
    [known.package, known.numa_node, known.llc, l2]
}

/// Whether an order covers every group of a level before it takes a second core of one, inside each of the groups above.
fn takes_in_turn(order: &[u32], sets: &[CpuSet]) -> bool {
    let inside = |set: &CpuSet| order.iter().filter(|cpu| set.contains(**cpu)).count();
    let mut left: Vec<usize> = sets.iter().map(inside).collect();
    let taken = order.iter().filter_map(|cpu| sets.iter().position(|set| set.contains(*cpu)));
    let mut rounds = vec![0_usize; sets.len()];
    for at in taken {
        // No group comes a second time while another, which has cores left, is behind.
        let is_behind = |other: usize| other != at && left[other] > 0 && rounds[other] < rounds[at];
        if (0..sets.len()).any(is_behind) {
            return false;
        }
        rounds[at] += 1;
        left[at] -= 1;
    }
    true
}

fn sets(groups: &[Group], within: &CpuSet) -> Vec<CpuSet> {
    groups.iter().map(|one| one.cpus.intersection(within)).filter(|set| !set.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_level_draws_inside_its_group(topology in any_nested(), seed in any::<u64>(), block in 0_u32..40) {
        let draw = Draw::for_block(&topology, seed, block);
        let found = |name: &str| resolve(name, &topology, &draw).ok().map(|found| {
            prop_assert_eq!(found.cpus.len(), 2);
            Ok((found.cpus[0], found.cpus[1]))
        });
        let all: Vec<u32> = topology.allowed().iter().collect();
        let any_pair = |fits: &dyn Fn(u32, u32) -> bool| {
            all.iter().any(|&one| all.iter().any(|&other| one != other && fits(one, other)))
        };
        let is_core = |one: u32, other: u32| topology.cpu(one).unwrap().core == topology.cpu(other).unwrap().core;
        let share = |level: usize, one: u32, other: u32| groups(&topology, one)[level] == groups(&topology, other)[level];
        type Fits<'f> = &'f dyn Fn(u32, u32) -> bool;
        let levels: [(&str, Fits<'_>); 8] = [
            ("same-core", &|one, other| is_core(one, other)),
            ("same-l2", &|one, other| !is_core(one, other) && share(3, one, other)),
            ("same-l3", &|one, other| !is_core(one, other) && share(2, one, other)),
            ("cross-l3", &|one, other| share(1, one, other) && !share(2, one, other)),
            ("same-node", &|one, other| !is_core(one, other) && share(1, one, other)),
            ("cross-node", &|one, other| share(0, one, other) && !share(1, one, other)),
            ("same-package", &|one, other| !is_core(one, other) && share(0, one, other)),
            ("cross-package", &|one, other| !share(0, one, other)),
        ];
        for (name, fits) in levels {
            match found(name) {
                Some(pair) => {
                    let (one, other) = pair?;
                    prop_assert!(fits(one, other), "{name}: {one},{other}");
                }
                None => prop_assert!(!any_pair(fits), "{name} is possible"),
            }
        }
        // The baseline's core is that of the level wherever it has a partner.
        let alone = resolve("1c1t", &topology, &draw).unwrap().cpus[0];
        // Others prefer what the machine has elsewhere, so that a name means the same in every block.
        for (name, fits) in levels.into_iter().filter(|(name, _)| ONE_RULE.contains(name)) {
            if let Some(pair) = found(name) && all.iter().any(|&other| other != alone && fits(alone, other)) {
                prop_assert_eq!(pair?.0, alone, "{}", name);
            }
        }
    }

    #[test]
    fn orders_are_permutations_that_cover_each_group_in_turn_or_at_once(
        topology in any_nested(), seed in any::<u64>(), block in 0_u32..40,
    ) {
        let draw = Draw::for_block(&topology, seed, block);
        let all = topology.allowed();
        let count = all.len();
        let order = |word: &str| resolve(&format!("{word}:{count}"), &topology, &draw).unwrap().cpus;
        let (spread, packed, cores) = (order("spread"), order("packed"), order("packed-cores"));
        for order in [&spread, &packed, &cores] {
            prop_assert_eq!(order.len(), count);
            prop_assert_eq!(&order.iter().copied().collect::<CpuSet>(), &all);
        }
        // The first logical CPU of every core, then the second of every one.
        let firsts = topology.cores.len();
        for order in [&spread, &cores] {
            let core = |cpu: &u32| topology.cpu(*cpu).unwrap().core;
            for round in order.chunks(firsts) {
                let seen: std::collections::BTreeSet<_> = round.iter().map(core).collect();
                prop_assert_eq!(seen.len(), firsts);
            }
        }
        let node_groups: Vec<Group> =
            topology.numa_nodes.iter().map(|node| Group { os_id: None, cpus: node.cpus.clone() }).collect();
        prop_assert!(takes_in_turn(&spread[..firsts], &sets(&topology.packages, &all)), "{spread:?}");
        for package in &topology.packages {
            let inside: Vec<u32> =
                spread[..firsts].iter().copied().filter(|&cpu| package.cpus.contains(cpu)).collect();
            prop_assert!(takes_in_turn(&inside, &sets(&node_groups, &package.cpus)), "{inside:?}");
        }
        for node in &node_groups {
            let inside: Vec<u32> =
                spread[..firsts].iter().copied().filter(|&cpu| node.cpus.contains(cpu)).collect();
            prop_assert!(takes_in_turn(&inside, &sets(&topology.llc_domains, &node.cpus)), "{inside:?}");
        }
        // Packed: every group is filled before the next of its level.
        for order in [&packed, &cores[..firsts].to_vec()] {
            for level in 0..4 {
                // An L3 of several nodes is filled node by node.
                let groups_of = |cpu: &u32| groups(&topology, *cpu)[..=level].to_vec();
                let mut seen = Vec::new();
                for run in order.chunk_by(|one, other| groups_of(one) == groups_of(other)) {
                    prop_assert!(!seen.contains(&groups_of(&run[0])), "level {level}: {order:?}");
                    seen.push(groups_of(&run[0]));
                }
            }
        }
    }

    #[test]
    fn every_core_of_an_even_machine_is_first_equally_often(
        packages in 1_u32..3, nodes in 1_u32..4, llcs in 1_u32..4, l2s in 1_u32..3, cores in 1_u32..3,
        threads in 1_u32..3, seed in any::<u64>(),
    ) {
        let topology = counts(packages, nodes, llcs, l2s, cores, threads);
        let all = topology.allowed().len() as u32;
        let mut firsts: Vec<u32> = (0..all)
            .map(|block| resolve("one-cpu", &topology, &Draw::for_block(&topology, seed, block)).unwrap().cpus[0])
            .collect();
        firsts.sort_unstable();
        prop_assert_eq!(firsts, (0..all).collect::<Vec<u32>>());
    }
}
