//! Shares, stretches and distances of looks that were made by hand.

mod long;

use super::*;
use crate::fixtures::{machine, run, study};
use crate::looks::states::looked_at;
use threadwise_study::{CpuLook, PairLook, Run, RunStatus, SliceLook};

/// A look at logical CPUs 0 and 1 by two letters: `.` its core for itself, `1` on one core, `c` with a neighbour, `a`
/// away, `?` a line of siblings though both have their core's whole width.
fn look(start_ns: u64, letters: &str) -> Look {
    let cpu = |(cpu, letter): (u32, char)| {
        let (chain_ns, adds_per_step) = match letter {
            'a' => (None, None),
            '1' | 'c' => (Some(0.278), Some(2.4)),
            _ => (Some(0.278), Some(4.4)),
        };
        CpuLook { cpu, chain_ns, adds_per_step }
    };
    let line_ns = match letters {
        "11" | "??" => Some(7.0),
        letters if letters.contains('a') => None,
        _ => Some(60.0),
    };
    let pairs = vec![PairLook { a: 0, b: 1, line_ns }];
    Look { start_ns, took_ns: 1_000, cpus: (0..).zip(letters.chars()).map(cpu).collect(), pairs, alone: None }
}

/// A run of a treatment on some logical CPUs; of each slice the looks before, while it ran (if any) and after. Slices
/// are 1 ms long and begin 2 ms after each other; blocks are far apart.
fn looked(block: u32, treatment: &str, cpus: &[u32], slices: &[&str]) -> Run {
    let mut run = run(block, treatment, &vec![1_000; slices.len()]);
    run.cpus = cpus.to_vec();
    for ((at, slice), letters) in (0..).zip(&mut run.slices).zip(slices) {
        let begin_ns = u64::from(block) * 1_000_000_000 + at * 2_000_000;
        (slice.start_ns, slice.window_ns) = (begin_ns + 10_000, 1_000_000);
        let words: Vec<&str> = letters.split(' ').collect();
        let last = words.len() - 1;
        slice.looks = (0..)
            .zip(&words)
            .map(|(place, word)| {
                let (moment, start_ns) = match place {
                    0 => (When::Before, begin_ns),
                    place if place == last => (When::After, begin_ns + 1_020_000),
                    place => (When::During, begin_ns + 100_000 * place as u64),
                };
                SliceLook { moment, look: look(start_ns, word) }
            })
            .collect();
    }
    run
}

fn found_on(topology: Option<&Topology>, runs: &[Run]) -> Option<Looks> {
    let study = study(&[""], &["both same-package 2"]);
    looks(&Setting { study: &study, topology, probe: None, alpha: 0.05 }, &looked_at(runs))
}

fn found(runs: &[Run]) -> Looks {
    found_on(None, runs).unwrap()
}

fn means(states: &[StateShare]) -> Vec<f64> {
    states.iter().map(|one| (1000.0 * one.share.mean).round() / 1000.0).collect()
}

/// Two blocks of two treatments; A has logical CPU 0 alone.
fn runs() -> Vec<Run> {
    vec![
        looked(0, "A", &[0], &[".. ..", ".. ..", "11 11", "c. .."]),
        looked(1, "both", &[0, 1], &[".. ..", "11 ..", ".. .1 11", ".. .. 11 .."]),
        looked(2, "both", &[0, 1], &["11 11", "11 11", "11 11", "a. .."]),
    ]
}

#[test]
fn states_are_of_a_treatments_own_logical_cpus_and_of_all() {
    let found = found(&runs());
    assert_eq!((found.taken.before, found.taken.during, found.taken.after), (12, 3, 12));
    assert_eq!(
        (found.cpus.as_slice(), found.widths_known, found.siblings_ns),
        (&[0, 1][..], true, Some(14.5))
    );
    let [alone, both] = found.treatments.as_slice() else { panic!("{:?}", found.treatments) };
    // Logical CPU 1 is idle while A works on 0: to share its core is no harm.
    assert_eq!(means(&alone.states), [0.75, 0.0, 0.25, 0.0, 0.0]);
    // 3 of 4 and 0 of 4; 1 of 4 and 3 of 4.
    assert_eq!(means(&both.states), [0.375, 0.5, 0.0, 0.125, 0.0]);
    // Blocks: 2 of 4, 3 of 4, 0 of 4; one core 1, 1 and 3 of 4.
    assert_eq!(means(&found.study), [0.417, 0.417, 0.083, 0.083, 0.0]);
    let half = found.share(LookState::SameCore).unwrap();
    assert!(half.low > 0.0 && half.high < 1.0 && half.high - half.low > 0.9, "3 blocks: {half:?}");
    assert!(!alone.states[0].share.has_ends(), "one block");
    assert_eq!(found.cost_share, Some(27.0 * 1_000.0 / 12e6));
}

