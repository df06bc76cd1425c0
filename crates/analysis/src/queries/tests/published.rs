//! The published figures of section 1 (TPC-H, SF 100, one run each): 692 s and 2253 CPU s with one
//! thread a core at DOP 4, 559 s and 3374 CPU s with both at DOP 8, on 4 cores of 2 threads.

use super::*;
use crate::FindingKind;
use crate::plain_verdict;

fn published() -> (Study, Vec<Run>) {
    let mut study = study_of("1", &["ht-on all 1 8"]);
    for (treatment, name) in study.treatments.iter_mut().zip(["ht-off", "ht-off'"]) {
        treatment.name = name.to_owned();
        treatment.options.insert("dop".to_owned(), OptionValue::Integer(4));
    }
    study.comparisons[0].baseline = vec!["ht-off".to_owned(), "ht-off'".to_owned()];
    let run = |name: &str, s: f64, cpu_s: f64, cpus: &[u32]| {
        let mut slice = slice_of(
            0,
            vec![vec![QueryExecution { cpu_ns: Some((cpu_s * 1e9) as u64), ..took(1, s * 1000.0) }]],
        );
        let each = 1000.0 * cpu_s / cpus.len() as f64;
        let busy: Vec<(u32, f64, f64, f64)> = cpus.iter().map(|cpu| (*cpu, each, 0.0, s * 1000.0)).collect();
        slice.cpu_times = times(&busy);
        run_of(0, name, cpus, vec![slice])
    };
    let runs = vec![
        run("ht-off", 692.0, 2253.0, &[0, 2, 4, 6]),
        run("ht-off'", 692.0, 2253.0, &[0, 2, 4, 6]),
        run("ht-on", 559.0, 3374.0, &[0, 1, 2, 3, 4, 5, 6, 7]),
    ];
    (study, runs)
}

#[test]
fn ratios_and_core_seconds_of_the_article() {
    let (study, runs) = published();
    let topology = machine(1, 4, 2);
    let found = look(&study, Some(&topology), &runs).queries.unwrap();
    let (off, on) = (&found.treatments[0], &found.treatments[2]);
    let speed = on.total.ratios.speed.as_ref().unwrap();
    assert!((speed.value - 1.238).abs() < 0.0005 && !speed.is_different(), "{speed:?}");
    let cpu = on.total.ratios.cpu.as_ref().unwrap();
    assert!(
        (cpu.value - 1.498).abs() < 0.0005 && !cpu.is_different(),
        "one run each shows no effect: {cpu:?}"
    );
    let (was, now) = (off.cores.as_ref().unwrap(), on.cores.as_ref().unwrap());
    assert_eq!((was.cores, now.cores), (4, 4));
    assert!((was.core_low_s - 2253.0).abs() < 1e-3 && (was.core_high_s - 2253.0).abs() < 1e-3, "{was:?}");
    // Planning is 1 ms of the window.
    assert!((now.core_low_s - 1687.0).abs() < 1e-3 && (now.core_high_s - 2236.0).abs() < 0.01, "{now:?}");
}

#[test]
fn cpu_seconds_are_put_right() {
    let (study, runs) = published();
    let topology = machine(1, 4, 2);
    let findings = plain_verdict(&study, &topology, &look(&study, Some(&topology), &runs));
    let text = findings.iter().find(|one| one.kind == FindingKind::CoreSeconds).unwrap().text();
    assert_eq!(
        text,
        "CPU against ht-off (2253 s): no difference shown (1 block, no interval): ht-on 1.50x (3374 s). Physical \
         core-seconds of ht-on 1687 s to 2236 s on 4 cores against 2253 s on 4: 0.75x to 0.99x (1 block, no interval), whether \
         the cores' own time rose is unknown."
    );
}
