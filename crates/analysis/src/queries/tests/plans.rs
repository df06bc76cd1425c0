//! Plans: how they differ, whose they are, and what is said of it.

use super::*;
use crate::queries::plans::{change, side_by_side};

const SERIAL: &str = "TOP_N 10 revenue\n  AGGREGATE sum(revenue) by orderkey\n    HASH_JOIN orderkey\n      SCAN orders\n      SCAN lineitem";
const PARALLEL: &str = "~ GATHER\n  TOP_N 10 revenue\n    AGGREGATE sum(revenue) by orderkey\n      ~ Partial AGGREGATE sum(revenue) by orderkey\n        HASH_JOIN orderkey\n          ~ REPARTITION\n            SCAN orders\n          SCAN lineitem";
const OTHER: &str = "TOP_N 10 revenue\n  AGGREGATE sum(revenue) by orderkey\n    MERGE_JOIN orderkey\n      SCAN orders\n      SCAN lineitem";

#[test]
fn plans_are_distinguished_from_going_parallel() {
    assert_eq!(change(SERIAL, SERIAL), Change::Same);
    assert_eq!(change(SERIAL, &format!("{SERIAL}\n\n")), Change::Same, "blank lines");
    assert_eq!(change(SERIAL, PARALLEL), Change::ParallelOnly);
    assert_eq!(change(PARALLEL, SERIAL), Change::ParallelOnly);
    assert_eq!(change(SERIAL, OTHER), Change::Different);
    assert_eq!(change(PARALLEL, OTHER), Change::Different);
    // The same operators below each other in another way.
    assert_eq!(change("JOIN\n  A\n  B", "JOIN\n  A\n    B"), Change::Different);
    assert_eq!(change("JOIN\n  A\n  B", "JOIN\n  B\n  A"), Change::Different);
    // Only what is below an operator that moves rows goes up a level.
    assert_eq!(change("JOIN\n  ~ X\n    A\n  B", "JOIN\n  A\n  B"), Change::ParallelOnly);
    assert_eq!(change("JOIN\n  ~ X\n    A\n    B", "JOIN\n  A\n  B"), Change::ParallelOnly);
    assert_eq!(change("JOIN\n  ~ X\n  ~ Y\n    A", "JOIN\n  A"), Change::ParallelOnly);
}

#[test]
fn estimates_are_kept_and_make_no_other_plan() {
    let study = study_of("6", &["d2 no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let cost = if name == "d2" { 40.5 } else { 81.0 };
        let plan = format!("AGGREGATE # rows=1 cost={cost}\n  SCAN lineitem # rows=600572\n");
        QueryExecution { plan: Some(plan), ..took(query, 10.0 * noise(block, name, query, 0.01)) }
    });
    let found = queries_of(&study, &runs);
    let [plan] = found.plans.as_slice() else { panic!("{:?}", found.plans) };
    assert_eq!(plan.text, "AGGREGATE\n  SCAN lineitem");
    assert_eq!(plan_name(&plan.text), Some(plan.name.clone()), "the name is of the text alone");
    let of = |rows, cost| Estimated { rows, cost };
    assert_eq!(plan.estimates, [of(Some(1.0), Some(81.0)), of(Some(600_572.0), None)]);
    assert!(found.changes.is_empty() && found.treatments[2].queries[&6].plan_change == Change::Same);
    for damaged in ["A # rows=x cost=-1", "A # rows=inf"] {
        let runs = power(&study, 8, |_, query, _| QueryExecution {
            plan: Some(damaged.to_owned()),
            ..took(query, 10.0)
        });
        let found = queries_of(&study, &runs);
        assert!(found.plans[0].text == "A" && found.plans[0].estimates.is_empty(), "{:?}", found.plans);
    }
}

#[test]
fn plans_side_by_side() {
    let row = |a: Option<&str>, b: Option<&str>| (a.map(str::to_owned), b.map(str::to_owned));
    let both = |line: &str| row(Some(line), Some(line));
    assert_eq!(
        side_by_side(SERIAL, OTHER),
        [
            both("TOP_N 10 revenue"),
            both("  AGGREGATE sum(revenue) by orderkey"),
            row(Some("    HASH_JOIN orderkey"), Some("    MERGE_JOIN orderkey")),
            both("      SCAN orders"),
            both("      SCAN lineitem"),
        ]
    );
    // An operator above moves no line, and each keeps its own indentation.
    let rows = side_by_side("A\n  B", "~ G\n  A\n    B");
    assert_eq!(rows, [row(None, Some("~ G")), row(Some("A"), Some("  A")), row(Some("  B"), Some("    B"))]);
    assert!(!is_different(&rows[1]) && !is_different(&rows[2]) && is_different(&rows[0]));
    // What stands instead shares a row, in order; operators that only move rows replace no other.
    assert_eq!(
        side_by_side("A\n  B\n  C\n  D", "A\n  ~ G\n  X\n  D"),
        [
            both("A"),
            row(None, Some("  ~ G")),
            row(Some("  B"), Some("  X")),
            row(Some("  C"), None),
            both("  D"),
        ]
    );
    assert_eq!(side_by_side("", "A"), [row(None, Some("A"))]);
    assert!(side_by_side("", "\n").is_empty());
}

