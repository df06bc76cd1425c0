//! Placements on random machines: uneven, hybrid, with holes, offline siblings and sparse numbers.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::placement_support::{CoreSpec, Thread, even, machine, resolve};
use proptest::prelude::*;
use threadwise_machine::placement::resolve as resolve_for;
use threadwise_machine::{CpuSet, Draw, Pin, Placement, Topology};

/// A machine with at least one usable logical CPU: up to 3 packages of up to 6 cores of 1 to 8
/// siblings of up to 2 kinds; numbers are shuffled and sparse.
fn any_machine() -> impl Strategy<Value = Topology> {
    let thread = (prop::bool::weighted(0.85), prop::bool::weighted(0.9));
    let core = (0_u32..2, prop::collection::vec(thread, 1..=8));
    let packages = prop::collection::vec(prop::collection::vec(core, 1..=6), 1..=3);
    (packages, 1_u32..4, any::<u64>()).prop_filter_map("no usable logical CPU", |(packages, step, mix)| {
        let count: usize = packages.iter().flatten().map(|(_, threads)| threads.len()).sum();
        // An odd multiplier modulo a power of two is a permutation.
        let modulus = count.next_power_of_two() as u64;
        let mut numbers = (0..modulus).map(|at| (at.wrapping_mul(mix | 1) % modulus) as u32 * step);
        let build =
            |(kind, threads): &(u32, Vec<(bool, bool)>), numbers: &mut dyn Iterator<Item = u32>| CoreSpec {
                kind: *kind,
                threads: threads
                    .iter()
                    .map(|&(allowed, online)| Thread { os_id: numbers.next().unwrap(), allowed, online })
                    .collect(),
            };
        let specs: Vec<Vec<CoreSpec>> = packages
            .iter()
            .map(|cores| cores.iter().map(|core| build(core, &mut numbers)).collect())
            .collect();
        Some(machine(&specs)).filter(|topology| !topology.cores.is_empty())
    })
}

