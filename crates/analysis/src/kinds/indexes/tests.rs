//! From runs to gains, pairs and sentences of studies whose truth is known.

use super::{Gain, LOCK_GAINS};
use crate::FindingKind;
use crate::document::document;
use crate::fixtures::machine;
use crate::groups::bare;
use crate::{Analysis, Facts, Ratio, analyse, analyse_on, fixtures};
use threadwise_study::{Run, Study, Workload};

const LOCKS: [&str; 3] = ["spin", "mcs", "lock-free"];

/// Three locks under one other factor of two levels; `two` on both threads, `all` against `half`.
fn study() -> Study {
    let groups =
        ["key=r,lock=spin", "key=r,lock=mcs", "key=r,lock=lock-free", "key=s,lock=spin", "key=s,lock=mcs"];
    let mut study = fixtures::study(&groups, &["two 1c2t 2", "half 2c1t 2", "all 2c2t 4"]);
    study.workload = Workload::Index;
    for treatment in &mut study.treatments {
        treatment.factors = treatment
            .group
            .split(',')
            .filter_map(|level| level.split_once('='))
            .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
            .collect();
    }
    for group in groups {
        let [all, half] = ["all", "half"].map(|name| format!("{name}/{group}"));
        study.comparisons.push(fixtures::comparison(&all, &[&half], "smt-whole"));
    }
    study
}

/// Eight blocks with noise of 1%, each treatment with its own rate against the baseline.
fn runs(study: &Study, rate: impl Fn(&str, &str) -> f64) -> Vec<Run> {
    let mut all = Vec::new();
    for block in 0..8_u32 {
        // What a block is like, which all its treatments share.
        let of_block = 1.0 + 0.2 * f64::from(block % 3);
        for (at, treatment) in study.treatments.iter().enumerate() {
            let (name, lock) = (bare(&treatment.name), treatment.factors["lock"].as_str());
            let rows = |round: usize| {
                let noise = 1.0 + 0.01 * ((7919 * (block as usize * 400 + at * 20 + round)) as f64).sin();
                (1e6 * of_block * noise * rate(name, lock)) as u64
            };
            all.push(fixtures::run(block, &treatment.name, &(0..10).map(rows).collect::<Vec<_>>()));
        }
    }
    all
}

fn ratio(study: &Study, analysis: &Analysis, of: &str, levels: &str, locks: (&str, &str)) -> Option<Ratio> {
    let gains = Gain::all(study);
    let is = |name: &str, lock: &str| {
        let gain = gains.iter().find(|gain| gain.comparison == name).unwrap();
        gain.of == of && gain.levels["key"] == levels && gain.lock == lock
    };
    let found = &analysis.found(LOCK_GAINS.name).unwrap().estimates;
    let mut pairs = found.iter().filter(|pair| is(&pair.treatment, locks.0) && is(&pair.baseline, locks.1));
    let pair = pairs.next()?;
    assert!(pairs.next().is_none());
    Some(pair.ratio.clone())
}

#[test]
fn gains_are_compared_between_locks_and_nothing_else() {
    let study = study();
    let rate = |name: &str, lock: &str| match (name, lock) {
        ("two", "lock-free") => 1.5,
        ("two", _) => 1.2,
        ("half", _) => 2.0,
        ("all", "spin") => 2.0,
        ("all", _) => 2.4,
        _ => 1.0,
    };
    let analysis = analyse(&study, &runs(&study, rate), 1.0);
    let gains = Gain::all(&study);
    // Of three treatments in five groups; `all : A` is the product of two others.
    assert_eq!(gains.len(), 15);
    let names: Vec<&str> = gains.iter().map(|gain| gain.of.as_str()).collect();
    assert!(names.contains(&"two : A") && names.contains(&"all : half") && !names.contains(&"all : A"));
    // Three pairs of locks with key=r, one with key=s, of three gains.
    assert_eq!(analysis.found(LOCK_GAINS.name).unwrap().estimates.len(), 12);
    for (of, locks, truth) in [
        ("two : A", ("lock-free", "spin"), 1.25),
        ("two : A", ("lock-free", "mcs"), 1.25),
        ("two : A", ("mcs", "spin"), 1.0),
        ("half : A", ("lock-free", "spin"), 1.0),
        ("all : half", ("lock-free", "spin"), 1.2),
        ("all : half", ("lock-free", "mcs"), 1.0),
    ] {
        let ratio = ratio(&study, &analysis, of, "r", locks).unwrap();
        assert!(ratio.low < truth && truth < ratio.high && ratio.blocks == 8, "{of} {locks:?}: {ratio:?}");
        assert!(ratio.adjusted_low < ratio.low && ratio.high < ratio.adjusted_high);
        assert_eq!(ratio.is_different(), (truth - 1.0).abs() > 0.01, "{of} {locks:?}: {ratio:?}");
    }
    assert!(ratio(&study, &analysis, "two : A", "s", ("mcs", "spin")).is_some());
    assert_eq!(
        ratio(&study, &analysis, "two : A", "s", ("lock-free", "spin")),
        None,
        "it is not in the study"
    );
}

