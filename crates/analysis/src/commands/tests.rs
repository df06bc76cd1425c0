//! Commands worked by hand: ratios, floors, families, gaps, and the verdict as a reader sees it.

mod fixed_time;

use super::*;
use crate::FindingKind;
use crate::estimate::Alarm;
use crate::fixtures::{comparison, cpu_times, machine, study};
use crate::{Answer, Direction, Estimate, Finding, analyse_on, plain_verdict, reached};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use threadwise_study::{Reading, RunStatus, SessionSlice, Slice, Workload};

/// A study of one command with the given treatments and metrics (`NAME`, `UNIT BETTER KIND:PATTERN`).
fn commands(treatments: &[&str], metrics: &[(&str, &str)]) -> Study {
    let mut study = study(&[""], treatments);
    (study.name, study.workload, study.engine) = ("command".into(), Workload::Command, "command".into());
    study.design.rounds = 1;
    for treatment in &mut study.treatments {
        let mut put = |key: &str, text: &str| {
            treatment.options.insert(key.to_owned(), OptionValue::Text(text.to_owned()));
        };
        put("command", "bench --time 10");
        metrics.iter().for_each(|(name, spec)| put(&format!("metric.{name}"), spec));
    }
    study
}

/// One run of one process: elapsed and CPU in seconds, metrics.
fn run(block: u32, treatment: &str, elapsed_s: f64, cpu_s: f64, metrics: &[(&str, f64)]) -> Run {
    let window_ns = (elapsed_s * 1e9) as u64;
    let session = SessionSlice {
        steps: 1,
        rows: 1,
        cpu_ns: (cpu_s * 1e9) as u64,
        finished_ns: Some(window_ns),
        counters: [(MEMORY.to_owned(), 100 << 20), ("read_bytes".to_owned(), 4096)].into(),
        ..SessionSlice::default()
    };
    let reading = |(name, value): &(&str, f64)| Reading {
        sampler: command::SAMPLER.to_owned(),
        metric: (*name).to_owned(),
        cpu: None,
        start_ns: 0,
        end_ns: window_ns,
        value: Some(*value),
        gap: None,
    };
    Run {
        id: 0,
        block,
        attempt: 0,
        treatment: treatment.to_owned(),
        cpus: if treatment == "T" { vec![0, 1] } else { vec![0] },
        status: RunStatus::Valid,
        slices: vec![Slice {
            sequence: 0,
            round: 0,
            start_ns: 0,
            window_ns,
            sessions: vec![session],
            counters: Default::default(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        }],
        started_s: 0.0,
        prepare_ns: 0,
        other_cpu_times: Vec::new(),
        readings: metrics.iter().map(reading).collect(),
    }
}

/// A factor near 1 that differs by block and salt.
fn wobble(block: u32, salt: u32) -> f64 {
    1.0 + 0.001 * (f64::from((block * 7 + salt * 5) % 9) - 4.0)
}

/// Blocks of A, A' and T, of which T takes half of the time, says twice `tps`, the same `same` and
/// 1.5 times `late`; `zero` is 0 on A in block 3.
fn story(blocks: u32) -> (Study, Vec<Run>) {
    let metrics = [
        ("tps", "tx/s higher regex:tps"),
        ("same", "1 none regex:same"),
        ("late", "ms lower json:/late"),
        ("zero", "errors lower regex:e"),
    ];
    let mut runs = Vec::new();
    for block in 0..blocks {
        for (salt, (name, speed)) in [("A", 1.0), ("A'", 1.0), ("T", 2.0)].into_iter().enumerate() {
            let w = |more: u32| wobble(block, salt as u32 + more);
            let late = if name == "T" { 15.0 } else { 10.0 };
            let zero = if name == "A" && block == 3 { 0.0 } else { 7.0 };
            let said =
                [("tps", 500.0 * speed * w(1)), ("same", 3.0 * w(2)), ("late", late * w(3)), ("zero", zero)];
            runs.push(run(block, name, 10.0 / speed * w(0), 9.9 * w(4), &said));
        }
    }
    (commands(&["T 2c1t 2"], &metrics), runs)
}

fn find<'a>(analysis: &'a Analysis, metric: &str) -> &'a Estimate {
    let found =
        analysis.estimates.iter().find(|estimate| estimate.name == "T : A+A'" && estimate.metric == metric);
    found.unwrap_or_else(|| panic!("no ratio of {metric}"))
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> Vec<String> {
    findings.iter().filter(|finding| finding.kind == kind).map(Finding::text).collect()
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}, expected {expected}");
}

