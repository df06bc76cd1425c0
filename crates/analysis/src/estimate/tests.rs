//! Estimates worked by hand, and which runs count.

use crate::estimate::{Alarm, Work, block_difference};
use crate::fixtures::{comparison, cpu_times, latency, machine, run, study};
use crate::{Analysis, Answer, Direction, Estimate, TreatmentSummary, analyse, analyse_on, reached};
use threadwise_study::RunStatus;

mod covariates;

const LN_2: f64 = std::f64::consts::LN_2;

fn find<'a>(analysis: &'a Analysis, name: &str, metric: &str) -> &'a Estimate {
    let found = analysis.estimates.iter().find(|e| e.name == name && e.metric == metric);
    found.unwrap_or_else(|| panic!("no estimate {name} of {metric}"))
}

fn summary<'a>(analysis: &'a Analysis, name: &str) -> &'a TreatmentSummary {
    analysis.treatments.iter().find(|summary| summary.name == name).unwrap()
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-4 * expected.abs(), "{got}, expected {expected}");
}

/// `n` blocks in which A and A' read 100 rows in each of two rounds and T what `of` says.
fn blocks(n: u32, latency: impl Fn(u32) -> u64) -> Vec<threadwise_study::Run> {
    (0..n)
        .flat_map(|b| {
            [run(b, "A", &[100, 100]), run(b, "A'", &[100, 100]), run(b, "T", &[latency(b), latency(b)])]
        })
        .collect()
}

#[test]
fn a_ratio_worked_by_hand() {
    // Block 0: 1600 rows over √(200·800) = 400: d = ln 4.
    // Block 1: 100 / 100 in both: d = 0. Mean ln 2, sd ln 4/√2, se ln 2, t(0.975, 1) = 12.7062.
    let runs = [
        run(0, "A", &[150, 50]),
        run(0, "A'", &[400, 400]),
        run(0, "T", &[600, 1000]),
        run(1, "A", &[100, 100]),
        run(1, "A'", &[100, 100]),
        run(1, "T", &[100, 100]),
    ];
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    let got = find(&analysis, "T : A+A'", "rows_per_s");
    close(got.ratio.value, 2.0);
    close(got.ratio.low, (LN_2 - 12.7062 * LN_2).exp());
    close(got.ratio.high, (LN_2 + 12.7062 * LN_2).exp());
    close(got.ratio.p, 0.5);
    assert_eq!((got.ratio.blocks, got.ratio.level, got.ratio.answer), (2, 0.95, Answer::Undecided));
    assert_eq!((got.baseline.as_str(), got.ratio.unit), ("A and A'", "ratio"));
    assert_eq!(got.method, "t over 2 blocks of 20 rounds, baseline A and A'");
    // Per session: two sessions against one.
    close(find(&analysis, "T : A+A'", "rows_per_s_per_session").ratio.value, 1.0);
    // A'/A: block 0 has ln 4, block 1 has 0: mean ln 2, se the same.
    close(analysis.noise_floors[0].ratio.high, (LN_2 * (1.0 + 12.7062)).exp());
    close(analysis.noise_floors[0].floor, LN_2 * (1.0 + 12.7062));
    assert_eq!((analysis.blocks, analysis.simulated), (2, false));
}

#[test]
fn one_denominator_is_taken_as_it_is() {
    let mut study = study(&[""], &["S same-core 2", "O one-cpu 2"]);
    study.comparisons.push(comparison("S", &["O"], "smt-yield"));
    let runs: Vec<_> = (0..4)
        .flat_map(|b| [run(b, "A", &[90]), run(b, "A'", &[110]), run(b, "S", &[130]), run(b, "O", &[100])])
        .collect();
    let analysis = analyse(&study, &runs, 1.0);
    let got = find(&analysis, "S : O", "rows_per_s");
    close(got.ratio.value, 1.3);
    assert_eq!((got.ratio.blocks, got.kind.word(), got.baseline.as_str()), (4, "smt-yield", "O"));
}

