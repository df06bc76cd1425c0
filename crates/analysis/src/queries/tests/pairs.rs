//! Pairs of treatments query by query: both threads of every core over one at the same DOP, and DOP of all logical CPUs
//! over DOP of all cores, as the published article has them.

use super::*;
use threadwise_study::Comparison;

/// Speed of both threads over one by query: at most 65% faster, Q15 four times with another plan.
fn gain(query: u8) -> f64 {
    match query {
        15 => 4.0,
        6 => 1.65,
        _ => 1.2,
    }
}

fn named(name: &str, kind: &str, treatment: &str, baseline: &str) -> Comparison {
    Comparison {
        name: name.to_owned(),
        treatment: treatment.to_owned(),
        baseline: vec![baseline.to_owned()],
        kind: kind.into(),
    }
}

fn smt(cpu_factor: f64) -> (Study, Vec<Run>) {
    let mut study = study_of("1-22", &["one no-smt 1 4", "both all 1 8"]);
    study.comparisons.push(named("both over one", "both-threads", "both", "one"));
    study.comparisons.push(named("one over A", "dop-step", "one", "A"));
    let runs = power(&study, 10, |name, query, block| {
        let speed = match name {
            "one" => 3.0,
            "both" => 3.0 * gain(query),
            _ => 1.0,
        };
        let mut done = took(query, 1000.0 / speed * noise(block, name, query, 0.01));
        let cpu_ms = if name == "both" { 2000.0 * cpu_factor } else { 2000.0 };
        done.cpu_ns = Some((cpu_ms * noise(block, name, query, 0.01) * 1e6) as u64);
        if name == "both" && query == 15 {
            done.plan = Some("AGGREGATE q15\n  HASH JOIN\n    SCAN lineitem\n    SCAN supplier".to_owned());
        }
        done
    });
    (study, runs)
}

#[test]
fn a_named_pair_is_compared_query_by_query_and_a_step_of_dop_is_not() {
    let (study, runs) = smt(1.5);
    let found = queries_of(&study, &runs);
    let [pair] = found.comparisons.as_slice() else { panic!("{:?}", found.comparisons) };
    assert_eq!((pair.treatment.as_str(), pair.baseline.as_str()), ("both", "one"));
    assert_eq!(pair.queries.len(), 22);
    for query in &pair.queries {
        let (truth, cpu) = (gain(query.query), query.cpu.as_ref().expect("CPU time is known"));
        assert!((query.speed.value / truth - 1.0).abs() < 0.03, "Q{}: {:?}", query.query, query.speed);
        assert!((cpu.value / 1.5 - 1.0).abs() < 0.03, "Q{}: {cpu:?}", query.query);
        assert!(query.speed.is_different() && cpu.is_different());
    }
    assert_eq!(pair.changed, [15]);
    assert_eq!(pair.queries[14].plan_change, Change::Different);
}

#[test]
fn the_total_stands_with_and_without_the_query_whose_plan_changed() {
    let (study, runs) = smt(1.5);
    let found = queries_of(&study, &runs);
    let pair = &found.comparisons[0];
    // Every query takes equally long under `one`.
    let times: f64 = (1..=22).map(|query| 1.0 / gain(query)).sum();
    let near = |ratio: &Option<Ratio>, truth: f64| {
        let value = ratio.as_ref().expect("a ratio").value;
        assert!((value / truth - 1.0).abs() < 0.01, "{value}, expected {truth}");
    };
    near(&pair.ratios.speed, 22.0 / times);
    near(&pair.ratios.speed_same_plans, 21.0 / (times - 0.25));
    near(&pair.ratios.cpu, 1.5);
    let logs: f64 = (1..=22).filter(|query| *query != 15).map(|query| gain(query).ln()).sum();
    near(&pair.ratios.geometric_same_plans, (logs / 21.0).exp());
}

#[test]
fn a_pair_over_the_baseline_is_over_both_of_its_runs() {
    let (mut study, mut runs) = smt(1.0);
    study.comparisons = vec![Comparison {
        baseline: vec!["A".to_owned(), study.treatments[1].name.clone()],
        ..named("both over A", "named", "both", "A")
    }];
    let found = queries_of(&study, &runs);
    assert!((found.comparisons[0].queries[0].speed.value / 3.6 - 1.0).abs() < 0.03);
    // Without CPU times there are none of either side, and speeds stay.
    for run in &mut runs {
        let sessions = run.slices.iter_mut().flat_map(|slice| &mut slice.sessions);
        sessions.flat_map(|session| &mut session.queries).for_each(|query| query.cpu_ns = None);
    }
    let found = queries_of(&study, &runs);
    assert!(found.comparisons[0].queries.iter().all(|query| query.cpu.is_none()));
    assert!(found.comparisons[0].ratios.speed.is_some());
}

#[test]
fn steps_of_dop_have_the_ratio_of_cpu_time() {
    let (study, runs) = smt(1.5);
    let study = Study {
        treatments: study
            .treatments
            .into_iter()
            .map(|mut treatment| {
                if treatment.name == "both" {
                    treatment.placement = "no-smt".parse().unwrap();
                }
                treatment
            })
            .collect(),
        ..study
    };
    let found = queries_of(&study, &runs);
    let step = found.steps.iter().find(|step| step.to == "both" && step.query == Some(3));
    let cpu = step.and_then(|step| step.cpu.as_ref()).expect("a step from 4 to 8 with CPU times");
    assert!((cpu.value / 1.5 - 1.0).abs() < 0.03 && cpu.is_different(), "{cpu:?}");
    let all = found.steps.iter().find(|step| step.to == "both" && step.query.is_none());
    assert!((all.and_then(|step| step.cpu.as_ref()).expect("of all").value / 1.5 - 1.0).abs() < 0.02);
}