#[test]
fn ratios_have_directions_and_say_what_they_mean() {
    let (study, runs) = story(8);
    let analysis = analyse_on(&study, None, &runs, 1.0);
    assert_eq!(analysis.headline(), ELAPSED);
    let reported = |metric: &str| {
        let estimate = find(&analysis, metric);
        (
            format!("{:.2}", estimate.ratio.value),
            estimate.ratio.is_different().then(|| estimate.ratio.meaning()),
            estimate.ratio.direction,
        )
    };
    let (lower, higher) = (Direction::LowerIsBetter, Direction::HigherIsBetter);
    assert_eq!(reported(ELAPSED), ("0.50".to_owned(), Some("better"), lower));
    assert_eq!(reported("metric/tps"), ("2.00".to_owned(), Some("better"), higher));
    assert_eq!(reported("metric/late"), ("1.50".to_owned(), Some("worse"), lower));
    assert_eq!(reported("metric/same"), ("1.00".to_owned(), None, Direction::Neither));
    assert_eq!(reported(CPU), ("1.00".to_owned(), None, lower));
    let method = &find(&analysis, ELAPSED).method;
    assert!(method.starts_with("t over 8 blocks of whole runs, baseline A and A'"), "{method}");
    // What other workloads have is not here: its ratio would be the inverse of elapsed.
    assert!(!analysis.estimates.iter().any(|estimate| estimate.metric.starts_with("rows_per_s")));
    let summary = &analysis.treatments[2].metrics;
    assert_eq!((summary["metric/tps"].unit.as_str(), summary[BUSY_CPUS].unit.as_str()), ("tx/s", "1"));
    assert!((summary[BUSY_CPUS].mean - 1.98).abs() < 0.01);
    close(summary[MEMORY].mean, f64::from(100 << 20));
    assert!(reached(&analysis, 0.02) && !reached(&analysis, 1e-6));
}

#[test]
fn a_single_number_is_given_back_as_it_was_printed() {
    let study = commands(&[], &[("tps", "tx/s higher regex:tps")]);
    let runs = [run(0, "A", 10.0, 9.0, &[("tps", 478.123_456)]), run(0, "A'", 10.0, 9.0, &[("tps", 480.0)])];
    let analysis = analyse_on(&study, None, &runs, 1.0);
    close(analysis.treatments[0].metrics["metric/tps"].mean, 478.123_456);
    let both = analysis.commands.as_ref().unwrap().baseline("", "metric/tps").unwrap().mean;
    close(both, (478.123_456_f64 * 480.0).sqrt());
    assert_eq!(analysis.estimates, []);
}

#[test]
fn a_ratio_and_the_figures_beside_it_belong_together() {
    let (study, runs) = story(8);
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let commands = analysis.commands.as_ref().unwrap();
    for metric in [ELAPSED, CPU, "metric/tps", "metric/late"] {
        let below = commands.baseline("", metric).unwrap().mean;
        close(find(&analysis, metric).ratio.value, analysis.treatments[2].metrics[metric].mean / below);
    }
}