#[test]
fn every_line_is_kept_once_and_in_order() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..300 {
        let mut text = |most: u32| -> Vec<String> {
            let lines = random.random_range(0..most);
            (0..lines).map(|_| format!("L{}", random.random_range(0..4))).collect()
        };
        let (one, other) = (text(9), text(9));
        let rows = side_by_side(&one.join("\n"), &other.join("\n"));
        let left: Vec<String> = rows.iter().filter_map(|(a, _)| a.clone()).collect();
        let right: Vec<String> = rows.iter().filter_map(|(_, b)| b.clone()).collect();
        assert_eq!((left, right), (one, other));
        assert!(rows.iter().all(|row| match row {
            (None, None) => false,
            _ => is_different(row) || row.0 == row.1,
        }));
    }
    // Far too long to align: still every line once.
    let long = |mark: &str| (0..5000).map(|at| format!("{mark}{at}")).collect::<Vec<_>>().join("\n");
    let rows = side_by_side(&long("a"), &long("b"));
    assert_eq!(rows.len(), 5000);
}

#[test]
fn what_stands_in_the_same_place_is_named_together() {
    let left = "A\n  OLD_SCAN x\n  HASH_JOIN\n    B";
    let other = "A\n  MERGE_JOIN\n    B\n  NEW_SORT";
    let change = PlanChange {
        query: 1,
        baseline: 0,
        other: 1,
        treatments: Vec::new(),
        change: Change::Different,
        lines: side_by_side(left, other),
    };
    // OLD_SCAN and MERGE_JOIN share the first row of that place.
    assert_eq!(change.operators(), (Some("MERGE_JOIN"), Some("OLD_SCAN x")));
}

/// Queries 1 and 2; query 2 has the plan that `of` says, and is faster under it.
fn with_plans(plan_of: impl Fn(&str, u32) -> Option<&'static str>) -> (Study, Vec<Run>) {
    let study = study_of("1-2", &["T no-smt 1 2", "U all 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let plan = if query == 1 { Some(SERIAL) } else { plan_of(name, block) };
        let ms = if plan == Some(OTHER) { 25.0 } else { 100.0 };
        let parallel = if name.starts_with('A') { 1.0 } else { 0.8 };
        QueryExecution {
            plan: plan.map(str::to_owned),
            ..took(query, ms * parallel * noise(block, name, query, 0.001))
        }
    });
    (study, runs)
}

#[test]
fn a_changed_plan_is_marked_and_totals_are_given_without_it() {
    let (study, runs) = with_plans(|name, _| Some(if name == "T" { OTHER } else { SERIAL }));
    let found = queries_of(&study, &runs);
    assert_eq!(found.changed(), [2]);
    let [change] = found.changes.as_slice() else { panic!("{:?}", found.changes) };
    assert_eq!(
        (change.query, change.change, change.treatments.as_slice()),
        (2, Change::Different, ["T".to_owned()].as_slice())
    );
    assert_eq!(
        (found.plans[change.baseline].text.as_str(), found.plans[change.other].text.as_str()),
        (SERIAL, OTHER)
    );
    assert_eq!(found.plans.len(), 2);
    assert!(
        found
            .plans
            .iter()
            .all(|plan| plan.name.len() == 8 && plan.name != found.plans[0].name || plan == &found.plans[0])
    );
    let measured = found.treatments.iter().find(|measured| measured.treatment == "T").unwrap();
    assert_eq!(
        (measured.queries[&2].plan_change, measured.queries[&1].plan_change),
        (Change::Different, Change::Same)
    );
    assert_eq!((measured.queries[&2].plan, measured.queries[&2].plans_seen), (Some(change.other), 1));
    // 200 / (80 + 20) with it, 100 / 80 without; geometric √(1.25 · 5) and 1.25.
    let near = |ratio: &Option<Ratio>, truth: f64| {
        let ratio = ratio.as_ref().unwrap();
        assert!((ratio.value / truth).ln().abs() < 0.002 && ratio.is_different(), "{ratio:?}, truth {truth}");
    };
    near(&measured.total.ratios.speed, 2.0);
    near(&measured.total.ratios.speed_same_plans, 1.25);
    near(&measured.total.ratios.geometric, 2.5);
    near(&measured.total.ratios.geometric_same_plans, 1.25);
    // U's plans are the baseline's, and its totals are given without query 2 all the same.
    let other = found.treatments.iter().find(|measured| measured.treatment == "U").unwrap();
    assert_eq!(other.queries[&2].plan_change, Change::Same);
    near(&other.total.ratios.speed_same_plans, 1.25);
}

#[test]
fn going_parallel_is_no_other_plan() {
    let (study, runs) = with_plans(|name, _| Some(if name == "T" { PARALLEL } else { SERIAL }));
    let found = queries_of(&study, &runs);
    assert!(found.changed().is_empty());
    assert_eq!(found.changes.len(), 1);
    assert_eq!(found.changes[0].change, Change::ParallelOnly);
    let measured = found.treatments.iter().find(|measured| measured.treatment == "T").unwrap();
    assert_eq!(measured.queries[&2].plan_change, Change::ParallelOnly);
    assert_eq!(measured.total.ratios.speed_same_plans, None);
}

#[test]
fn missing_plans_say_nothing() {
    let (study, runs) = with_plans(|name, _| (name != "T").then_some(SERIAL));
    let found = queries_of(&study, &runs);
    let measured = found.treatments.iter().find(|measured| measured.treatment == "T").unwrap();
    assert_eq!((measured.queries[&2].plan_change, measured.queries[&2].plan), (Change::Unknown, None));
    assert_eq!(measured.queries[&2].plans_seen, 0);
    assert!(found.changes.is_empty());
}

#[test]
fn of_several_plans_the_commonest_counts() {
    let (study, runs) = with_plans(|name, block| Some(if name == "T" && block < 3 { OTHER } else { SERIAL }));
    let found = queries_of(&study, &runs);
    let measured = found.treatments.iter().find(|measured| measured.treatment == "T").unwrap();
    assert_eq!((measured.queries[&2].plan_change, measured.queries[&2].plans_seen), (Change::Same, 2));
    assert!(found.changes.is_empty());
}
