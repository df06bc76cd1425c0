//! Ratios of queries and of all together.

use super::*;

/// Query 1 takes 100 ms, query 2 400 ms; T does the first twice as fast and the second at 0.8 times.
fn two(treatment: &str, query: u8, block: u32) -> QueryExecution {
    let base = if query == 1 { 100.0 } else { 400.0 };
    let ratio = match (treatment, query) {
        ("T", 1) => 2.0,
        ("T", _) => 0.8,
        _ => 1.0,
    };
    took(query, base / ratio * noise(block, treatment, query, 0.002))
}

fn treatment<'a>(queries: &'a Queries, name: &str) -> &'a TreatmentQueries {
    queries.treatments.iter().find(|measured| measured.treatment == name).unwrap()
}

#[test]
fn known_ratios_are_found() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let found = queries_of(&study, &power(&study, 8, two));
    assert_eq!((found.numbers.as_slice(), found.is_throughput), ([1, 2].as_slice(), false));
    let (base, measured) = (treatment(&found, "A"), treatment(&found, "T"));
    assert_eq!((measured.blocks, measured.dop, measured.streams), (8, Some(2), 1));
    for (query, truth) in [(1, 2.0), (2, 0.8)] {
        let speed = measured.queries[&query].speed.as_ref().unwrap();
        assert!(speed.low < truth && truth < speed.high && speed.is_different(), "{speed:?}");
        assert!((speed.value / truth).ln().abs() < 0.003 && speed.blocks == 8, "{speed:?}");
        assert!(speed.floor.unwrap() < 1.01);
        assert!(base.queries[&query].speed.is_none() && base.queries[&query].cpu.is_none());
        let cpu = measured.queries[&query].cpu.as_ref().unwrap();
        assert!(
            (cpu.value * truth).ln().abs() < 0.003 && cpu.is_different(),
            "CPU follows time here: {cpu:?}"
        );
    }
    let total = measured.total.ratios.speed.as_ref().unwrap();
    // (100 + 400) / (50 + 500).
    assert!((total.value / (500.0 / 550.0)).ln().abs() < 0.002 && total.is_different(), "{total:?}");
    let geometric = measured.total.ratios.geometric.as_ref().unwrap();
    assert!((geometric.value / 1.6_f64.sqrt()).ln().abs() < 0.002, "{geometric:?}");
    assert!((measured.total.elapsed_s.as_ref().unwrap().mean - 0.55).abs() < 0.002);
    assert!((measured.total.cpu_s.as_ref().unwrap().mean - 1.1).abs() < 0.004);
    let per_h = measured.total.queries_per_h.as_ref().unwrap();
    assert!((per_h.mean / (3600.0 * 2.0 / 0.55)).ln().abs() < 0.005 && per_h.unit == "1/h");
    assert_eq!(
        (&measured.total.ratios.speed_same_plans, &measured.total.ratios.geometric_same_plans),
        (&None, &None),
        "plans are equal"
    );
    assert!((measured.queries[&1].planning_ms.as_ref().unwrap().mean - 1.0).abs() < 1e-9);
    assert_eq!((measured.queries[&1].dop_min, measured.queries[&1].dop_max), (Some(1), Some(1)));
}

#[test]
fn a_ratio_worked_by_hand() {
    // Block 0: A 100, A' 400, T 100: ln(√(100·400)/100) = ln 2. Block 1: all 100: 0.
    let study = study_of("6", &["T no-smt 1 2"]);
    let runs = power(&study, 2, |name, query, block| {
        took(query, if (name, block) == ("A'", 0) { 400.0 } else { 100.0 })
    });
    let found = queries_of(&study, &runs);
    let speed = treatment(&found, "T").queries[&6].speed.as_ref().unwrap();
    close(speed.value, 2.0_f64.sqrt());
    // Mean ln 2 / 2, standard error the same, t(0.975, 1) = 12.7062.
    let half = std::f64::consts::LN_2 / 2.0;
    assert!((speed.high.ln() - half * 13.7062).abs() < 1e-4, "{speed:?}");
    assert!(!speed.is_different());
    // A'/A: ln 4 and 0.
    assert!((speed.floor.unwrap().ln() - 2.0 * half * 13.7062).abs() < 1e-3);
}

#[test]
fn noise_is_no_effect() {
    let study = study_of("1-22", &["T no-smt 1 2", "U all 1 2"]);
    let found = queries_of(
        &study,
        &power(&study, 8, |name, query, block| took(query, 100.0 * noise(block, name, query, 0.05))),
    );
    let all = found
        .treatments
        .iter()
        .flat_map(|measured| measured.queries.values())
        .filter_map(|query| query.speed.as_ref());
    assert_eq!(all.clone().count(), 44);
    assert_eq!(all.filter(|speed| speed.is_different()).count(), 0);
    assert!(found.outliers.iter().all(|one| one.block.is_none()), "{:#?}", found.outliers);
}