fn any_text() -> impl Strategy<Value = String> {
    let shape = (1_u32..3, 1_u32..5, 1_u32..4, prop::option::of((0_usize..4, 0_u32..2))).prop_map(
        |(packages, cores, threads, within)| {
            let head = if packages == 1 { String::new() } else { format!("{packages}s") };
            let tail = within
                .map_or(String::new(), |(level, index)| format!("@{}{index}", ["n", "p", "llc", "k"][level]));
            format!("{head}{cores}c{threads}t{tail}")
        },
    );
    prop_oneof![
        3 => prop::collection::vec(shape, 1..3).prop_map(|terms| terms.join("+")),
        2 => prop::sample::select(vec!["one-cpu", "same-core", "same-package", "cross-package", "all", "no-smt"])
            .prop_map(str::to_owned),
        1 => (1_u32..20).prop_map(|count| format!("spread:{count}")),
        1 => (1_u32..20).prop_map(|count| format!("packed:{count}")),
        1 => (0_u32..40, 0_u32..4).prop_map(|(from, more)| format!("{from}-{}", from + more)),
        1 => (0_u32..3, 0_u32..4).prop_map(|(package, core)| format!("package:{package}.core:{core}.pu:0")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn only_allowed_cpus_and_none_twice(
        topology in any_machine(), text in any_text(), seed in any::<u64>(), block in 0_u32..40,
        sessions in 1_u32..9, floating in any::<bool>(),
    ) {
        let draw = Draw::for_block(&topology, seed, block);
        let placement: Placement = text.parse().unwrap();
        let pin = if floating { Pin::Set } else { Pin::Each };
        let Ok(found) = resolve_for(&placement, &topology, &draw, sessions, pin) else { return Ok(()) };
        let allowed = topology.allowed();
        prop_assert!(found.set().is_subset(&allowed), "{found:?} of {allowed}");
        prop_assert_eq!(found.set().len(), found.cpus.len());
        prop_assert_eq!(found.sessions.len(), sessions as usize);
        let mut used = CpuSet::new();
        for seat in &found.sessions {
            prop_assert!(!seat.is_empty() && seat.is_subset(&found.set()));
            used = used.union(seat);
        }
        prop_assert!(found.left_over.intersection(&used).is_empty());
        for cpu in found.left_over.iter() {
            let left = topology.cpu(cpu).unwrap();
            prop_assert!(left.online && !left.siblings.intersection(&used).is_empty());
        }
        // Nothing but the arguments matters.
        prop_assert_eq!(&draw, &Draw::for_block(&topology, seed, block));
        prop_assert_eq!(resolve_for(&placement, &topology, &draw, sessions, pin), Ok(found));
    }

    #[test]
    fn shapes_have_the_asked_form(
        topology in any_machine(), cores in 1_u32..6, threads in 1_u32..4, seed in any::<u64>(), block in 0_u32..40,
    ) {
        let draw = Draw::for_block(&topology, seed, block);
        let core_of = |cpu: u32| topology.cpu(cpu).unwrap().core.unwrap();
        let has = |kind: u32, package: u32| {
            let fits = |core: &&threadwise_machine::topology::Core| {
                core.kind == kind && core.package == Some(package) && core.cpus.len() >= threads as usize
            };
            topology.cores.iter().filter(fits).count() >= cores as usize
        };
        let possible = (0..2).any(|kind| (0..3).any(|package| has(kind, package)));
        let found = resolve(&format!("{cores}c{threads}t"), &topology, &draw);
        prop_assert_eq!(found.is_ok(), possible, "refused if and only if it is impossible: {:?}", found);
        let Ok(found) = found else { return Ok(()) };
        let used: CpuSet = found.cpus.iter().map(|&cpu| core_of(cpu)).collect();
        prop_assert_eq!(used.len(), cores as usize, "never two terms of a core");
        for core in used.iter() {
            let sessions_there = found.sessions.iter().filter(|seat| seat.iter().any(|cpu| core_of(cpu) == core)).count();
            prop_assert_eq!(sessions_there, threads as usize);
        }
        let kinds: CpuSet = used.iter().map(|core| topology.cores[core as usize].kind).collect();
        prop_assert_eq!(kinds.len(), 1);
    }

    #[test]
    fn smaller_placements_are_inside_larger_ones(
        topology in any_machine(), small in 1_u32..5, more in 1_u32..4, threads in 2_u32..4,
        seed in any::<u64>(), block in 0_u32..40,
    ) {
        let draw = Draw::for_block(&topology, seed, block);
        let large = small + more;
        let cpus = |text: String| resolve(&text, &topology, &draw).ok().map(|found| found.cpus);
        for order in ["spread", "packed"] {
            if let Some(whole) = cpus(format!("{order}:{large}")) {
                prop_assert_eq!(&whole[..small as usize], &cpus(format!("{order}:{small}")).unwrap()[..]);
            }
        }
        let one = cpus("one-cpu".into()).unwrap();
        prop_assert_eq!(&one, &cpus("1c1t".into()).unwrap());
        prop_assert_eq!(&one[..], &[draw.siblings[draw.cores[0] as usize][0]]);
        // Shapes of one package nest wherever the first package and the fastest kind can supply the
        // larger one; elsewhere no order of packages could make them nest.
        let first = draw.packages[0];
        let on_first = |least: u32| {
            let fits = |core: &&threadwise_machine::topology::Core| {
                core.kind == 0 && core.package == Some(first) && core.cpus.len() >= least as usize
            };
            topology.cores.iter().filter(fits).count() as u32
        };
        if on_first(1) >= large {
            let whole = cpus(format!("{large}c1t")).unwrap();
            prop_assert_eq!(&whole[..small as usize], &cpus(format!("{small}c1t")).unwrap()[..]);
        }
        if on_first(threads) >= small {
            let whole = cpus(format!("{small}c{threads}t")).unwrap();
            prop_assert_eq!(&whole[..small as usize], &cpus(format!("{small}c1t")).unwrap()[..]);
            prop_assert!(whole.contains(&one[0]));
        }
        if let (Some(all), Some(some)) = (cpus(format!("2s{large}c1t")), cpus(format!("2s{small}c1t")))
            && all.iter().all(|cpu| topology.cpu(*cpu).unwrap().kind == Some(0))
            && draw.packages[..2].iter().all(|package| all.iter().any(|cpu| topology.cpu(*cpu).unwrap().package == Some(*package)))
        {
            prop_assert_eq!(&all[..some.len()], &some[..]);
        }
    }

    #[test]
    fn every_text_resolves_or_says_why_in_one_line(topology in any_machine(), text in any_text()) {
        if let Err(error) = resolve(&text, &topology, &Draw::identity(&topology)) {
            let line = error.to_string();
            prop_assert!(line.contains(&text) && !line.contains('\n'), "{line}");
        }
        let everything = resolve("all", &topology, &Draw::identity(&topology)).unwrap();
        prop_assert_eq!(everything.set(), topology.allowed());
    }

    #[test]
    fn a_draw_is_a_permutation_with_the_fastest_kind_first(
        topology in any_machine(), seed in any::<u64>(), block in 0_u32..40,
    ) {
        let draw = Draw::for_block(&topology, seed, block);
        let mut cores = draw.cores.clone();
        cores.sort_unstable();
        prop_assert_eq!(cores, (0..topology.cores.len() as u32).collect::<Vec<_>>());
        prop_assert!(draw.cores.is_sorted_by_key(|&core| topology.cores[core as usize].kind));
        for (core, siblings) in topology.cores.iter().zip(&draw.siblings) {
            prop_assert_eq!(&siblings.iter().copied().collect::<CpuSet>(), &core.cpus);
            prop_assert_eq!(siblings.len(), core.cpus.len());
        }
    }

    #[test]
    fn what_stands_behind_the_first_is_shuffled_anew(cores in 6_u32..9, seed in any::<u64>()) {
        let topology = even(1, cores, 1);
        // Blocks with the same core first: of 120 orders of the rest or more, eight draws are never one alone.
        let rest: Vec<Vec<u32>> =
            (0..8).map(|turn| Draw::for_block(&topology, seed, turn * cores).cores).collect();
        prop_assert!(rest.iter().all(|order| order[0] == rest[0][0]));
        prop_assert!(rest.iter().any(|order| *order != rest[0]), "{rest:?}");
    }

    #[test]
    fn first_positions_are_balanced(packages in 1_u32..4, cores in 1_u32..7, threads in 1_u32..5, seed in any::<u64>()) {
        let topology = even(packages, cores, threads);
        let all_cores = packages * cores;
        let mut firsts = vec![0; (all_cores * threads) as usize];
        let mut first_cores = vec![0; all_cores as usize];
        let mut first_packages = vec![0; packages as usize];
        for block in 0..all_cores * threads {
            let draw = Draw::for_block(&topology, seed, block);
            firsts[draw.siblings[draw.cores[0] as usize][0] as usize] += 1;
            if block < all_cores {
                first_cores[draw.cores[0] as usize] += 1;
            }
            if block < packages {
                first_packages[draw.packages[0] as usize] += 1;
            }
            prop_assert_eq!(topology.cores[draw.cores[0] as usize].package, Some(draw.packages[0]));
        }
        prop_assert!(first_packages.iter().all(|&times| times == 1), "{first_packages:?}");
        prop_assert!(first_cores.iter().all(|&times| times == 1), "{first_cores:?}");
        prop_assert!(firsts.iter().all(|&times| times == 1), "{firsts:?}");
    }
}