#[test]
fn a_zero_has_no_ratio_and_says_where_it_is() {
    let (study, runs) = story(8);
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let commands = analysis.commands.as_ref().unwrap();
    assert!(!analysis.estimates.iter().any(|estimate| estimate.metric == "metric/zero"));
    let gap = commands.gap("T : A+A'", "metric/zero").unwrap();
    assert_eq!(gap.reason, "0 in block 3 of A");
    // Means are then arithmetic, of all treatments alike.
    close(analysis.treatments[0].metrics["metric/zero"].mean, 7.0 * 7.0 / 8.0);
    close(analysis.treatments[2].metrics["metric/zero"].mean, 7.0);
    assert!(analysis.treatments[0].metrics["metric/zero"].low >= 0.0);
    assert!(analysis.floor("", "metric/zero").is_none() && analysis.floor("", "metric/tps").is_some());
}

#[test]
fn both_kinds_of_reasons_are_reported() {
    let (mut study, mut runs) = story(8);
    study.comparisons.push(comparison("A'", &["A"], "own"));
    study.comparisons.push(comparison("T", &["A'"], "own"));
    let lines = |runs: &[Run]| {
        let analysis = analyse_on(&study, None, runs, 1.0);
        analysis.commands.as_ref().unwrap().gap_lines()
    };
    assert_eq!(lines(&runs), ["zero (0 in block 3 of A)"]);
    for run in runs.iter_mut().filter(|run| run.treatment == "T") {
        run.readings.retain(|reading| reading.metric != "zero");
    }
    assert_eq!(lines(&runs), ["zero (not reported by runs of both sides, and 0 in block 3 of A)"]);
    // Of several zeros the first, and how many more there are; the other kind comes before those.
    for reading in runs.iter_mut().filter(|run| run.treatment == "A'").flat_map(|run| &mut run.readings) {
        if reading.metric == "zero" {
            reading.value = Some(-1e300);
        }
    }
    study.comparisons.push(comparison("A", &["A'"], "own"));
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let reported = analysis.commands.as_ref().unwrap().gap_lines();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].contains("not reported by runs of both sides, and -1.00e300 in block 0 of A'"),
        "{reported:?}"
    );
}

#[test]
fn after_failures_and_zeros_more_blocks_are_not_what_helps() {
    let topology = machine(1, 2, 1);
    let scope = |study: &Study, runs: &[Run]| {
        let findings = plain_verdict(study, &topology, &analyse_on(study, Some(&topology), runs, 1.0));
        of_kind(&findings, FindingKind::Scope)[0].clone()
    };
    let (mut study, mut runs) = story(8);
    for treatment in &mut study.treatments {
        treatment.options.insert("headline".to_owned(), OptionValue::Text("zero".to_owned()));
    }
    assert!(
        scope(&study, &runs).ends_with(
            "Next: find out why zero is 0 in block 3 of A, or ask for another headline (`--headline \
             elapsed`)."
        ),
        "{}",
        scope(&study, &runs)
    );
    for run in runs.iter_mut().filter(|run| run.treatment == "T") {
        let message = "the command ended with exit code 3".to_owned();
        run.status = RunStatus::Failed { kind: "exit-code".to_owned(), message };
    }
    let next = "Next: fix what made runs of T fail (see Left out), then the same again.";
    assert!(scope(&study, &runs).ends_with(next), "{}", scope(&study, &runs));
}

#[test]
fn a_failed_run_takes_its_pair_and_not_the_study() {
    let (study, mut runs) = story(8);
    for run in runs.iter_mut().filter(|run| run.block == 2 && run.treatment == "T") {
        let message = "metric tps was not found; last lines: oops".to_owned();
        run.status = RunStatus::Failed { kind: "metric".to_owned(), message };
        run.readings.clear();
    }
    // A run that is valid and tells nothing of one metric counts for the others.
    runs.iter_mut().filter(|run| run.block == 5 && run.treatment == "T").for_each(|run| {
        run.readings.retain(|reading| reading.metric != "late");
    });
    let analysis = analyse_on(&study, None, &runs, 1.0);
    assert_eq!(
        (find(&analysis, "metric/tps").ratio.blocks, find(&analysis, "metric/late").ratio.blocks),
        (7, 6)
    );
    assert_eq!((analysis.treatments[2].runs, analysis.treatments[2].failed), (7, 1));
    assert!(analysis.excluded_blocks[0].contains("T only: failed (metric: metric tps was not found"));
    // No run of one side reported it: that is a reason too.
    runs.iter_mut().filter(|run| run.treatment == "T").for_each(|run| run.readings.clear());
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let commands = analysis.commands.as_ref().unwrap();
    assert_eq!(commands.gap("T : A+A'", "metric/tps").unwrap().reason, "not reported by runs of both sides");
}

