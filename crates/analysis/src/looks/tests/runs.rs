//! From the runs of a study to rows and claims.

use super::super::claim::{Claim, effects};
use super::super::rows::{Side, rows};
use super::super::states::{State, looked_at};
use crate::fixtures::{run, study};
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
    let got = rows(&study.comparisons[0], &looked_at(&runs));
    assert_eq!(got.len(), 2 * 8 * 3);
    let first = &got[0];
    assert_eq!(
        (first.side, first.before, first.after),
        (Side::Baseline, Some(State::SameCore), Some(State::SameCore))
    );
    assert_eq!((first.amount.done, first.amount.time_ns), (1000.0, 1e9));
    // A step of CHAIN in 0.25 ns; 2.5 adds a step, on two logical CPUs.
    assert_eq!((first.chain_per_ns, first.adds_per_ns), (Some(4.0), Some(20.0)));
    assert!(got.is_sorted_by_key(|row| row.start_ns));
}

#[test]
fn one_logical_cpu_has_no_rows() {
    let (study, mut runs) = (placement(), runs(2, 8));
    runs.iter_mut().for_each(|run| run.cpus = vec![0]);
    assert_eq!(rows(&study.comparisons[0], &looked_at(&runs)), []);
    assert_eq!(effects(&study, &runs, 0.05), None);
}

#[test]
fn a_study_with_looks_claims_its_ratio_by_state_and_one_without_says_nothing() {
    let (study, mut runs) = (placement(), runs(12, 20));
    let got = effects(&study, &runs, 0.05).unwrap();
    let effect = &got.effects[0];
    assert_eq!((effect.treatment.as_str(), effect.comparison.as_str()), ("P", "P : A+A'"));
    let by_state = effect.by_state().unwrap();
    assert_eq!(by_state.claim, Claim::Size, "{by_state:?}");
    assert!((by_state.ratio.mean.exp() - 0.65).abs() < 0.01);
    assert_eq!((got.level, got.checks_level), (0.95, 0.9));
    runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.looks.clear());
    assert_eq!(effects(&study, &runs, 0.05), None);
}