#[test]
fn of_a_treatment_that_is_not_wholly_looked_at_those_count_that_are() {
    let mut runs = runs();
    assert_eq!(found(&runs).coverage, Coverage { cpus: 2, looked_at: 2 });
    for run in runs.iter_mut().filter(|run| run.treatment == "both") {
        run.cpus.extend([2, 3, 4]);
    }
    let some = found(&runs);
    assert_eq!((some.coverage, &some.cpus[..]), (Coverage { cpus: 5, looked_at: 2 }, &[0, 1][..]));
    let [alone, both] = some.treatments.as_slice() else { panic!("{:?}", some.treatments) };
    assert_eq!(both.coverage, some.coverage);
    assert_eq!(alone.coverage, Coverage { cpus: 1, looked_at: 1 });
    assert_eq!(means(&both.states), [0.375, 0.5, 0.0, 0.125, 0.0], "as if it had no others");
    // A block in which none of them was in a look.
    let mut none = looked(3, "both", &[7, 8], &[".. .."]);
    none.slices[0].start_ns += 1;
    runs.push(none);
    let none = found(&runs);
    assert_eq!(none.treatments[1].coverage, Coverage { cpus: 2, looked_at: 0 });
    assert_eq!(means(&none.treatments[1].states), [0.25, 0.333, 0.0, 0.083, 0.333]);
}

#[test]
fn looks_before_and_after_disagree_and_so_may_one_between() {
    let found = found(&runs());
    let [alone, both] = found.treatments.as_slice() else { panic!() };
    assert_eq!((alone.bracketed, alone.with_during), (4, 0));
    assert_eq!(alone.disagree.as_ref().unwrap().mean, 0.25);
    // 2 of 4 (11 to .., .. to 11) and 1 of 4 (away to clear).
    assert_eq!((both.bracketed, both.disagree.as_ref().unwrap().mean), (8, 0.375));
    // `.1` is a neighbour between clear and one core; of `.. 11` the second is one core between two clear ones.
    assert_eq!((both.with_during, both.during_differs), (2, 2));
}

#[test]
fn stretches_and_changes_are_of_all_logical_cpus_and_all_looks() {
    let found = found(&runs());
    // Blocks: ....11c. | ..1..c1..1. | 111111a. with `c` and `a` as states of all.
    assert_eq!(found.stretches_in(LookState::SameCore), 5);
    assert_eq!(found.stretches_in(LookState::Neighbour), 2);
    assert_eq!(found.stretches_in(LookState::Unknown), 0);
    let last = found.stretches.iter().find(|one| one.state == LookState::Away).unwrap();
    assert_eq!((last.looks, last.length_ns_max), (1, 1_020_000.0));
    let changed: u32 = found.transitions.iter().map(|one| one.count).sum();
    assert_eq!(changed, 3 + 7 + 2);
}

#[test]
fn a_contradiction_is_counted_and_its_state_not_known() {
    let mut runs = runs();
    runs.push(looked(3, "both", &[0, 1], &["?? ..", ".. .."]));
    let found = found(&runs);
    assert_eq!(found.contradictions, 1);
    assert_eq!(found.stretches_in(LookState::Unknown), 1);
    let one = &found.by_cpu[1];
    assert_eq!((one.cpu, one.looks), (1, 14));
    assert!(one.shares["unknown"].mean > 0.0 && !one.shares.contains_key("away"));
}

#[test]
fn siblings_that_are_declared_are_where_they_should_be() {
    let together = [looked(0, "both", &[0, 1], &["11 11", "11 11"])];
    let declared = found_on(Some(&machine(1, 1, 2)), &together).unwrap();
    assert!(declared.has_declared_siblings);
    assert_eq!(means(&declared.study), [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(means(&declared.treatments[0].states), [0.0, 1.0, 0.0, 0.0, 0.0], "it is what it is");
    let apart = found_on(Some(&machine(1, 2, 1)), &together).unwrap();
    assert_eq!(means(&apart.study), [0.0, 1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn without_looks_there_is_nothing_and_only_valid_runs_count() {
    assert_eq!(found_on(None, &[run(0, "A", &[1, 2])]), None);
    let mut runs = runs();
    runs[2].status = RunStatus::Superseded;
    let found = found(&runs);
    assert_eq!(found.taken.before, 8);
    runs[0].slices[1].looks.clear();
    assert_eq!(found_on(None, &runs).unwrap().slices_without, 1);
}

#[test]
fn without_widths_only_lines_say_who_is_together() {
    let mut runs = runs();
    for look in runs.iter_mut().flat_map(|run| &mut run.slices).flat_map(|slice| &mut slice.looks) {
        look.look.cpus.iter_mut().for_each(|seen| seen.adds_per_step = None);
    }
    let found = found(&runs);
    assert!(!found.widths_known);
    let [clear, together, neighbour, ..] = means(&found.study)[..] else { panic!() };
    assert!(clear == 0.0 && neighbour == 0.0 && together > 0.0, "{:?}", found.study);
}

#[test]
fn near_and_far_are_levels_of_the_studys_own_lines() {
    let mut runs: Vec<Run> = (0..4).map(|block| looked(block, "both", &[0, 1], &[".. .."; 12])).collect();
    for (at, slice) in runs.iter_mut().flat_map(|run| &mut run.slices).enumerate() {
        slice.looks[0].look.pairs[0].line_ns = Some(if at % 4 == 0 { 131.0 } else { 61.0 });
    }
    let found = found(&runs);
    let shares: Vec<f64> = found.distances.iter().map(|one| one.share.mean).collect();
    assert_eq!(shares, [0.75, 0.25]);
    let medians: Vec<f64> = found.distances.iter().map(|one| one.line_ns_p50).collect();
    assert_eq!(medians, [61.0, 131.0]);
    let of_treatment: Vec<f64> = found.treatments[0].distances.iter().map(|one| one.mean).collect();
    assert_eq!(of_treatment, [0.75, 0.25]);
}
