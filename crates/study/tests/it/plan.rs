//! Plans of blocks: repeatable, complete in every round. Their order is in order.rs.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{default_study, machine, server, small_guest};
use threadwise_machine::CpuSet;
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{BlockPlan, Study, looked_at, plan_block};

/// A round as the treatments' names, `alone/l2 one-cpu/l2 …`.
fn order(study: &Study, round: &[usize]) -> String {
    let names: Vec<&str> = round.iter().map(|&index| study.treatments[index].name.as_str()).collect();
    names.join(" ")
}

fn sweep(topology: &threadwise_machine::Topology) -> Study {
    StudyFile::preset("session-sweep").unwrap().resolve(topology, &Overrides::default()).unwrap()
}

#[test]
fn the_same_input_gives_the_same_plan_and_another_seed_or_block_another() {
    let topology = server();
    let study = default_study(&topology);
    let plan = plan_block(&study, &topology, 3).unwrap();
    assert_eq!(plan, plan_block(&study, &topology, 3).unwrap());
    let other_block = plan_block(&study, &topology, 4).unwrap();
    let other_seed = plan_block(&Study { seed: 2, ..study.clone() }, &topology, 3).unwrap();
    for other in [&other_block, &other_seed] {
        assert_ne!(plan.seed, other.seed);
        assert_ne!(plan.rounds, other.rounds);
        assert_ne!(plan.draw, other.draw);
    }
}

/// Stored studies are resumed by planning them again: a change of the random streams, or of the
/// crates that they come from, must not pass unseen.
#[test]
fn the_plan_of_a_known_seed_stays_what_it_was() {
    let topology = small_guest();
    let mut study = default_study(&topology);
    study.treatments.truncate(4);
    study.design.rounds = 3;
    let plan = plan_block(&study, &topology, 0).unwrap();
    let rounds: Vec<String> = plan.rounds.iter().map(|round| order(&study, round)).collect();
    let cpus: Vec<&[u32]> = plan.placements.iter().map(|placement| &placement.cpus[..]).collect();
    assert_eq!(format!("{:#x} {rounds:?} {cpus:?}", plan.seed), KNOWN);
}

const KNOWN: &str = r#"0xb193076ea545c5c3 ["alone/l2 alone'/l2 one-cpu/l2 same-package/l2", "same-package/l2 one-cpu/l2 alone'/l2 alone/l2", "alone/l2 one-cpu/l2 same-package/l2 alone'/l2"] [[1], [1], [1], [1, 0]]"#;

#[test]
fn every_round_holds_each_treatment_once_in_a_fresh_order() {
    let topology = server();
    let study = default_study(&topology);
    let plan = plan_block(&study, &topology, 0).unwrap();
    assert_eq!(plan.rounds.len(), 9);
    for round in &plan.rounds {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..study.treatments.len()).collect::<Vec<_>>());
    }
    let mut orders: Vec<String> = plan.rounds.iter().map(|round| order(&study, round)).collect();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 9, "of 12! orders no two should be equal");
}

#[test]
fn the_baseline_and_its_twin_share_their_cpu_and_all_treatments_hold_it() {
    let topology = server();
    let study = default_study(&topology);
    for block in 0..32 {
        let plan = plan_block(&study, &topology, block).unwrap();
        let at = |name: &str| &plan.placements[study.treatment(name).unwrap().0];
        assert_eq!(at("alone/l2"), at("alone'/l2"));
        assert_eq!(at("alone/l2").cpus, at("alone/memory").cpus);
        let first = at("alone/l2").cpus[0];
        for placement in &plan.placements {
            assert!(placement.cpus.contains(&first), "{placement:?} without {first}");
        }
    }
}

#[test]
fn the_baseline_visits_every_core_as_often() {
    let topology = machine(2, 4, 2, None, None);
    let study = sweep(&topology);
    let mut visits = [0; 8];
    for block in 0..16 {
        let plan = plan_block(&study, &topology, block).unwrap();
        visits[plan.placements[0].cpus[0] as usize % 8] += 1;
    }
    assert_eq!(visits, [2; 8]);
}

#[test]
fn a_placement_that_is_not_here_names_its_treatment() {
    let study = default_study(&server());
    let error = plan_block(&study, &small_guest(), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "treatment 'same-core/l2': placement 'same-core' is not possible here: no core here has 2 allowed SMT siblings"
    );
}

#[test]
fn up_to_16_logical_cpus_are_all_looked_at() {
    let topology = machine(1, 8, 2, None, Some(32 << 20));
    let study = default_study(&topology);
    let plan = plan_block(&study, &topology, 2).unwrap();
    let all = plan.placements.iter().fold(CpuSet::new(), |all, one| all.union(&one.set()));
    assert_eq!(looked_at(&study, &plan, &CpuSet::new()), all.iter().collect::<Vec<u32>>());
}

#[test]
fn idle_logical_cpus_are_looked_at_beside_those_of_treatments() {
    let topology = machine(1, 8, 2, None, Some(32 << 20));
    let study = default_study(&topology);
    let allowed: CpuSet = (0..64).collect();
    for block in 0..20 {
        let some = looked_at(&study, &placed(&study, block, 12), &allowed);
        assert!(some.len() == 14 && some.iter().filter(|cpu| **cpu < 12).count() == 12, "{some:?}");
        assert_eq!(looked_at(&study, &placed(&study, block, 15), &allowed).len(), 16);
        assert_eq!(looked_at(&study, &placed(&study, block, 12), &(0..13).collect()).len(), 13);
    }
    let nothing = BlockPlan { placements: Vec::new(), ..placed(&study, 0, 12) };
    assert!(looked_at(&study, &nothing, &allowed).is_empty(), "a server elsewhere");
}

/// Placements of a block: `all` of so many, two of them, and these with two others.
fn placed(study: &Study, block: u32, all: u32) -> BlockPlan {
    let topology = server();
    let mut plan = plan_block(study, &topology, block).unwrap();
    let sets: [Vec<u32>; 3] = [(0..all).collect(), vec![0, 5], vec![0, 5, 9, 11]];
    plan.placements.truncate(sets.len());
    for (placement, cpus) in plan.placements.iter_mut().zip(sets) {
        placement.cpus = cpus;
    }
    plan
}

#[test]
fn of_many_logical_cpus_small_treatments_are_looked_at_whole_and_the_rest_in_turns() {
    let study = default_study(&server());
    for all in [17, 20, 32, 64, 100, 768] {
        let looked: Vec<Vec<u32>> =
            (0..80).map(|block| looked_at(&study, &placed(&study, block, all), &CpuSet::new())).collect();
        for cpus in &looked {
            assert_eq!(cpus.len(), 16, "{all}");
            assert!(cpus.is_sorted_by(|one, next| one < next), "each once: {cpus:?}");
            assert!([0, 5, 9, 11].iter().all(|cpu| cpus.contains(cpu)), "{cpus:?}");
        }
        // The rest has 12 places.
        let turns = (all as usize - 4).div_ceil(12);
        let mut seen: Vec<u32> = looked[..turns].concat();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..all).collect::<Vec<u32>>(), "each in its turn");
        assert_eq!(looked[0], looked[turns], "and again");
    }
}

#[test]
fn which_are_looked_at_first_is_drawn_by_the_seed() {
    let study = default_study(&server());
    let of_seed = |seed| {
        let study = Study { seed, ..study.clone() };
        looked_at(&study, &placed(&study, 0, 768), &CpuSet::new())
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert!((2..12).any(|seed| of_seed(seed) != of_seed(1)));
}