#[test]
fn pairs_are_taken_in_rounds_that_both_have() {
    // Two passes, and the second one on a machine of half the speed: T lacks it.
    let study = study_of("1", &["T no-smt 1 2"]);
    let mut runs = Vec::new();
    for block in 0..4 {
        for name in ["A", "A'", "T"] {
            let ms = if name == "T" { 50.0 } else { 100.0 };
            let mut slices = vec![slice_of(0, vec![vec![took(1, ms)]])];
            if name != "T" {
                slices.push(slice_of(1, vec![vec![took(1, 2.0 * ms)]]));
            }
            runs.push(run_of(block, name, &[0], slices));
        }
    }
    let found = queries_of(&study, &runs);
    close(treatment(&found, "T").queries[&1].speed.as_ref().unwrap().value, 2.0);
    close(treatment(&found, "A").total.elapsed_s.as_ref().unwrap().mean, 0.15);
}

#[test]
fn a_total_needs_every_query() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let mut runs = power(&study, 4, two);
    // Block 0 lacks query 2 under T, block 1 under the baseline.
    runs.iter_mut().find(|run| (run.block, run.treatment.as_str()) == (0, "T")).unwrap().slices.pop();
    runs.iter_mut().find(|run| (run.block, run.treatment.as_str()) == (1, "A'")).unwrap().slices.pop();
    let found = queries_of(&study, &runs);
    let measured = treatment(&found, "T");
    assert_eq!(measured.total.ratios.speed.as_ref().unwrap().blocks, 2);
    assert_eq!(measured.total.ratios.geometric.as_ref().unwrap().blocks, 2);
    assert_eq!(measured.queries[&1].speed.as_ref().unwrap().blocks, 4);
    assert_eq!(measured.queries[&2].speed.as_ref().unwrap().blocks, 2);
    assert_eq!(measured.blocks, 4);
}

#[test]
fn failed_runs_and_baselines_do_not_count() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let mut runs = power(&study, 5, two);
    let failed = || RunStatus::Failed { kind: "engine".to_owned(), message: "out of memory".to_owned() };
    runs.iter_mut().find(|run| (run.block, run.treatment.as_str()) == (1, "T")).unwrap().status = failed();
    runs.iter_mut().find(|run| (run.block, run.treatment.as_str()) == (3, "A")).unwrap().status = failed();
    let found = queries_of(&study, &runs);
    assert_eq!(treatment(&found, "T").blocks, 3, "its own failed one, and the one without a baseline");
    assert_eq!(treatment(&found, "A").blocks, 4);
    assert_eq!(treatment(&found, "T").queries[&1].speed.as_ref().unwrap().blocks, 3);
}

#[test]
fn one_block_has_no_interval_and_no_effect() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let found = queries_of(&study, &power(&study, 1, two));
    let speed = treatment(&found, "T").queries[&1].speed.as_ref().unwrap();
    assert_eq!((speed.low, speed.high, speed.is_different(), speed.floor), (0.0, f64::INFINITY, false, None));
    assert!(found.heat.iter().all(|map| map.plateaus.is_empty()), "without an interval there is none");
}

#[test]
fn missing_cpu_times_leave_times() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let runs = power(&study, 4, |name, query, block| QueryExecution {
        cpu_ns: if query == 1 { None } else { Some(5) },
        planning_ns: None,
        ..two(name, query, block)
    });
    let found = queries_of(&study, &runs);
    let measured = treatment(&found, "T");
    assert!(measured.queries[&1].cpu.is_none() && measured.queries[&1].cpu_ms.is_none());
    assert!(measured.queries[&1].planning_ms.is_none());
    assert!(measured.queries[&2].cpu.is_some());
    assert!(
        measured.total.ratios.cpu.is_none()
            && measured.total.cpu_s.is_none()
            && measured.total.ratios.speed.is_some()
    );
}