/// Runs blocks given as `A ok, A' failed, T ok | A ok, A' ok, T invalid`; `-` is no run.
fn exclusions(story: &str) -> Analysis {
    let mut runs = Vec::new();
    for (block, line) in story.split('|').enumerate() {
        for word in line.split(',') {
            let words: Vec<&str> = word.split_whitespace().collect();
            let mut one = run(block as u32, words[0], &[if words[0] == "T" { 200 } else { 100 }]);
            let (kind, message) = (words[1].to_owned(), "given".to_owned());
            match words[1] {
                "ok" => {}
                "-" => continue,
                "failed" => one.status = RunStatus::Failed { kind: "crash".to_owned(), message },
                "superseded" => one.status = RunStatus::Superseded,
                "again" => one.attempt = 1,
                "empty" => one = run(block as u32, words[0], &[0, 100]),
                _ => one.status = RunStatus::Invalid { kind, message },
            }
            runs.push(one);
        }
    }
    analyse(&study(&[""], &["T same-core 2", "U one-cpu 2"]), &runs, 1.0)
}

#[test]
fn which_runs_count() {
    // Story; usable blocks; blocks of T's estimate (0: no estimate); T's runs, failed, excluded.
    let table = [
        ("A ok, A' ok, T ok", 1, 1, (1, 0, 0)),
        ("A ok, A' ok, T ok | A ok, A' ok, T ok", 2, 2, (2, 0, 0)),
        ("A ok, A' failed, T ok", 0, 0, (0, 0, 1)),
        ("A lost-pin, A' ok, T ok | A ok, A' ok, T ok", 1, 1, (1, 0, 1)),
        ("A ok, A' ok, T failed | A ok, A' ok, T ok", 2, 1, (1, 1, 0)),
        ("A ok, A' ok, T throttled | A ok, A' ok, T ok", 2, 1, (1, 0, 1)),
        ("A failed, A' ok, T failed | A ok, A' ok, T ok", 1, 1, (1, 1, 0)),
        ("A ok, A' ok, T empty | A ok, A' ok, T ok", 2, 1, (1, 0, 1)),
        ("A empty, A' ok, T ok | A ok, A' ok, T ok", 1, 1, (1, 0, 1)),
        ("A ok, A' -, T ok | A ok, A' ok, T ok", 1, 1, (1, 0, 1)),
        ("A ok, A' ok, T -, U ok | A ok, A' ok, T ok", 2, 1, (1, 0, 0)),
        ("A superseded, A' superseded, T superseded | A ok, A' ok, T ok", 1, 1, (1, 0, 0)),
        // A block redone: the first attempt's runs no longer count, whatever they were.
        ("A superseded, T superseded, A again, A' again, T again", 1, 1, (1, 0, 0)),
        ("A ok, A' ok, T ok, A again, A' again, T again", 1, 1, (1, 0, 0)),
        ("A failed, A' ok, A again, A' again, T again", 1, 1, (1, 0, 0)),
        ("A ok, A' ok, T ok, A again", 0, 0, (0, 0, 0)),
    ];
    for (story, usable, of_t, counts) in table {
        let analysis = exclusions(story);
        let t = summary(&analysis, "T");
        let used = analysis.estimates.iter().find(|e| e.name == "T : A+A'").map_or(0, |e| e.ratio.blocks);
        assert_eq!((analysis.blocks, used), (usable, of_t), "{story}");
        assert_eq!((t.runs, t.failed, t.excluded), counts, "{story}");
    }
}

#[test]
fn reasons_are_reported() {
    let analysis = exclusions("A ok, A' failed, T ok | A ok, A' ok, T not-cached | A ok, A' ok, T empty");
    assert_eq!(
        analysis.excluded_blocks,
        [
            "block 0: baseline A' failed (crash: given)",
            "block 1, T only: invalid (not-cached: given)",
            "block 2, T only: invalid (no-work: 1 of 2 rounds had no row)",
        ]
    );
}