#[test]
fn one_block_has_values_and_no_interval() {
    let (study, runs) = story(1);
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let tps = find(&analysis, "metric/tps");
    assert!(
        (tps.ratio.value - 2.0).abs() < 0.02
            && tps.ratio.high.is_infinite()
            && !tps.ratio.is_different()
            && tps.ratio.answer == Answer::Undecided
    );
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analysis);
    let headline = &of_kind(&findings, FindingKind::Command)[0];
    assert!(headline.contains("(1 block, no interval)") && !headline.contains("better"), "{headline}");
    assert!(!reached(&analysis, 10.0));
}

#[test]
fn the_headline_is_what_the_user_named_and_a_family_of_its_own() {
    let (mut study, runs) = story(8);
    let plain = analyse_on(&study, None, &runs, 1.0);
    for treatment in &mut study.treatments {
        treatment.options.insert("headline".to_owned(), OptionValue::Text("tps".to_owned()));
    }
    let analysis = analyse_on(&study, None, &runs, 1.0);
    assert_eq!((analysis.headline(), analysis.estimates[0].metric.as_str()), ("metric/tps", "metric/tps"));
    assert!(analysis.noise_floors.iter().all(|floor| floor.metric == "metric/tps"));
    // One comparison in the headline's family; five quantities are the other one, in which it was before.
    let (tps, before) = (find(&analysis, "metric/tps"), find(&plain, "metric/tps"));
    assert!(
        before.ratio.adjusted_low < tps.ratio.adjusted_low
            && before.ratio.adjusted_high > tps.ratio.adjusted_high
    );
    let elapsed = find(&analysis, ELAPSED);
    assert!(elapsed.ratio.adjusted_low < elapsed.ratio.low);
    // An unknown name is refused before the study; a file that has one gets elapsed time.
    study.treatments[0].options.insert("headline".to_owned(), OptionValue::Text("tpx".to_owned()));
    assert_eq!(analyse_on(&study, None, &runs, 1.0).headline(), ELAPSED);
}

#[test]
fn what_a_a_shows_drops_no_difference() {
    let (study, mut runs) = story(8);
    // The baseline and its twin are apart by a third in `late`, which T exceeds by half.
    for reading in runs.iter_mut().filter(|run| run.treatment == "A'").flat_map(|run| &mut run.readings) {
        if reading.metric == "late" {
            reading.value = reading.value.map(|value| value * 1.9);
        }
    }
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let late = find(&analysis, "metric/late");
    assert!(late.ratio.adjusted_low > 1.0 && late.ratio.is_different(), "{late:?}");
    let alarm = |metric: &str| {
        let floors = &analysis.commands.as_ref().unwrap().floors;
        floors.iter().find(|floor| floor.metric == metric).unwrap().alarm
    };
    assert_eq!((alarm("metric/late"), alarm("metric/tps")), (Some(Alarm::Different), None));
}