#[test]
fn streams_are_compared_by_queries_per_hour() {
    // Four streams at half of the speed each: twice the throughput, half the speed a query.
    let mut study = study_of("1-2", &["T no-smt 4 1"]);
    as_throughput(&mut study);
    let mut runs = Vec::new();
    for block in 0..8 {
        for treatment in &study.treatments {
            let slow = if treatment.name == "T" { 2.0 } else { 1.0 };
            let stream = |at: u32| -> Vec<QueryExecution> {
                let one = |query: u8| QueryExecution {
                    cpu_ns: None,
                    ..took(query, 100.0 * slow * noise(block * 8 + at, &treatment.name, query, 0.002))
                };
                if at.is_multiple_of(2) { vec![one(1), one(2)] } else { vec![one(2), one(1)] }
            };
            let mut slice = slice_of(0, (0..treatment.sessions).map(stream).collect());
            slice.sessions.iter_mut().for_each(|session| session.cpu_ns = 300_000_000);
            runs.push(run_of(block, &treatment.name, &[0, 1], vec![slice]));
        }
    }
    let found = queries_of(&study, &runs);
    let measured = treatment(&found, "T");
    assert!(found.is_throughput);
    let speed = measured.total.ratios.speed.as_ref().unwrap();
    assert!((speed.value / 2.0).ln().abs() < 0.01 && speed.is_different(), "{speed:?}");
    let geometric = measured.total.ratios.geometric.as_ref().unwrap();
    assert!((geometric.value / 0.5).ln().abs() < 0.01, "{geometric:?}");
    // 1.2 s for 8 queries against 0.3 s for 2.
    close(measured.total.cpu_s.as_ref().unwrap().mean, 1.2);
    close(measured.total.ratios.cpu.as_ref().unwrap().value, 1.0);
    assert!(measured.queries[&1].cpu.is_none());
    // A stream that lacks a query makes no total.
    runs.iter_mut().find(|run| run.treatment == "T").unwrap().slices[0].sessions[3].queries.pop();
    let found = queries_of(&study, &runs);
    assert_eq!(treatment(&found, "T").total.ratios.speed.as_ref().unwrap().blocks, 7);
    assert_eq!(treatment(&found, "T").queries[&1].speed.as_ref().unwrap().blocks, 8);
}

/// Divided by a treatment's, the figures of the baseline are the ratios beside them, ends of runs apart
/// notwithstanding: they are of A and A′ together.
#[test]
fn figures_of_the_baseline_divide_to_the_ratios() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let mut one = two(name, query, block);
        // The second run of the baseline is 10% slower.
        one.elapsed_ns = (one.elapsed_ns as f64 * if name == "A'" { 1.1 } else { 1.0 }) as u64;
        one
    });
    let found = queries_of(&study, &runs);
    let base = &found.baselines[0];
    assert_eq!((base.both.treatment.as_str(), base.twin.as_deref(), base.both.blocks), ("A", Some("A'"), 8));
    let measured = treatment(&found, "T");
    let divided = |base: &Interval, interval: &Interval| base.mean / interval.mean;
    for query in [1, 2] {
        let (below, above) = (&base.both.queries[&query], &measured.queries[&query]);
        let ratio = above.speed.as_ref().unwrap();
        close(divided(&below.elapsed_ms, &above.elapsed_ms), ratio.value);
        let cpu = above.cpu.as_ref().unwrap();
        close(divided(below.cpu_ms.as_ref().unwrap(), above.cpu_ms.as_ref().unwrap()), 1.0 / cpu.value);
        assert!(below.speed.is_none() && below.elapsed_ms.low < below.elapsed_ms.high);
        assert_eq!(
            (below.plan, below.plan_change),
            (treatment(&found, "A").queries[&query].plan, Change::Same)
        );
    }
    let (below, above) = (&base.both.total, &measured.total);
    let total = |estimates: &TotalEstimates| estimates.elapsed_s.clone().unwrap();
    close(divided(&total(below), &total(above)), above.ratios.speed.as_ref().unwrap().value);
    let rate = |estimates: &TotalEstimates| estimates.queries_per_h.as_ref().unwrap().mean;
    close(rate(above) / rate(below), above.ratios.speed.as_ref().unwrap().value);
    // A alone does not.
    let alone = treatment(&found, "A").total.elapsed_s.as_ref().unwrap().mean;
    assert!((total(below).mean / alone / 1.1_f64.sqrt()).ln().abs() < 0.002);
    // A′ against A: what the floor says.
    let noise = base.noise.as_ref().unwrap();
    assert!((noise.value * 1.1).ln().abs() < 0.002, "{noise:?}");
    assert_eq!(noise.floor, above.ratios.speed.as_ref().unwrap().floor);
}

#[test]
fn no_share_of_time_is_above_one() {
    let study = study_of("1", &["T no-smt 1 2"]);
    let mut runs = power(&study, 3, |_, query, _| took(query, 100.0));
    for run in &mut runs {
        // One block of three has others' idle time in it: Student's interval around 0.93 goes to 1.2.
        let busy = if run.block == 1 { 80.0 } else { 100.0 };
        run.slices[0].cpu_times = times(&[(0, busy, 0.0, 100.0), (1, busy, 0.0, 100.0)]);
    }
    let analysis = look(&study, Some(&machine(1, 2, 1)), &runs);
    let busy = &analysis.treatments[2].metrics["busy_share"];
    assert!((busy.mean - 0.9333).abs() < 1e-4 && busy.high == 1.0 && busy.low < 0.7, "{busy:?}");
    // Of one block there is no interval, and none is made up.
    let one = look(&study, Some(&machine(1, 2, 1)), &runs[..3]);
    assert_eq!(one.treatments[2].metrics["busy_share"].high, f64::INFINITY);
}

#[test]
fn other_workloads_have_no_queries() {
    let mut study = study_of("1", &["T no-smt 1 2"]);
    let runs = power(&study, 2, two);
    study.workload = "logical-io".into();
    assert!(look(&study, None, &runs).queries.is_none());
}