#[test]
fn a_bad_baseline_takes_its_own_group_only() {
    let study = study(&["data=l2", "data=memory"], &["T same-core 2"]);
    let mut runs = Vec::new();
    for name in ["A", "A'", "T"] {
        runs.push(run(0, &format!("{name}/data=l2"), &[100]));
        runs.push(run(0, &format!("{name}/data=memory"), &[100]));
    }
    runs[0].status = RunStatus::Invalid { kind: "not-cached".to_owned(), message: "5 reads".to_owned() };
    let analysis = analyse(&study, &runs, 1.0);
    let names: Vec<&str> = analysis.estimates.iter().map(|e| e.treatment.as_str()).collect();
    assert!(names.iter().all(|name| *name == "T/data=memory") && !names.is_empty(), "{names:?}");
    assert_eq!(analysis.blocks, 1);
    assert_eq!(
        analysis.excluded_blocks,
        ["block 0, data=l2: baseline A/data=l2 invalid (not-cached: 5 reads)"]
    );
}

#[test]
fn slices_without_a_row_count_by_what_they_did() {
    // 2 of 20 rounds are 10%: still a run. T did 18 · 200 rows in the time in which A did 18 · 100 + 2.
    let mut rows = [200u64; 20];
    rows[3] = 0;
    rows[7] = 0;
    let mut base = [100u64; 20];
    base[3] = 1;
    base[7] = 1;
    let runs: Vec<_> =
        (0..3).flat_map(|b| [run(b, "A", &base), run(b, "A'", &base), run(b, "T", &rows)]).collect();
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    let got = find(&analysis, "T : A+A'", "rows_per_s");
    close(got.ratio.value, 3600.0 / 1802.0);
    assert_eq!(got.method, "t over 3 blocks of 20 rounds, baseline A and A'");
}

#[test]
fn rounds_that_one_side_lacks_are_not_compared() {
    let runs: Vec<_> = (0..3)
        .flat_map(|b| {
            [run(b, "A", &[100, 100, 900]), run(b, "A'", &[100, 100, 900]), run(b, "T", &[200, 200])]
        })
        .collect();
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    close(find(&analysis, "T : A+A'", "rows_per_s").ratio.value, 2.0);
}

#[test]
fn a_round_that_either_side_lacks_counts_on_neither() {
    let rounds = |rows: [f64; 3]| {
        rows.map(|rows| Work { slices: u32::from(rows > 0.0), rows, window_ns: 1e9, ..Work::default() })
    };
    let whole = rounds([200.0, 200.0, 900.0]);
    let base = rounds([100.0, 100.0, 100.0]);
    let d = |treatment: &[Work; 3], baselines: &[&[Work]]| {
        block_difference(treatment, baselines, Work::rows_per_s).unwrap()
    };
    close(d(&rounds([200.0, 0.0, 200.0]), &[&rounds([100.0, 900.0, 100.0])]), LN_2);
    close(d(&whole, &[&rounds([100.0, 100.0, 0.0])]), LN_2);
    // Of two baselines one suffices, and the other's round goes too.
    close(d(&whole, &[&base, &rounds([100.0, 100.0, 0.0])]), LN_2);
}

#[test]
fn a_a_is_an_alarm_and_drops_no_difference() {
    // T differs from A by 10% with little spread; A' from A by `apart`.
    let analysed = |apart: u64| {
        let wobble = |b: u32| u64::from(b % 3);
        let runs: Vec<_> = (0..8)
            .flat_map(|b| {
                let base = 10_000;
                let twin = base + apart + wobble(b);
                [run(b, "A", &[base]), run(b, "A'", &[twin]), run(b, "T", &[11_000 + wobble(b + 1)])]
            })
            .collect();
        let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
        let answer = find(&analysis, "T : A+A'", "rows_per_s").ratio.answer;
        (answer, analysis.noise_floors[0].alarm)
    };
    assert_eq!(analysed(0), (Answer::Larger, None));
    assert_eq!(analysed(900), (Answer::Larger, Some(Alarm::Different)), "A' is 9% from A");
}

