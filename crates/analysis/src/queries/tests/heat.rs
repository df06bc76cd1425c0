//! Throughput over DOP and streams, with plateaus known by construction.

use super::*;

/// Throughput tests on four cores with both threads: each of DOP 1, 2, 4, 6, 8 with 1 and 2 streams.
fn map(blocks: u32, sd: f64, seconds: impl Fn(u32, u32) -> f64) -> (Study, Vec<Run>) {
    let lines: Vec<String> = [1, 2]
        .iter()
        .flat_map(|streams| {
            [1, 2, 4, 6, 8].iter().map(move |dop| format!("d{dop}s{streams} all {streams} {dop}"))
        })
        .collect();
    let mut study = study_of("1-2", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    as_throughput(&mut study);
    let mut runs = Vec::new();
    for block in 0..blocks {
        for treatment in &study.treatments {
            let Some(OptionValue::Integer(dop)) = treatment.options.get("dop") else { panic!() };
            let rate = seconds(*dop as u32, treatment.sessions);
            // Streams of two queries that end together.
            let ms = 1000.0 * f64::from(treatment.sessions) / rate * noise(block, &treatment.name, 0, sd);
            let stream = |_| vec![took(1, ms / 2.0), took(2, ms / 2.0)];
            let slice = slice_of(0, (0..treatment.sessions).map(stream).collect());
            runs.push(run_of(block, &treatment.name, &[0, 1, 2, 3, 4, 5, 6, 7], vec![slice]));
        }
    }
    (study, runs)
}

#[test]
fn a_known_plateau_is_found() {
    // One stream grows to DOP 6, which is 150% of the cores; two streams only to DOP 4.
    let truth = |dop: u32, streams: u32| f64::from(dop.min(if streams == 1 { 6 } else { 4 }));
    let (study, runs) = map(8, 0.004, truth);
    let found = look(&study, Some(&machine(1, 4, 2)), &runs).queries.unwrap();
    // The baseline is on no-smt, whose logical CPUs are the same here: it takes the place of DOP 1.
    let [map] = found.heat.as_slice() else { panic!("{:#?}", found.heat) };
    assert_eq!((map.cores, map.variant.as_str()), (Some(4), ""));
    assert_eq!(
        (map.dops.as_slice(), map.streams.as_slice()),
        ([1, 2, 4, 6, 8].as_slice(), [1, 2].as_slice())
    );
    assert_eq!(map.cells.len(), 10);
    let [one, two] = map.plateaus.as_slice() else { panic!("{:?}", map.plateaus) };
    assert_eq!((one.streams, one.dop, one.dop_low), (1, Some(6), 6), "{one:?}");
    assert_eq!((one.percent_of_cores, one.percent_low), (Some(150.0), Some(150.0)));
    assert_eq!((two.streams, two.dop, two.dop_low), (2, Some(4), 4), "{two:?}");
    assert_eq!(two.percent_of_cores, Some(200.0));
    assert!(map.plateaus.iter().all(|plateau| plateau.dop <= Some(plateau.best_dop)));
    assert!(one.among_best.iter().all(|dop| *dop >= 6), "{one:?}");
    assert_eq!(two.among_best, [4, 6, 8], "as good at this noise");
}

#[test]
fn the_baselines_cell_is_of_both_its_runs() {
    let (study, mut runs) = map(4, 0.0, |dop, _| f64::from(dop));
    let twins = runs.iter_mut().filter(|run| run.treatment == "A'");
    twins.flat_map(|run| &mut run.slices).for_each(|slice| slice.window_ns = slice.window_ns * 6 / 5);
    let found = look(&study, Some(&machine(1, 4, 2)), &runs).queries.unwrap();
    let cell = found.heat[0].cells.iter().find(|cell| cell.treatment == "A").unwrap();
    close(cell.queries_per_h.mean, 7200.0 / 1.2_f64.sqrt());
}

#[test]
fn an_open_plateau_has_a_range() {
    // DOP 4 does 0.97 of the best, and blocks scatter by 3%: between 4 and 8 nothing is decided.
    let (study, runs) = map(8, 0.03, |dop, _| {
        if dop < 4 {
            0.5
        } else if dop == 4 {
            0.97
        } else {
            1.0
        }
    });
    let found = look(&study, Some(&machine(1, 4, 2)), &runs).queries.unwrap();
    for plateau in &found.heat[0].plateaus {
        assert!(
            plateau.among_best.len() > 1 || plateau.dop.is_some(),
            "the best is near itself: {plateau:?}"
        );
        let is_in_order = plateau.dop.is_none_or(|dop| plateau.dop_low <= dop && dop <= 8);
        assert!(is_in_order && plateau.percent_of_cores.is_some() == plateau.dop.is_some(), "{plateau:?}");
        assert!(
            plateau.among_best.contains(&plateau.best_dop) && plateau.among_best.len() > 1,
            "{plateau:?}"
        );
        assert!(plateau.dop_low >= 4, "half of the throughput is no part of it: {plateau:?}");
    }
}

#[test]
fn maps_need_more_than_one_dop() {
    let study = study_of("1", &["s1 all 1 2"]);
    let mut runs = power(&study, 3, |_, query, _| took(query, 100.0));
    runs.iter_mut().filter(|run| run.treatment == "s1").for_each(|run| run.cpus = vec![0, 1, 2, 3]);
    assert!(queries_of(&study, &runs).heat.is_empty());
}

#[test]
fn what_sets_maps_of_a_placement_apart_is_named() {
    let mut study = study_of("1", &["p1 all 1 1", "p2 all 1 2", "m1 all 1 1", "m2 all 1 2"]);
    for treatment in &mut study.treatments {
        let storage = if treatment.name.starts_with('m') { "memory" } else { "parquet" };
        treatment.options.insert("storage".to_owned(), OptionValue::Text(storage.to_owned()));
    }
    let mut runs = power(&study, 3, |_, query, _| took(query, 100.0));
    runs.iter_mut().filter(|run| !run.treatment.starts_with('A')).for_each(|run| run.cpus = vec![0, 1, 2, 3]);
    let found = queries_of(&study, &runs);
    let variants: Vec<&str> = found.heat.iter().map(|map| map.variant.as_str()).collect();
    assert_eq!(variants, ["storage=parquet", "storage=memory"]);
}