#[test]
fn processes_side_by_side() {
    let (mut study, mut runs) = story(8);
    for treatment in &mut study.treatments {
        treatment.options.insert("each".to_owned(), OptionValue::Text("session".to_owned()));
    }
    // T runs two processes, the second one a fifth longer.
    for slice in runs.iter_mut().filter(|run| run.treatment == "T").flat_map(|run| &mut run.slices) {
        let mut second = slice.sessions[0].clone();
        second.finished_ns = second.finished_ns.map(|ns| ns + ns / 5);
        slice.window_ns = second.finished_ns.unwrap();
        slice.sessions.push(second);
    }
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let ratio = |metric: &str| format!("{:.2}", find(&analysis, metric).ratio.value);
    assert_eq!(
        (ratio(ELAPSED), ratio("rows_per_s"), ratio(CPU)),
        ("0.60".into(), "3.33".into(), "1.00".into())
    );
    let commands = analysis.commands.as_ref().unwrap();
    assert_eq!((commands.is_per_session, commands.quantities[1].name.as_str()), (true, "runs per second"));
    close(analysis.treatments[2].metrics[MEMORY].mean, f64::from(200 << 20));
}

#[test]
fn the_verdict_of_a_command() {
    let (mut study, mut runs) = story(8);
    study.comparisons.push(comparison("T", &["A"], "cores"));
    // One page more in every run is an effect, but too small to be worth a line.
    for run in runs.iter_mut().filter(|run| run.treatment == "T") {
        run.slices[0].sessions[0].counters.insert(MEMORY.to_owned(), (100 << 20) + 4096);
    }
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    let texts: Vec<String> = findings.iter().map(Finding::text).collect();
    assert_eq!(
        texts,
        [
            "Elapsed: 9.999 s [9.987, 10.011] on A (one-cpu). Against it: T (2c1t) 0.50x [0.50, 0.50], better.",
            "Other ratios of elapsed: T : A 0.50x [0.50, 0.50], better.",
            "late (ms, lower is better): 9.997 [9.987, 10.008] on A; T 1.50x [1.49, 1.51], worse.",
            "tps (tx/s, higher is better): 499.9 [499.3, 500.5] on A; T 2.00x [1.99, 2.01], better.",
            "No difference shown in same.",
            "CPU per run: 9.902 s [9.892, 9.913] on A; no difference shown in 1 comparison. Logical CPUs kept busy: \
             0.99 of 1 on A; 1.98 of 2 on T. Peak memory: 100.0 MiB [100.0, 100.0] on A; a difference below 0.5% in \
             1 comparison.",
            "No ratio (it needs numbers above 0 on both sides) of zero (0 in block 3 of A).",
            "Declared as 2 logical CPUs on 2 cores of 1 package, no SMT, 1 NUMA node.",
            "Trust: noise floor ±0.5%; 8 blocks; no steal seen; enough to decide ±3% with this noise.",
            "Scope: engine command, workload command, one process per treatment of: bench --time 10.",
        ]
    );
}

/// A tool that runs for 10 s whatever it has: T does twice the transactions, with 1.9 times the CPU time of
/// command and server together.
fn fixed_time(metrics: &[(&str, &str)]) -> (Study, Vec<Run>) {
    let mut study = commands(&["T 2c1t 2"], metrics);
    for treatment in &mut study.treatments {
        let server = OptionValue::Text("port:5432".to_owned());
        treatment.options.insert(command::PIN_SERVER.to_owned(), server);
    }
    let mut runs = Vec::new();
    for block in 0..8 {
        for (salt, (name, speed)) in [("A", 1.0), ("A'", 1.0), ("T", 2.0)].into_iter().enumerate() {
            let w = |more: u32| wobble(block, salt as u32 + more);
            let said = [("tps", 500.0 * speed * w(1))];
            let said = &said[..metrics.len()];
            // The client takes little and most of it in waiting; the server works.
            let mut run = run(block, name, 10.0 + 0.01 * w(0), 1.0 * speed, said);
            let server_ns = (7.0e9 * 0.95 * speed * w(4)) as u64;
            run.slices[0].counters.insert(command::SERVER_CPU_NS.to_owned(), server_ns);
            runs.push(run);
        }
    }
    (study, runs)
}

