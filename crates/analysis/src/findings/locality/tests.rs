//! Levels of locality: sentences on a machine with several L3s, and how often a level is wrongly said to matter most.

use super::*;
use crate::fixtures::{comparison, machine, run, study};
use crate::{analyse_on, plain_verdict};
use threadwise_machine::topology::Group;
use threadwise_statistics::Normal;
use threadwise_study::{Run, Study};

/// Two packages of two L3s of two cores, a NUMA node each package.
fn epyc() -> Topology {
    let mut topology = machine(2, 4, 1);
    topology.numa_nodes.clear();
    for package in 0..2_u32 {
        let cpus: CpuSet = (4 * package..4 * package + 4).collect();
        let node = threadwise_machine::topology::NumaNode {
            os_id: Some(i64::from(package)),
            cpus,
            ..Default::default()
        };
        topology.numa_nodes.push(node);
    }
    for llc in 0..4_u32 {
        topology.llc_domains.push(Group { os_id: None, cpus: (2 * llc..2 * llc + 2).collect() });
    }
    for cpu in &mut topology.logical_cpus {
        (cpu.llc, cpu.numa_node) = (Some(cpu.os_id / 2), Some(cpu.os_id / 4));
    }
    topology
}

fn levels_study() -> Study {
    let mut study = study(&[""], &["P same-package 2", "L same-l3 2", "X cross-package 2"]);
    study.comparisons.push(comparison("L", &["P"], "shared-l3"));
    study.comparisons.push(comparison("X", &["P"], "packages"));
    study
}

/// 12 blocks of two rounds with these ratios to one session and noise of so large a share between blocks.
fn runs(ratios: [f64; 3], noise: f64, seed: u64) -> Vec<Run> {
    let mut random = Normal::new(seed);
    let mut all = Vec::new();
    for block in 0..12 {
        for (name, ratio) in
            [("A", 1.0), ("A'", 1.0)].into_iter().chain(["P", "L", "X"].into_iter().zip(ratios))
        {
            let rows = (1e6 * ratio * (noise * random.draw()).exp()).round() as u64;
            all.push(run(block, name, &[rows, rows]));
        }
    }
    all
}

fn texts(ratios: [f64; 3], noise: f64) -> (Vec<String>, String) {
    let (study, topology) = (levels_study(), epyc());
    let analysis = analyse_on(&study, Some(&topology), &runs(ratios, noise, 1), 1.0);
    let verdict = plain_verdict(&study, &topology, &analysis);
    let found = verdict.iter().filter(|one| one.kind == FindingKind::Packages).map(Finding::text).collect();
    let facts = Facts::new(&study, &topology, &analysis);
    (
        found,
        sentence(&facts, group(&facts).unwrap(), |ratio| Prose::from(&ratio.decisive())).unwrap().to_string(),
    )
}

#[test]
fn every_level_has_a_sentence_and_the_largest_is_named() {
    let (found, sentence) = texts([1.9, 2.1, 1.5], 0.001);
    assert_eq!(found.len(), 2);
    assert!(
        found[0].starts_with("Two sessions on two cores of one L3 against two in different ones: 1.1"),
        "{found:?}"
    );
    assert!(found[1].starts_with("Two sessions on two packages against two cores of one: 0.7"), "{found:?}");
    assert!(sentence.starts_with("The package matters most: two packages do 0.7"), "{sentence}");
    assert!(sentence.contains(" of two cores of one, two cores of one L3 1.1"), "{sentence}");
    let (_, sentence) = texts([1.9, 2.6, 1.85], 0.001);
    assert!(sentence.starts_with("The L3 matters most: two cores of one L3 do 1.3"), "{sentence}");
}

#[test]
fn lines_keep_what_shares_an_l3_together() {
    let (study, topology) = (levels_study(), epyc());
    let texts = |ratios: [f64; 3]| -> Vec<String> {
        let analysis = analyse_on(&study, Some(&topology), &runs(ratios, 0.001, 1), 1.0);
        let all = crate::advice::advice(&Facts::new(&study, &topology, &analysis));
        let all = all.into_iter().filter(|one| one.about == "placement");
        all.flat_map(|one| one.paste).map(|paste| paste.text).collect()
    };
    assert_eq!(
        texts([1.9, 2.6, 1.85]),
        [
            "taskset -acp 0-1 PID",
            "AllowedCPUs=0-1",
            "NUMAPolicy=bind",
            "NUMAMask=0",
            "--cpuset-cpus=0-1 --cpuset-mems=0",
            "cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: \"true\"}",
        ]
    );
    assert_eq!(texts([1.9, 1.5, 1.7])[0], "taskset -acp 0-3 PID");
    assert!(texts([1.5, 1.5, 1.9]).is_empty(), "the whole machine is no line to paste");
}

