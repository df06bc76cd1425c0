//! Input that no runner makes: nothing panics, and no number is made of it.

use super::*;
use crate::plain_verdict;

#[test]
fn queries_that_do_not_exist_and_slices_without_any() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let odd = power(&study, 3, |_, query, _| QueryExecution {
        query: if query == 1 { 0 } else { 255 },
        ..took(1, 5.0)
    });
    let found = queries_of(&study, &odd);
    assert!(found.numbers.is_empty() && found.steps.is_empty() && found.outliers.is_empty());
    assert!(
        found
            .treatments
            .iter()
            .all(|measured| measured.queries.is_empty() && measured.total.elapsed_s.is_none())
    );
    let mut none = power(&study, 3, |_, query, _| took(query, 5.0));
    none.iter_mut()
        .flat_map(|run| &mut run.slices)
        .flat_map(|slice| &mut slice.sessions)
        .for_each(|s| s.queries.clear());
    assert!(queries_of(&study, &none).numbers.is_empty());
    assert!(queries_of(&study, &[]).treatments.iter().all(|measured| measured.blocks == 0));
    let zero = power(&study, 3, |_, query, _| took(query, 0.0));
    assert!(queries_of(&study, &zero).numbers.is_empty());
}

#[test]
fn rounds_beyond_the_design_and_unknown_cpus_are_left_out() {
    let study = study_of("1", &["T no-smt 1 2"]);
    let mut runs = power(&study, 2, |_, query, _| took(query, 5.0));
    for run in &mut runs {
        run.slices.push(slice_of(u32::MAX, vec![vec![took(1, 500.0)]]));
        run.cpus = vec![4_000_000];
    }
    let found = queries_of(&study, &runs);
    close(found.treatments[2].queries[&1].elapsed_ms.mean, 5.0);
    assert!(found.treatments[2].cores.is_none());
}

#[test]
fn nothing_panics_on_anything() {
    let mut random = ChaCha8Rng::seed_from_u64(99);
    let topology = machine(1, 3, 2);
    for case in 0..400 {
        let mut study = study_of("1-22", &["T no-smt 1 2", "U all 2 4", "V all 2 8"]);
        if case % 3 == 0 {
            as_throughput(&mut study);
        }
        if case % 5 == 0 {
            let dop = [0, -1, i64::MAX][case / 5 % 3];
            study.treatments[3].options.insert("dop".to_owned(), OptionValue::Integer(dop));
            study.treatments[2]
                .options
                .insert("scale".to_owned(), OptionValue::Number([f64::NAN, 0.0, 1e300][case / 5 % 3]));
        }
        let runs: Vec<Run> = (0..random.random_range(0..30)).map(|_| any_run(&mut random)).collect();
        let analysis = look(&study, (case % 2 == 0).then_some(&topology), &runs);
        let findings = plain_verdict(&study, &topology, &analysis);
        sections::assert_shown(&study, &topology, &analysis);
        let found = analysis.queries.unwrap();
        assert!(found.numbers.iter().all(|query| (1..=22).contains(query)));
        assert!(findings.iter().all(|finding| !finding.text().contains("NaN")), "{findings:#?}");
        let ratios = found
            .treatments
            .iter()
            .flat_map(|measured| measured.queries.values())
            .filter_map(|query| query.speed.as_ref());
        assert!(ratios.into_iter().all(|ratio| ratio.value.is_finite() && ratio.low <= ratio.high));
    }
}

fn any_run(random: &mut ChaCha8Rng) -> Run {
    let name = ["A", "A'", "T", "U", "V", "unknown"][random.random_range(0..6)];
    let mut slices = Vec::new();
    for _ in 0..random.random_range(0..6) {
        let streams = (0..random.random_range(0..4))
            .map(|_| (0..random.random_range(0..25)).map(|_| any(random)).collect());
        let mut slice = slice_of(0, streams.collect());
        slice.round = [0, 1, 5, 21, 22, u32::MAX][random.random_range(0..6)];
        slice.window_ns = any_number(random);
        let cpus: Vec<u32> = (0..random.random_range(0..8)).map(|_| random.random_range(0..8)).collect();
        slice.cpu_times = cpus
            .into_iter()
            .map(|cpu| CpuTimes {
                cpu,
                busy_ns: any_number(random),
                steal_ns: any_number(random),
                total_ns: any_number(random),
            })
            .collect();
        slice.sessions.iter_mut().for_each(|session| session.cpu_ns = any_number(random) >> 8);
        slices.push(slice);
    }
    let cpus: Vec<u32> = (0..random.random_range(0..7)).collect();
    run_of(random.random_range(0..4), name, &cpus, slices)
}

fn any_number(random: &mut ChaCha8Rng) -> u64 {
    let shift = random.random_range(20..64);
    random.random::<u64>() >> shift
}

fn any(random: &mut ChaCha8Rng) -> QueryExecution {
    let plan = ["", "\n\n", "A", "~ ", "~", "  ~ X\n A\n     B", "A\n  B\n~ C", "\u{e9}\n\t~ d"];
    QueryExecution {
        query: random.random_range(0..=24),
        elapsed_ns: any_number(random),
        planning_ns: random.random::<bool>().then(|| any_number(random)),
        cpu_ns: random.random::<bool>().then(|| any_number(random)),
        dop: random.random::<bool>().then(|| random.random_range(0..9)),
        plan: random.random::<bool>().then(|| plan[random.random_range(0..plan.len())].to_owned()),
        counters: [("read_bytes".to_owned(), any_number(random))].into(),
        ..QueryExecution::default()
    }
}