#[test]
fn a_a_that_is_wider_than_the_margin_is_an_alarm() {
    let runs: Vec<_> = (0..8)
        .flat_map(|b| {
            let twin = 10_000 + if b % 2 == 0 { 1_000 } else { 0 } - 500;
            [run(b, "A", &[10_000]), run(b, "A'", &[twin]), run(b, "T", &[11_000])]
        })
        .collect();
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    assert_eq!(analysis.noise_floors[0].alarm, Some(Alarm::Wide));
}

#[test]
fn without_a_twin_there_is_no_alarm() {
    let mut study = study(&[""], &["T same-core 2"]);
    study.treatments.remove(1);
    study.comparisons[0].baseline = vec!["A".to_owned()];
    let runs: Vec<_> = (0..8).flat_map(|b| [run(b, "A", &[100]), run(b, "T", &[200])]).collect();
    let analysis = analyse(&study, &runs, 1.0);
    let got = &analysis.estimates[0];
    close(got.ratio.value, 2.0);
    assert!(got.ratio.answer == Answer::Larger && analysis.noise_floors.is_empty());
}

#[test]
fn looks_widen_the_interval() {
    let runs = blocks(8, |b| 200 + u64::from(b));
    let study = study(&[""], &["T same-core 2"]);
    let (one, fifth) = (analyse(&study, &runs, 1.0), analyse(&study, &runs, 0.2));
    let (one, fifth) = (&one.estimates[0], &fifth.estimates[0]);
    close(fifth.ratio.level, 0.99);
    // t(0.995, 7) / t(0.975, 7) = 3.49948 / 2.36462.
    close(
        (fifth.ratio.high / fifth.ratio.value).ln() / (one.ratio.high / one.ratio.value).ln(),
        3.49948 / 2.36462,
    );
}

#[test]
fn percentiles_need_a_thousand_steps_on_both_sides() {
    let study = study(&[""], &["T same-core 2"]);
    let with = |steps_a: u64, steps_t: u64| {
        let mut runs = blocks(3, |_| 100);
        for one in &mut runs {
            let (steps, ns) = if one.treatment == "T" { (steps_t, 4000) } else { (steps_a, 2000) };
            for slice in &mut one.slices {
                slice.sessions[0].latency = latency(steps / 4, &[ns, ns + 1000]);
            }
        }
        analyse(&study, &runs, 1.0)
    };
    let analysis = with(1000, 1000);
    // Three digits of precision: values are exact to a thousandth.
    let p99 = find(&analysis, "T : A+A'", "latency_ns_p99");
    assert!((p99.ratio.value - 5.0 / 3.0).abs() < 0.002, "{}", p99.ratio.value);
    let p50 = find(&analysis, "T : A+A'", "latency_ns_p50");
    assert!(
        (p50.ratio.value - 2.0).abs() < 0.002 && p50.ratio.direction == Direction::LowerIsBetter,
        "{}",
        p50.ratio.value
    );
    assert_eq!(
        p50.method,
        "t over 3 blocks, percentiles of each block's merged histograms, baseline A and A'"
    );
    for (steps_a, steps_t) in [(996, 1000), (1000, 996)] {
        assert!(with(steps_a, steps_t).estimates.iter().all(|e| !e.metric.starts_with("latency")));
    }
}