#[test]
fn cpu_of_a_fixed_time_is_that_of_a_transaction_with_the_servers() {
    let (study, mut runs) = fixed_time(&[("tps", "tx/s higher regex:tps")]);
    let topology = machine(1, 2, 1);
    let look = |runs: &[Run]| {
        let analysis = analyse_on(&study, Some(&topology), runs, 1.0);
        let cost = of_kind(&plain_verdict(&study, &topology, &analysis), FindingKind::Cost)[0].clone();
        (analysis, cost)
    };
    let (analysis, cost) = look(&runs);
    assert!(!analysis.estimates.iter().any(|estimate| estimate.metric == CPU));
    let cpu = find(&analysis, CPU_PER_UNIT);
    assert!((cpu.ratio.value - 1.0).abs() < 0.01, "{cpu:?}");
    let summary = &analysis.treatments[2].metrics;
    // (2 + 13.3) CPU seconds in 10.01 s, for 1000 transactions a second.
    assert!((summary[BUSY_CPUS].mean - 15.3 / 10.01).abs() < 0.02, "{summary:?}");
    assert!((summary[CPU_PER_UNIT].mean - 15.3e6 / 10.01 / 10.0 * 10.0).abs() < 3e4, "{summary:?}");
    assert!(cost.starts_with("CPU per tx, server included: 1.529 ms [1.526, 1.532] on A; "), "{cost}");
    assert!(
        cost.contains("no difference shown in 1 comparison. Logical CPUs kept busy, server included: "),
        "{cost}"
    );
    assert!(cost.contains("0.76 of 1 on A; 1.53 of 2 on T."), "{cost}");
    assert!(!cost.contains("worse") && !cost.contains("per run"), "{cost}");
    // Where the server's processes came and went too fast to be counted, nothing is said of the rest.
    for run in runs.iter_mut().filter(|run| run.treatment == "T") {
        run.slices[0].counters.clear();
    }
    let (analysis, cost) = look(&runs);
    let summary = &analysis.treatments[2].metrics;
    assert!(!summary.contains_key(CPU) && !summary.contains_key(BUSY_CPUS), "{summary:?}");
    assert!(
        analysis
            .commands
            .unwrap()
            .gap_lines()
            .iter()
            .any(|line| line.starts_with("CPU per tx, server included (not reported"))
    );
    assert!(!cost.contains("on T"), "{cost}");
}

#[test]
fn more_cpu_is_not_worse_where_nobody_knows_what_was_done() {
    let (study, runs) = fixed_time(&[]);
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let busy = find(&analysis, BUSY_CPUS);
    assert!(
        busy.ratio.is_different()
            && busy.ratio.meaning() == "higher"
            && (busy.ratio.value - 2.0).abs() < 0.01,
        "{busy:?}"
    );
    assert!(
        !analysis.estimates.iter().any(|estimate| [CPU, CPU_PER_UNIT].contains(&estimate.metric.as_str()))
    );
    let findings = plain_verdict(&study, &topology, &analysis);
    let cost = &of_kind(&findings, FindingKind::Cost)[0];
    assert!(
        cost.starts_with("Logical CPUs kept busy, server included: 0.76 of 1 on A; 1.53 of 2 on T."),
        "{cost}"
    );
    assert!(cost.contains("CPU per run is not compared: all runs took about as long"), "{cost}");
    assert!(findings.iter().all(|finding| !finding.text().contains("worse")), "{findings:?}");
}

#[test]
fn a_fixed_amount_of_work_keeps_its_cpu_per_run_and_the_server_counts() {
    let (mut study, mut runs) = story(8);
    for treatment in &mut study.treatments {
        let server = OptionValue::Text("port:5432".to_owned());
        treatment.options.insert(command::PIN_SERVER.to_owned(), server);
    }
    for run in &mut runs {
        let server_ns = if run.treatment == "T" { 5_100_000_000 } else { 100_000_000 };
        run.slices[0].counters.insert(command::SERVER_CPU_NS.to_owned(), server_ns);
    }
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let cpu = find(&analysis, CPU);
    assert!(
        (cpu.ratio.value - 1.5).abs() < 0.01 && cpu.ratio.is_different() && cpu.ratio.meaning() == "worse",
        "{cpu:?}"
    );
    assert_eq!(analysis.commands.unwrap().cpu().unwrap().name, "CPU per run, server included");
}