#[test]
fn remote_memory_is_a_level() {
    let mut study = study(&[""], &["P same-package 2", "L same-l3 2", "X one-cpu 1", "R same-package 2"]);
    study.treatments[4].memory = Memory::Remote;
    study.treatments[5].memory = Memory::Remote;
    study.comparisons.push(comparison("L", &["P"], "shared-l3"));
    study.comparisons.push(comparison("R", &["P"], "memory"));
    let topology = epyc();
    let mut all = runs([1.9, 2.1, 0.7], 0.001, 1);
    for one in runs([1.9, 2.1, 1.2], 0.001, 2).into_iter().filter(|one| one.treatment == "X") {
        all.push(Run { treatment: "R".to_owned(), ..one });
    }
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let facts = Facts::new(&study, &topology, &analysis);
    let text = sentence(&facts, "", |ratio| Prose::from(&ratio.decisive())).unwrap().to_string();
    assert!(
        text.starts_with("The node of memory matters most: sessions whose memory is remote do 0.70x"),
        "{text}"
    );
    assert!(
        memory(&facts).unwrap().text().starts_with("By where memory lies: R : P 0.63x"),
        "{:?}",
        memory(&facts)
    );
}

#[test]
fn two_orders_of_a_sweep_are_compared() {
    let mut study = study(&[""], &["P spread:2 2", "L packed-cores:2 2", "X packed:2 2"]);
    study.comparisons.push(comparison("L", &["P"], "orders"));
    let topology = epyc();
    let analysis = analyse_on(&study, Some(&topology), &runs([1.9, 2.1, 1.5], 0.001, 1), 1.0);
    let found = orders(&Facts::new(&study, &topology, &analysis)).unwrap().text();
    assert!(found.starts_with("Close together against far apart: L : P 1.1"), "{found}");
}

#[test]
fn equal_levels_are_not_ranked() {
    let (_, sentence) = texts([1.9, 1.9, 1.9], 0.01);
    assert!(
        sentence.starts_with("Two cores of one L3 do 1.0")
            || sentence.starts_with("Two cores of one L3 do 0.9"),
        "{sentence}"
    );
    assert!(!sentence.contains("matters most"), "{sentence}");
}

/// The false claims in 300 studies in which both levels are as far from 1: on either side, or not at all; with blocks that
/// are independent, and with a drift that the treatments of a study share in part and that lasts for several blocks.
#[test]
fn a_level_is_rarely_said_to_matter_most_by_chance() {
    let (study, topology) = (levels_study(), epyc());
    for ratios in [[1.9, 1.9, 1.9], [1.9, 1.9 * 1.25, 1.9 / 1.25]] {
        for drift in [0.0, 0.05] {
            let claims = (0..300).filter(|&seed| {
                let all = drifting(runs(ratios, 0.03, seed), drift, seed);
                let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
                most(&levels(&Facts::new(&study, &topology, &analysis), "")).is_some()
            });
            let claims = claims.count();
            assert!(claims <= 15, "{claims} of 300 with {ratios:?} and a drift of {drift}");
        }
    }
}

/// Adds to each treatment a process of its own over blocks, of correlation 0.5 from one to the next.
fn drifting(mut all: Vec<Run>, sd: f64, seed: u64) -> Vec<Run> {
    let mut random = Normal::new(seed + 1_000_000);
    for name in ["A", "A'", "P", "L", "X"] {
        let mut now = random.draw();
        for one in all.iter_mut().filter(|one| one.treatment == name) {
            now = 0.5 * now + 0.75_f64.sqrt() * random.draw();
            for session in one.slices.iter_mut().flat_map(|slice| &mut slice.sessions) {
                session.rows = (session.rows as f64 * (sd * now).exp()).round() as u64;
            }
        }
    }
    all
}

#[test]
fn knees_have_the_names_of_levels() {
    let topology = epyc();
    let filled = |order, sessions| filled(&topology, order, sessions);
    assert_eq!(filled(Some("packed-cores"), 2).as_deref(), Some("the cores of one L3"));
    assert_eq!(filled(Some("packed"), 2).as_deref(), Some("the logical CPUs of one L3"));
    assert_eq!(filled(Some("packed-cores"), 4).as_deref(), Some("the cores of one NUMA node"));
    assert_eq!(filled(None, 4).as_deref(), Some("one core of each L3"));
    assert_eq!(filled(Some("spread"), 2).as_deref(), Some("one core of each NUMA node"));
    assert_eq!(filled(Some("spread"), 3), None);
    assert_eq!(super::filled(&machine(1, 4, 1), None, 1), None, "one of each says nothing");
}

#[test]
fn two_cores_of_a_package_are_as_far_apart_as_a_node_allows() {
    assert_eq!(of_package(&epyc()), Some(Locality::SameNode));
    assert_eq!(of_package(&machine(2, 1, 2)), None);
}
