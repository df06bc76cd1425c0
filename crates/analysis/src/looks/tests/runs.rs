//! From the runs of a study to rows and claims.

use super::super::claim::{Claim, Outcome, effects};
use super::super::coverage::Coverage;
use super::super::rows::{By, Side, rows};
use super::super::states::{LookState, looked_at};
use crate::fixtures::{machine, run, study};
use crate::{Facts, analyse_on, document};
use threadwise_study::{CpuLook, Look, Moment, PairLook, Run, SliceLook, Study};

/// A look at logical CPUs 0 and 1, on one core or on two.
fn look(is_same: bool) -> Look {
    let cpu =
        |cpu| CpuLook { cpu, chain_ns: Some(0.25), adds_per_step: Some(if is_same { 2.5 } else { 4.5 }) };
    let line_ns = Some(if is_same { 7.0 } else { 60.0 });
    Look {
        start_ns: 0,
        took_ns: 1,
        cpus: vec![cpu(0), cpu(1)],
        pairs: vec![PairLook { a: 0, b: 1, line_ns }],
        alone: None,
    }
}

/// A study of `A`, `A'` and `P`, which does 0.65 of its rate on one core; visits of two rounds.
fn runs(blocks: u32, rounds: u32) -> Vec<Run> {
    let of_block = |block: u32| {
        ["A", "A'", "P"].into_iter().enumerate().map(move |(place, name)| {
            let is_same = |at: u32| at % 4 < 2;
            let rate = |at: u32| match name {
                "P" if is_same(at) => 1300 + u64::from((block * 7 + at * 5) % 11),
                "P" => 2000 + u64::from((block * 3 + at * 7) % 13),
                _ => 1000,
            };
            let mut one = run(block, name, &(0..rounds).map(rate).collect::<Vec<_>>());
            if name == "P" {
                one.cpus = vec![0, 1];
            }
            for slice in &mut one.slices {
                slice.window_ns = 50_000_000;
                slice.start_ns =
                    u64::from(block * rounds * 3 + slice.round * 3 + place as u32) * 1_000_000_000;
                let with = |moment| SliceLook { moment, look: look(is_same(slice.round)) };
                slice.looks = vec![with(Moment::Before), with(Moment::After)];
            }
            one
        })
    };
    (0..blocks).flat_map(of_block).collect()
}

fn placement() -> Study {
    study(&[""], &["P same-package 2"])
}

#[test]
fn rows_have_the_states_of_the_treatments_cpus_whoever_they_belong_to() {
    let (study, runs) = (placement(), runs(2, 8));
    let got = rows(&study.comparisons[0], &looked_at(&runs), By::Core);
    assert_eq!(got.len(), 2 * 8 * 3);
    let first = &got[0];
    assert_eq!(
        (first.side, first.before, first.after),
        (Side::Baseline, Some(LookState::SameCore), Some(LookState::SameCore))
    );
    assert_eq!((first.amount.done, first.amount.time_ns), (1000.0, 5e7));
    // A step of CHAIN in 0.25 ns; 2.5 adds a step, on two logical CPUs.
    assert_eq!((first.chain_per_ns, first.adds_per_ns), (Some(4.0), Some(20.0)));
    assert!(got.is_sorted_by_key(|row| row.start_ns));
}

#[test]
fn one_logical_cpu_has_no_rows() {
    let (study, mut runs) = (placement(), runs(2, 8));
    runs.iter_mut().for_each(|run| run.cpus = vec![0]);
    assert_eq!(rows(&study.comparisons[0], &looked_at(&runs), By::Core), []);
    assert_eq!(effects(&study, &looked_at(&runs), By::Core, 0.05), None);
}

#[test]
fn a_study_with_looks_claims_its_ratio_by_state_and_one_without_says_nothing() {
    let (study, mut runs) = (placement(), runs(12, 20));
    let got = effects(&study, &looked_at(&runs), By::Core, 0.05).unwrap();
    let effect = &got.effects[0];
    assert_eq!((effect.treatment.as_str(), effect.comparison.as_str()), ("P", "P : A+A'"));
    let by_state = effect.by_state().unwrap();
    assert_eq!(by_state.claim, Claim::Size, "{by_state:?}");
    assert!((by_state.ratio.mean.exp() - 0.65).abs() < 0.01);
    assert_eq!((got.level, got.checks_level), (0.95, 0.9));
    runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.looks.clear());
    assert_eq!(effects(&study, &looked_at(&runs), By::Core, 0.05), None);
}

#[test]
fn a_treatment_that_is_not_wholly_looked_at_is_not_compared_by_state() {
    let mut runs = runs(12, 20);
    // In one block of twelve one more logical CPU, that no look saw.
    runs.iter_mut().filter(|run| run.treatment == "P" && run.block == 5).for_each(|run| run.cpus.push(2));
    let got = effects(&placement(), &looked_at(&runs), By::Core, 0.05).unwrap();
    let effect = &got.effects[0];
    assert_eq!(effect.outcome, Outcome::NotWhole(Coverage { cpus: 3, looked_at: 2 }));
    assert_eq!((effect.by_state(), effect.prevalence(0.95), effect.seen.blocks), (None, None, 0));
    assert_eq!((effect.spread.raw, effect.spread.clear), (None, None));
    let (section, verdict) = shown(&runs);
    let words = "is not compared by state: ";
    assert!(
        section.contains(words) && section.contains("logical CPUs were looked at each time"),
        "{section}"
    );
    assert!(!section.contains("What states explain") && !section.contains("comparison needs"), "{section}");
    assert!(!verdict.contains("observational"), "{verdict}");
    // The verdict and the table of states say of how many they are.
    let state = verdict.lines().find(|line| line.contains("before slices")).unwrap();
    assert!(state.contains("The 2 of your 3 logical CPUs that each look saw"), "{state}");
    let (study, topology) = (placement(), machine(1, 3, 1));
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let report = document(&Facts { runs: &runs, ..Facts::new(&study, &topology, &analysis) });
    let looks = format!("{:?}", report.section("looks").unwrap());
    for words in
        ["\"2 of 3\"", "\"all\"", " each time,", "says nothing about its others", "of those that were."]
    {
        assert!(looks.contains(words), "{words}: {looks}");
    }
}