#[test]
fn unreadable_latencies_cost_the_percentiles_alone() {
    let mut runs = blocks(2, |_| 100);
    runs[2].slices[0].sessions[0].latency = vec![1, 2, 3];
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    assert_eq!(analysis.estimates.iter().map(|e| e.ratio.blocks).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(analysis.excluded_blocks[0].starts_with("block 0, latencies of T:"), "{analysis:?}");
}

#[test]
fn a_treatments_own_numbers() {
    let mut runs = blocks(2, |b| if b == 0 { 100 } else { 400 });
    for one in &mut runs {
        one.slices[0].cpu_times = vec![cpu_times(0, 90, 10), cpu_times(1, 20, 0)];
        one.slices[1].cpu_times = vec![cpu_times(0, 100, 0), cpu_times(1, 0, 0)];
    }
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    let metrics = &summary(&analysis, "T").metrics;
    close(metrics["rows_per_s"].mean, 200.0);
    close(metrics["rows_per_s_per_session"].mean, 100.0);
    close(metrics["logical_reads_per_s"].mean, 400.0);
    close(metrics["reads_per_row"].mean, 2.0);
    close(metrics["cpu_ns_per_row"].mean, 100.0);
    close(metrics["busy_share"].mean, 0.95);
    close(metrics["steal_share"].mean, 0.05);
    close(metrics["others_busy_share"].mean, 0.1);
    close(metrics["context_switches_per_s"].mean, 4.0);
    close(metrics["run_queue_wait_share"].mean, 0.01);
    assert!(!metrics.contains_key("latency_ns_p50") && !metrics.contains_key("left_over_busy_share"));
    // ln 100 and ln 400: mean ln 200, se ln 2, so the interval is 200 · 2^±12.7062.
    close(metrics["rows_per_s"].high, 200.0 * 2f64.powf(12.7062));
    // Two reads a row: a rate of the same sums, with the same interval.
    close(metrics["logical_reads_per_s"].high, 400.0 * 2f64.powf(12.7062));
    assert_eq!((metrics["rows_per_s"].unit.as_str(), metrics["steal_share"].unit.as_str()), ("1/s", "share"));
}

#[test]
fn the_end_of_until() {
    let study = study(&[""], &["T same-core 2", "U one-cpu 2"]);
    let mut runs = blocks(8, |b| 200 + u64::from(b % 2));
    runs.extend((0..8).map(|b| run(b, "U", &[if b % 2 == 0 { 100 } else { 110 }; 2])));
    let analysis = analyse(&study, &runs, 1.0);
    let widths: Vec<f64> =
        analysis.estimates[..2].iter().map(|estimate| estimate.ratio.half_width()).collect();
    assert!(widths[0] < 0.005 && widths[1] > 0.03 && widths[1] < 0.06, "{widths:?}");
    assert!(reached(&analysis, widths[1] * 1.001));
    assert!(!reached(&analysis, widths[1] * 0.999));
    assert!(!reached(&analyse(&study, &[], 1.0), 0.5), "nothing measured reaches nothing");
}

#[test]
fn nothing_and_one_block() {
    let study = study(&[""], &["T same-core 2"]);
    let none = analyse(&study, &[], 1.0);
    assert_eq!((none.estimates.len(), none.noise_floors.len(), none.blocks), (0, 0, 0));
    assert_eq!(none.treatments.len(), 3);
    let one = analyse(&study, &blocks(1, |_| 200), 1.0);
    let got = &one.estimates[0];
    close(got.ratio.value, 2.0);
    assert_eq!((got.ratio.low, got.ratio.high, got.ratio.answer), (0.0, f64::INFINITY, Answer::Undecided));
    assert!(!reached(&one, 1e9));
}

#[test]
fn damaged_runs_are_left_out_and_harmless() {
    let mut runs = blocks(3, |_| 200);
    runs[2].slices[0].round = u32::MAX;
    runs[5].slices.clear();
    runs[8].slices[0].window_ns = 0;
    runs.push(run(1, "unknown", &[1]));
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    let exclusions = analysis.excluded_blocks.join("\n");
    assert!(exclusions.contains("block 1, T only: invalid (no-work: it has no slices)"), "{exclusions}");
    assert!(
        exclusions.contains("block 2, T only: invalid (no-work: 1 of 2 rounds had no row)"),
        "{exclusions}"
    );
    assert!(exclusions.contains("block 1, a run of 'unknown'"), "{exclusions}");
    assert_eq!(analysis.estimates[0].ratio.blocks, 1);
}
