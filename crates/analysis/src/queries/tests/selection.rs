//! What a verdict of queries tells and what it leaves to the table: short for one treatment and for
//! twelve, and true for each.

use super::*;
use crate::Finding;
use crate::FindingKind;
use crate::fixtures::comparison;
use crate::plain_verdict;

/// A little more than three lines of a terminal of 100 columns.
const MAX_CHARS: usize = 310;

fn verdict_of(study: &Study, topology: &Topology, runs: &[Run]) -> Vec<Finding> {
    plain_verdict(study, topology, &look(study, Some(topology), runs))
}

fn text(findings: &[Finding], kind: FindingKind) -> Option<String> {
    findings.iter().find(|finding| finding.kind == kind).map(Finding::text)
}

/// The baseline and so many DOPs on each of two placements.
fn sweep(dops: &[u32]) -> Study {
    let lines: Vec<String> = ["no-smt", "all"]
        .iter()
        .flat_map(|place| dops.iter().map(move |dop| format!("{place}-d{dop} {place} 1 {dop}")))
        .collect();
    let mut study = study_of("1-22", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let all: Vec<(String, String)> =
        dops.windows(2).map(|pair| (format!("all-d{}", pair[1]), format!("no-smt-d{}", pair[0]))).collect();
    for (changed, base) in &all {
        study.comparisons.push(comparison(changed, &[base], "both-threads"));
    }
    for dop in dops {
        study.comparisons.push(comparison(&format!("all-d{dop}"), &[&format!("no-smt-d{dop}")], "smt-dop"));
    }
    study
}

fn dop_of(name: &str) -> f64 {
    name.rsplit_once('d').and_then(|(_, dop)| dop.parse().ok()).unwrap_or(1.0)
}

/// Executions on 4 cores of 2 threads; the second thread of a core brings a quarter.
fn on_siblings(study: &Study, sd: f64, change: impl Fn(&mut QueryExecution, &str, u32)) -> Vec<Run> {
    let mut runs = power(study, 8, |name, query, block| {
        let dop = dop_of(name);
        let speed = dop.min(4.0) + 0.25 * (dop - 4.0).max(0.0);
        let mut one = took(query, 2000.0 / speed * noise(block, name, query, sd));
        let cpus = if name.starts_with("all") { 8.0 } else { 4.0 };
        one.cpu_ns = Some((one.elapsed_ns as f64 * dop.min(cpus)) as u64);
        change(&mut one, name, block);
        one
    });
    for run in &mut runs {
        let all = run.treatment.starts_with("all");
        run.cpus = if all { (0..8).collect() } else { vec![0, 2, 4, 6] };
        let busy = dop_of(&run.treatment).min(run.cpus.len() as f64) / run.cpus.len() as f64;
        for slice in &mut run.slices {
            let ms = slice.window_ns as f64 / 1e6;
            slice.cpu_times =
                times(&run.cpus.iter().map(|cpu| (*cpu, busy * ms, 0.0, ms)).collect::<Vec<_>>());
        }
    }
    runs
}

fn is_short(findings: &[Finding]) {
    assert!(findings.len() <= 16, "{findings:#?}");
    for text in findings.iter().map(Finding::text) {
        assert!(text.chars().count() <= MAX_CHARS, "{}: {text}", text.chars().count());
        assert!(text.matches("no difference shown").count() <= 2, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn twelve_treatments_are_reported_by_the_three_that_matter() {
    let study = sweep(&[2, 4, 5, 6, 7, 8]);
    let runs = on_siblings(&study, 0.005, |_, _, _| {});
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    let total = text(&findings, FindingKind::QueriesTotal).unwrap();
    assert!(total.starts_with("22 queries together, speed against A (DOP 1 on no-smt, 44.0 s): "), "{total}");
    let names = ["no-smt-d8 5.0", "all-d8 5.0", "; 10 more in the table (10 with a difference shown)."];
    assert!(names.iter().all(|name| total.contains(name)), "{total}");
    assert!(!total.contains("d7") && !total.contains("geometric"), "{total}");
    let steps = text(&findings, FindingKind::DopStep).unwrap();
    assert!(
        steps.contains("8 over 7 on all 1.05x [") && steps.contains("steps to lower DOPs not listed here"),
        "{steps}"
    );
    let siblings = text(&findings, FindingKind::BothThreads).unwrap();
    assert!(
        siblings.contains("all-d8 : no-smt-d7 1.0") && siblings.contains("; 2 more in the table"),
        "{siblings}"
    );
    assert!(
        text(&findings, FindingKind::Plateau).unwrap().contains("on all 8, requesting 200% of its cores")
    );
    // Siblings that are busy all of the time leave no room between the bounds.
    let cores = text(&findings, FindingKind::CoreSeconds).unwrap();
    assert!(
        cores.contains("Physical core-seconds of all-d8 ") && !cores.contains("One logical CPU"),
        "{cores}"
    );
    assert!(text(&findings, FindingKind::NotMeasurable).is_none());
    // With neighbours on the same logical CPUs busy times are not the engine's.
    let others = on_siblings(&study, 0.005, |one, _, _| one.cpu_ns = Some(one.elapsed_ns / 2));
    let findings = verdict_of(&study, &machine(1, 4, 2), &others);
    is_short(&findings);
    let cores = text(&findings, FindingKind::CoreSeconds).unwrap();
    // Half a logical CPU: at least a quarter of a core, at most half of one.
    assert!(
        cores.contains(
            " 2.20 s to 4.40 s on 4 cores against 22.0 s on 4: 0.10x to 0.20x [0.10, 0.20], the cores' own time fell"
        ),
        "{cores}"
    );
    let unknown = on_siblings(&study, 0.005, |one, _, _| one.cpu_ns = None);
    let findings = verdict_of(&study, &machine(1, 4, 2), &unknown);
    is_short(&findings);
    let cores = text(&findings, FindingKind::CoreSeconds).unwrap();
    let end = "they include others' work, since the engine's CPU time is unknown, and cannot be compared.";
    assert!(cores.ends_with(end), "{cores}");
}

#[test]
fn changed_plans_and_what_stands_out_stay_short() {
    let study = sweep(&[2, 4, 8]);
    let runs = on_siblings(&study, 0.005, |one, name, block| {
        if dop_of(name) > 4.0 && one.query % 3 == 0 {
            one.plan =
                Some(format!("AGGREGATE q{}\n  INDEX_SCAN lineitem {}", one.query, "column ".repeat(20)));
            one.elapsed_ns = (one.elapsed_ns as f64 / 1.6) as u64;
        }
        if block == 3 && one.query % 4 == 1 {
            let slow = 3 + u64::from(one.query % 3);
            one.elapsed_ns *= slow;
            one.cpu_ns = one.cpu_ns.map(|ns| ns * slow);
        }
    });
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    let plan = text(&findings, FindingKind::PlanChange).unwrap();
    let start = "Another plan than the baseline's: Q3, Q6, Q9, Q12, Q15, Q18 and 1 more, such as Q3 under ";
    assert!(plan.starts_with(start), "{plan}");
    let total = text(&findings, FindingKind::QueriesTotal).unwrap();
    assert!(total.contains(" Without 7 queries with another plan: "), "{total}");
    let outliers = text(&findings, FindingKind::Outlier).unwrap();
    let start =
        "Outliers: Q5 and Q17 under 8 treatments in block 3, 5.0 to 5.1 times their medians (unexplained).";
    assert!(outliers.starts_with(start) && outliers.ends_with(" smaller outliers."), "{outliers}");
    // What another plan explains is reported once.
    assert!(!outliers.contains("another plan"), "{outliers}");
}

#[test]
fn without_a_difference_that_is_said_once_for_all() {
    let lines = ["a-d1 no-smt 1 1", "all-d1 all 1 1", "b-d1 no-smt 1 1", "all-e-d1 all 1 1", "c-d1 1c1t 1 1"];
    let study = study_of("1-22", &lines);
    let runs = on_siblings(&study, 0.02, |one, _, _| one.cpu_ns = None);
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    let total = text(&findings, FindingKind::QueriesTotal).unwrap();
    assert_eq!(total.matches("no difference shown").count(), 1, "{total}");
    let range = text(&findings, FindingKind::QueriesRange).unwrap();
    assert_eq!(range, "Query by query: no difference from A shown in any of 22 under any of 5 treatments.");
}

#[test]
fn one_treatment_without_cpu_times() {
    let study = study_of("1-22", &["no-smt-d2 no-smt 1 2"]);
    let mut runs = on_siblings(&study, 0.005, |one, _, _| one.cpu_ns = None);
    runs.iter_mut().for_each(|run| run.slices.iter_mut().for_each(|slice| slice.cpu_times.clear()));
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    assert_eq!(text(&findings, FindingKind::CoreSeconds), None);
    assert_eq!(
        text(&findings, FindingKind::NotMeasurable).as_deref(),
        Some("SMT yield: not part of this study, although the machine has cores with siblings.")
    );
}

#[test]
fn streams_on_siblings_are_no_yield_of_theirs() {
    // Two streams on one core's two threads: nothing says what one thread of it does with two.
    let mut study = study_of("1-2", &["T same-core 2 1"]);
    as_throughput(&mut study);
    let mut runs = Vec::new();
    for block in 0..8 {
        for treatment in &study.treatments {
            let slice = slice_of(0, vec![vec![took(1, 100.0), took(2, 100.0)]; treatment.sessions as usize]);
            runs.push(run_of(block, &treatment.name, &[0, 1], vec![slice]));
        }
    }
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    assert_eq!(
        text(&findings, FindingKind::NotMeasurable).as_deref(),
        Some("SMT yield: not part of this study, although the machine has cores with siblings.")
    );
}

#[test]
fn a_map_of_streams_is_reported_by_its_ends() {
    let lines: Vec<String> = [1, 2, 4]
        .iter()
        .flat_map(|streams| [1, 2, 4, 8].map(|dop| format!("d{dop}-s{streams} no-smt {streams} {dop}")))
        .collect();
    let mut study = study_of("1-3", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    as_throughput(&mut study);
    let mut runs = Vec::new();
    for block in 0..8 {
        for treatment in &study.treatments {
            let Some(OptionValue::Integer(dop)) = treatment.options.get("dop") else { panic!() };
            let rate = (f64::from(*dop as u32) * f64::from(treatment.sessions)).min(8.0);
            let ms = 1000.0 * f64::from(treatment.sessions) / rate * noise(block, &treatment.name, 0, 0.003);
            let stream = vec![took(1, ms), took(2, ms), took(3, ms)];
            let slice = slice_of(0, vec![stream; treatment.sessions as usize]);
            runs.push(run_of(block, &treatment.name, &(0..8).collect::<Vec<_>>(), vec![slice]));
        }
    }
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    is_short(&findings);
    let plateau = text(&findings, FindingKind::Plateau).unwrap();
    let start = "Smallest DOP that is shown to be within 3% of the best: with 4 streams on no-smt 2";
    assert!(plateau.starts_with(start), "{plateau}");
    let end = "; with 1 stream on no-smt 8, requesting 200% of its cores; 1 more in the HTML report.";
    assert!(plateau.ends_with(end), "{plateau}");
    assert_eq!(
        (text(&findings, FindingKind::QueriesRange), text(&findings, FindingKind::DopStep)),
        (None, None)
    );
    let total = text(&findings, FindingKind::QueriesTotal).unwrap();
    assert!(total.contains("d8-s4 ") && total.contains(" more in the table ("), "{total}");
}

#[test]
fn several_scale_factors_are_reported_together() {
    let mut study = study_of("1-2", &["one no-smt 1 2", "ten no-smt 1 2"]);
    study.treatments[3].options.insert("scale".to_owned(), OptionValue::Integer(10));
    let mut topology = machine(1, 2, 1);
    topology.identity.memory_bytes = Some(16 << 30);
    let runs = power(&study, 4, |_, query, _| took(query, 100.0));
    let findings = verdict_of(&study, &topology, &runs);
    assert_eq!(
        text(&findings, FindingKind::DataSize).as_deref(),
        Some(
            "Data: scale factor 1, 1 GB of rows as text: 0.058x memory (16 GiB), the last-level caches of unknown size; \
             scale factor 10, 10 GB of rows as text: 0.58x memory (16 GiB), the last-level caches of unknown size."
        )
    );
}

#[test]
fn the_geometric_mean_is_reported_where_it_says_something_else() {
    // One long query loses what twenty-one short ones gain.
    let study = study_of("1-22", &["T no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let (ms, speed) = if query == 1 { (3000.0, 0.87) } else { (20.0, 2.0) };
        let speed = if name == "T" { speed } else { 1.0 };
        took(query, ms / speed * noise(block, name, query, 0.002))
    });
    let findings = verdict_of(&study, &machine(1, 2, 1), &runs);
    let total = text(&findings, FindingKind::QueriesTotal).unwrap();
    assert!(total.contains("T 0.9") && total.contains(" Geometric mean: T 1.93x ["), "{total}");
}

#[test]
fn flagged_blocks_are_reported_with_what_happened() {
    let study = study_of("1-3", &["T one-cpu 1 1"]);
    let mut runs =
        power(&study, 8, |name, query, block| took(query, 1000.0 * noise(block, name, query, 0.01)));
    for slice in runs.iter_mut().flat_map(|run| &mut run.slices) {
        let ms = slice.window_ns as f64 / 1e6;
        slice.cpu_times = times(&[(0, ms, 0.0, ms), (1, ms, 0.0, ms), (2, ms, 0.0, ms)]);
    }
    let findings = verdict_of(&study, &machine(1, 3, 1), &runs);
    let trust = text(&findings, FindingKind::Trust).unwrap();
    assert!(
        trust.contains(
            "; all blocks flagged (CPUs that the study left free busy above 10%): trust ratios, not rates"
        ),
        "{trust}"
    );
    assert!(!trust.contains("no difference shown"), "the totals tell it: {trust}");
}