/// The section's texts and cells, and the verdict's lines.
fn shown(runs: &[Run]) -> (String, String) {
    let (study, topology) = (placement(), machine(1, 2, 1));
    let analysis = analyse_on(&study, Some(&topology), runs, 1.0);
    let facts = Facts { runs, ..Facts::new(&study, &topology, &analysis) };
    let report = document(&facts);
    let section = report.section("by-state").map_or_else(String::new, |section| format!("{section:?}"));
    (section, report.verdict.iter().map(|line| line.text() + "\n").collect())
}

#[test]
fn a_report_says_what_is_claimed_in_words_that_promise_no_more() {
    let (section, verdict) = shown(&runs(12, 20));
    let line = "In slices where this host ran both logical CPUs of P on one core, its ratio to A was 0.65x [0.65, 0.65] of \
                that in slices on different cores without a neighbour (observational).";
    assert!(verdict.contains(line), "{verdict}");
    assert!(
        section.contains("the baseline against itself, by state") && section.contains("\"size\""),
        "{section}"
    );
    for text in [&section, &verdict] {
        assert!(!text.contains("SMT yield of this machine"));
    }
}

/// The same visits on near cores instead of on one: nothing but the line and the rate of P differs.
fn near_and_far() -> Vec<Run> {
    let mut all = runs(12, 20);
    for slice in all.iter_mut().flat_map(|run| &mut run.slices) {
        for one in &mut slice.looks {
            let line_ns = if slice.round % 4 < 2 { 28.0 } else { 118.0 };
            one.look = look(false);
            one.look.pairs[0].line_ns = Some(line_ns + f64::from(slice.round % 3));
        }
    }
    all
}

#[test]
fn ratios_by_distance_are_claimed_as_those_by_state_are() {
    let (section, verdict) = shown(&near_and_far());
    let line = "In slices where this host ran both logical CPUs of P on near cores (a line in 28.0 ns to 30.0 ns, as inside one \
                L3), its ratio to A was 0.65x [0.65, 0.65] of that in slices on cores further apart (118 ns to 120 ns) \
                (observational).";
    assert!(verdict.contains(line), "{verdict}");
    assert!(section.contains("near over far"), "{section}");
}

#[test]
fn a_ratio_by_distance_is_refused_where_widths_differ_by_distance() {
    let mut all = near_and_far();
    // A neighbour is always there when they are near.
    for slice in all.iter_mut().flat_map(|run| &mut run.slices).filter(|slice| slice.round % 4 < 2) {
        for cpu in slice.looks.iter_mut().flat_map(|one| &mut one.look.cpus) {
            cpu.adds_per_step = Some(2.5);
        }
    }
    let (_, verdict) = shown(&all);
    assert!(!verdict.contains("near cores"), "{verdict}");
}

#[test]
fn a_report_names_the_check_that_refused() {
    let mut runs = runs(12, 20);
    // Host load: on one core the baselines are slower, too.
    let slow = runs.iter_mut().flat_map(|run| &mut run.slices).filter(|slice| slice.round % 4 < 2);
    slow.for_each(|slice| slice.sessions.iter_mut().for_each(|session| session.rows = session.rows * 4 / 5));
    let (section, verdict) = shown(&runs);
    assert!(!verdict.contains("observational"), "{verdict}");
    assert!(section.contains("refused by ") && section.contains("the baseline alone, by state"), "{section}");
}

#[test]
fn where_a_treatment_was_never_on_one_core_there_is_nothing_to_compare() {
    let mut apart = runs(12, 20);
    let looks = apart.iter_mut().flat_map(|run| &mut run.slices).flat_map(|slice| &mut slice.looks);
    looks.for_each(|one| one.look = look(false));
    let (section, verdict) = shown(&apart);
    assert!(
        section.contains("there is nothing to compare") && !section.contains("a comparison needs"),
        "{section}"
    );
    assert!(!verdict.contains("observational"), "{verdict}");
}

#[test]
fn a_report_of_a_short_study_says_how_long_it_would_have_to_be() {
    let (section, verdict) = shown(&runs(4, 20));
    assert!(!verdict.contains("observational"), "{verdict}");
    let length = "which at this prevalence is a study of 8 blocks (4 to 30)";
    assert!(section.contains(length) && section.contains("4 of 4 blocks have both states"), "{section}");
    let without = runs(4, 20).into_iter().map(|mut run| {
        run.slices.iter_mut().for_each(|slice| slice.looks.clear());
        run
    });
    assert_eq!(shown(&without.collect::<Vec<_>>()).0, "");
}