#[test]
fn a_pair_has_the_blocks_that_both_have() {
    let study = study();
    let mut runs = runs(&study, |_, _| 1.0);
    runs.retain(|run| run.treatment != "two/key=r,lock=mcs" || run.block > 1);
    runs.retain(|run| run.treatment != "half/key=s,lock=mcs");
    let analysis = analyse(&study, &runs, 1.0);
    let blocks = |of, levels, locks| ratio(&study, &analysis, of, levels, locks).map(|ratio| ratio.blocks);
    assert_eq!(blocks("two : A", "r", ("mcs", "spin")), Some(6));
    assert_eq!(blocks("two : A", "r", ("lock-free", "spin")), Some(8));
    // Without runs of one side there is no pair.
    assert_eq!(blocks("half : A", "s", ("mcs", "spin")), None);
    assert_eq!(blocks("all : half", "s", ("mcs", "spin")), None);
}

#[test]
fn locks_that_are_no_factor_are_not_compared() {
    let mut study = study();
    study.treatments.retain(|treatment| treatment.factors["lock"] == LOCKS[0]);
    let runs = runs(&study, |_, _| 1.0);
    assert_eq!(analyse(&study, &runs, 1.0).found(LOCK_GAINS.name), None);
    let mut other = self::study();
    other.workload = "insert".into();
    assert_eq!(analyse(&other, &self::runs(&other, |_, _| 1.0), 1.0).found(LOCK_GAINS.name), None);
}

fn said(study: &Study, rate: impl Fn(&str, &str) -> f64) -> Vec<(FindingKind, String)> {
    let topology = machine(1, 2, 2);
    let analysis = analyse_on(study, Some(&topology), &runs(study, rate), 1.0);
    let document = document(&Facts::new(study, &topology, &analysis));
    let found = document
        .verdict
        .into_iter()
        .filter(|one| matches!(one.kind, FindingKind::LockThreads | FindingKind::LockCores));
    found.map(|one| (one.kind, one.line.to_string())).collect()
}

#[test]
fn the_lock_that_gains_more_is_named_first_and_cores_are_distinguished_from_threads() {
    let rate = |name: &str, lock: &str| match (name, lock) {
        ("two", "lock-free") => 1.5,
        ("half", "lock-free") => 2.0,
        ("half", _) => 1.0,
        ("all", "lock-free") => 2.0,
        _ => 1.0,
    };
    let found = said(&study(), rate);
    let [(threads, text), (cores, of_cores)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((threads, cores), (&FindingKind::LockThreads, &FindingKind::LockCores));
    assert!(text.contains("lock-free gains more than spin (r; two : A): 1.50x ["), "{text}");
    assert!(text.contains("] against 1.00x [") && text.contains("times as much"), "{text}");
    assert!(text.ends_with(" Of 8 pairs 6 show no difference."), "{text}");
    assert!(of_cores.contains("lock-free gains more than mcs (r; half : A): 2.00x ["), "{of_cores}");
    // The other way round.
    let found = said(&study(), |name, lock| if (name, lock) == ("two", "spin") { 1.5 } else { 1.0 });
    assert!(found[0].1.contains("spin gains more than lock-free (r; two : A): 1.50x ["), "{found:?}");
}

#[test]
fn no_difference_is_no_claim_and_many_are_counted() {
    let found = said(&study(), |_, _| 1.0);
    assert_eq!(found[0].1, "Gains from second threads by lock: no difference is shown.");
    let found = said(&study(), |name, lock| match (name, lock) {
        ("two" | "all", "spin") => 0.5,
        ("two" | "all", "mcs") => 0.7,
        _ => 1.0,
    });
    assert!(found[0].1.contains("; 4 more in the table."), "{found:?}");
}