#[test]
fn a_command_that_uses_one_cpu_is_reported_so() {
    let (study, mut runs) = story(8);
    for slice in runs.iter_mut().flat_map(|run| &mut run.slices) {
        slice.sessions[0].cpu_ns = slice.window_ns - slice.window_ns / 50;
        slice.cpu_times = vec![cpu_times(0, 98, 0), cpu_times(1, 3, 0)];
    }
    let topology = machine(1, 2, 1);
    let look = |runs: &[Run]| {
        let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), runs, 1.0));
        of_kind(&findings, FindingKind::Cost)[0].clone()
    };
    let cost = look(&runs);
    assert!(cost.contains("No placement kept more than 0.98 logical CPUs busy"), "{cost}");
    // Where another process was on its logical CPUs, nothing is known of what it could use.
    for slice in runs.iter_mut().flat_map(|run| &mut run.slices) {
        slice.cpu_times[1] = cpu_times(1, 60, 0);
    }
    let cost = look(&runs);
    assert!(cost.contains("Logical CPUs kept busy: 0.98 of 1 on A; 0.98 of 2 on T."), "{cost}");
    // Without a comparison there is still something to tell.
    let alone = commands(&[], &[]);
    let findings = plain_verdict(&alone, &topology, &analyse_on(&alone, Some(&topology), &runs, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Command),
        ["Elapsed: 9.999 s [9.987, 10.011] on A (one-cpu)."]
    );
    let nothing = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &[], 1.0));
    assert!(of_kind(&nothing, FindingKind::Nothing)[0].starts_with("Nothing can be said"), "{nothing:?}");
}

/// How many of so many studies of nothing find an effect: four metrics, elapsed, CPU and two comparisons, all noise. Any
/// effect is a false one; each of the two families may have one in 5% of studies, less what the floors take.
fn false_effects(studies: u32) -> u32 {
    let metrics = ["a", "b", "c", "d"].map(|name| (name, "1 higher regex:x"));
    let study = commands(&["T 2c1t 2", "U 2c1t 2"], &metrics);
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut wrong = 0;
    for _ in 0..studies {
        let mut noise = || (0..6).map(|_| random.random_range(-0.5..0.5)).sum::<f64>() * 0.05;
        let mut runs = Vec::new();
        for block in 0..8 {
            for name in ["A", "A'", "T", "U"] {
                let said = metrics.map(|(metric, _)| (metric, 100.0 * noise().exp()));
                runs.push(run(block, name, 10.0 * noise().exp(), 9.0 * noise().exp(), &said));
            }
        }
        wrong += u32::from(
            analyse_on(&study, None, &runs, 1.0)
                .estimates
                .iter()
                .any(|estimate| estimate.ratio.is_different()),
        );
    }
    wrong
}

/// 10% of 60 are 6. A fixed seed: four standard deviations more, 15, are room for another generator.
#[test]
fn noise_is_seldom_called_an_effect() {
    let wrong = false_effects(60);
    assert!(wrong <= 15, "{wrong} of 60 studies of nothing");
}

mod lab_simulations {
    use super::*;

    /// 10% of 300 are 30; three standard deviations more are 46.
    #[test]
    #[ignore = "laboratory: simulations"]
    fn noise_of_many_studies_is_seldom_called_an_effect() {
        let wrong = false_effects(300);
        assert!(wrong <= 46, "{wrong} of 300 studies of nothing");
    }
}

#[test]
fn the_first_line_is_validity_or_the_answer() {
    let (study, runs) = story(8);
    crate::fixtures::assert_leads(&study, &machine(1, 2, 1), &runs, FindingKind::Command);
}
