//! Placements on machines made by hand: what each text gives, and what each error says.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::placement_support::{CoreSpec, Thread, cpus, even, hybrid, machine, resolve};
use threadwise_machine::placement::resolve as resolve_for;
use threadwise_machine::topology::{Group, NumaNode, Topology};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, PlacementError};

fn lacks(text: &str, topology: &Topology) -> String {
    match resolve(text, topology, &Draw::identity(topology)) {
        Err(PlacementError::Lacking { lacks, .. }) => lacks,
        other => panic!("{text}: {other:?}"),
    }
}

/// 2 packages of 4 cores of 2 logical CPUs: first siblings are 0-7, second ones 8-15.
fn server() -> Topology {
    even(2, 4, 2)
}

#[test]
fn names_on_a_server() {
    let topology = server();
    assert_eq!(cpus("one-cpu", &topology).unwrap(), [0]);
    assert_eq!(cpus("same-core", &topology).unwrap(), [0, 8]);
    assert_eq!(cpus("same-package", &topology).unwrap(), [0, 1]);
    assert_eq!(cpus("cross-package", &topology).unwrap(), [0, 4]);
    assert_eq!(cpus("no-smt", &topology).unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(cpus("all", &topology).unwrap().len(), 16);
}

#[test]
fn sweeps_are_prefixes_of_two_orders() {
    let topology = server();
    assert_eq!(cpus("spread:10", &topology).unwrap(), [0, 4, 1, 5, 2, 6, 3, 7, 8, 12]);
    assert_eq!(cpus("packed:10", &topology).unwrap(), [0, 8, 1, 9, 2, 10, 3, 11, 4, 12]);
    assert_eq!(lacks("spread:17", &topology), "it needs 17 logical CPUs; 16 are allowed");
}

#[test]
fn shapes_and_restrictions() {
    let topology = server();
    assert_eq!(cpus("3c1t", &topology).unwrap(), [0, 1, 2]);
    assert_eq!(cpus("2c2t", &topology).unwrap(), [0, 1, 8, 9]);
    assert_eq!(cpus("2s2c1t", &topology).unwrap(), [0, 4, 1, 5]);
    assert_eq!(cpus("2c1t@p1", &topology).unwrap(), [4, 5]);
    assert_eq!(cpus("2c1t@n1", &topology).unwrap(), [4, 5]);
    assert_eq!(cpus("1c2t@llc1", &topology).unwrap(), [4, 12]);
    assert_eq!(cpus("3c1t+1c2t", &topology).unwrap(), [1, 2, 3, 0, 8]);
    assert_eq!(cpus("4c1t+4c1t", &topology).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn what_a_server_lacks() {
    let topology = server();
    assert_eq!(
        lacks("5c1t", &topology),
        "'5c1t' needs 5 cores with an allowed logical CPU each on one package; the most is 4"
    );
    assert_eq!(
        lacks("1c4t", &topology),
        "'1c4t' needs 1 core with 4 allowed logical CPUs each on one package; the most is 0"
    );
    assert_eq!(
        lacks("3s1c1t", &topology),
        "'3s1c1t' needs 3 packages with 1 core with an allowed logical CPU each; there are 2"
    );
    assert_eq!(
        lacks("1c1t@p2", &topology),
        "it names package 2; this machine has 2 packages, counted from 0"
    );
    assert_eq!(lacks("4c1t+4c1t+1c1t", &topology), "the 3 terms together need more cores than are allowed");
    assert_eq!(lacks("0,99", &topology), "there is no logical CPU 99");
}

#[test]
fn a_machine_without_smt_or_second_package_names_what_is_missing() {
    let topology = even(1, 2, 1);
    assert_eq!(lacks("same-core", &topology), "no core here has 2 allowed SMT siblings");
    assert_eq!(lacks("cross-package", &topology), "this machine has 1 package with allowed logical CPUs");
    assert_eq!(cpus("same-package", &topology).unwrap(), [0, 1]);
    assert_eq!(lacks("same-package", &even(2, 1, 2)), "no package here has 2 allowed cores of one kind");
    assert_eq!(
        cpus("same-core", &topology).unwrap_err(),
        "placement 'same-core' is not possible here: no core here has 2 allowed SMT siblings"
    );
}

#[test]
fn undeclared_packages_count_as_one() {
    let mut topology = even(1, 4, 1);
    topology.packages.clear();
    for core in &mut topology.cores {
        core.package = None;
    }
    assert_eq!(Draw::identity(&topology).packages, [0]);
    assert_eq!(cpus("same-package", &topology).unwrap(), [0, 1]);
    assert_eq!(cpus("2c1t@p0", &topology).unwrap(), [0, 1]);
    assert_eq!(cpus("package:0.core:2", &topology).unwrap(), [2]);
    assert_eq!(lacks("cross-package", &topology), "this machine declares no packages, so it counts as one");
}

#[test]
fn a_declared_package_without_allowed_cpus_does_not_count() {
    let mut topology = even(1, 2, 1);
    topology.packages.push(Group::default());
    assert_eq!(lacks("cross-package", &topology), "this machine has 1 package with allowed logical CPUs");
    assert_eq!(lacks("package:1", &topology), "package 1 has no allowed logical CPU");
    assert_eq!(
        lacks("1c1t@p1", &topology),
        "'1c1t@p1' needs 1 core with an allowed logical CPU each on one package; the most is 0"
    );
}

#[test]
fn the_baseline_stays_on_the_package_that_has_the_most_cores() {
    let core = |os_id| CoreSpec { kind: 0, threads: vec![Thread { os_id, allowed: true, online: true }] };
    let topology = machine(&[vec![core(0)], vec![core(1), core(2), core(3)], vec![core(4), core(5)]]);
    for block in 0..12 {
        let draw = Draw::for_block(&topology, 1, block);
        let cpus_of = |text: &str| resolve(text, &topology, &draw).unwrap().cpus;
        assert_eq!(draw.packages, [1, 2, 0]);
        assert_eq!(
            (cpus_of("1c1t"), cpus_of("2c1t")),
            (cpus_of("3c1t")[..1].to_vec(), cpus_of("3c1t")[..2].to_vec())
        );
        assert_eq!(cpus_of("cross-package")[0], cpus_of("1c1t")[0]);
    }
}

#[test]
fn kinds_are_not_mixed_unless_asked_for() {
    let topology = hybrid(2, 4);
    assert_eq!(cpus("2c1t", &topology).unwrap(), [0, 2]);
    assert_eq!(cpus("4c1t", &topology).unwrap(), [4, 5, 6, 7], "only the slow cores are 4");
    assert_eq!(cpus("1c1t@k1", &topology).unwrap(), [4]);
    assert_eq!(cpus("2c2t@k0+1c1t@k1", &topology).unwrap(), [0, 2, 1, 3, 4]);
    assert_eq!(cpus("2c1t+1c1t", &topology).unwrap(), [4, 5, 6], "three cores of one kind");
    assert_eq!(cpus("no-smt", &topology).unwrap(), [0, 2, 4, 5, 6, 7]);
    assert_eq!(cpus("spread:7", &topology).unwrap(), [0, 2, 4, 5, 6, 7, 1]);
    assert_eq!(
        lacks("5c1t", &topology),
        "'5c1t' needs 5 cores of one kind with an allowed logical CPU each on one package; the most is 4"
    );
    assert_eq!(
        lacks("1c2t@k1", &topology),
        "'1c2t@k1' needs 1 core of one kind with 2 allowed logical CPUs each on one package; the most is 0"
    );
}

#[test]
fn uneven_cores_are_passed_over_where_they_are_too_small() {
    let thread = |os_id, allowed| Thread { os_id, allowed, online: true };
    // Core 0 has one allowed sibling, cores 1 and 2 have two.
    let topology = machine(&[vec![
        CoreSpec { kind: 0, threads: vec![thread(0, true), thread(1, false)] },
        CoreSpec { kind: 0, threads: vec![thread(2, true), thread(3, true)] },
        CoreSpec { kind: 0, threads: vec![thread(4, true), thread(5, true)] },
    ]]);
    assert_eq!(cpus("2c2t", &topology).unwrap(), [2, 4, 3, 5]);
    assert_eq!(cpus("1c1t", &topology).unwrap(), [2], "the baseline shares a core with same-core");
    assert_eq!(cpus("3c1t", &topology).unwrap(), [2, 4, 0]);
    assert_eq!(cpus("1c1t+2c2t", &topology).unwrap(), [0, 2, 4, 3, 5]);
    let found = resolve("3c1t", &topology, &Draw::identity(&topology)).unwrap();
    assert_eq!(found.left_over.to_string(), "1,3,5", "a sibling that we may not use is left over too");
    assert_eq!(lacks("1", &topology), "logical CPU 1 is not allowed; this process may use 0,2-5");
}

#[test]
fn offline_cpus_are_named_and_not_left_over() {
    let thread = |os_id, online| Thread { os_id, allowed: true, online };
    let topology = machine(&[vec![CoreSpec { kind: 0, threads: vec![thread(0, true), thread(1, false)] }]]);
    assert_eq!(lacks("0-1", &topology), "logical CPU 1 is offline");
    let found = resolve("1c1t", &topology, &Draw::identity(&topology)).unwrap();
    assert_eq!(found.left_over, CpuSet::new());
}

#[test]
fn lists_keep_their_order() {
    assert_eq!(cpus("9,0-2", &server()).unwrap(), [9, 0, 1, 2]);
    assert_eq!(cpus("0-6:3", &server()).unwrap(), [0, 3, 6]);
}

#[test]
fn paths_count_within_the_parent() {
    let topology = server();
    assert_eq!(cpus("package:1.core:1-3.pu:0", &topology).unwrap(), [5, 6, 7]);
    assert_eq!(cpus("package:0-1.core:0.pu:1", &topology).unwrap(), [8, 12]);
    assert_eq!(cpus("core:5", &topology).unwrap(), [5, 13]);
    assert_eq!(cpus("pu:1", &topology).unwrap(), [8], "logical CPUs are counted core after core");
    assert_eq!(cpus("numanode:1.core:0", &topology).unwrap(), [4, 12]);
    assert_eq!(
        lacks("package:0.core:4", &topology),
        "there is no core 4, counted from 0: package 0 has 4 cores"
    );
    assert_eq!(
        lacks("package:2", &topology),
        "there is no package 2, counted from 0: this machine has 2 packages"
    );
    assert_eq!(
        lacks("core:0.pu:2", &topology),
        "there is no logical CPU 2, counted from 0: core 0 has 2 logical CPUs"
    );
    let mut with_memory = server();
    with_memory.numa_nodes.push(NumaNode::default());
    assert_eq!(lacks("numanode:2", &with_memory), "NUMA node 2 has no allowed logical CPU");
}

#[test]
fn sessions_go_round_robin_or_float() {
    let topology = server();
    let draw = Draw::identity(&topology);
    let placement: Placement = "2c1t".parse().unwrap();
    let each = resolve_for(&placement, &topology, &draw, 3, Pin::Each).unwrap();
    let seats: Vec<String> = each.sessions.iter().map(CpuSet::to_string).collect();
    assert_eq!(seats, ["0", "1", "0"]);
    assert_eq!(each.left_over.to_string(), "8-9");
    let one = resolve_for(&placement, &topology, &draw, 1, Pin::Each).unwrap();
    assert_eq!(one.left_over.to_string(), "8", "core 1 has no session");
    let floating = resolve_for(&placement, &topology, &draw, 3, Pin::Set).unwrap();
    assert!(floating.sessions.iter().all(|seat| seat.to_string() == "0-1"));
    assert_eq!(
        resolve_for(&placement, &topology, &draw, 0, Pin::Each).unwrap_err().to_string(),
        "placement '2c1t' with 0 sessions: at least 1 session is needed"
    );
}

#[test]
fn first_positions_alternate_over_packages_and_then_cores() {
    let topology = server();
    let firsts: Vec<u32> = (0..8).map(|block| Draw::for_block(&topology, 7, block).cores[0]).collect();
    let packages: Vec<u32> = firsts.iter().map(|&core| core / 4).collect();
    assert!(packages.windows(2).all(|pair| pair[0] != pair[1]), "{packages:?}");
    let distinct: CpuSet = firsts.into_iter().collect();
    assert_eq!(distinct.len(), 8);
}
