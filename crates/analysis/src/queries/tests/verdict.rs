//! The verdict of studies of queries, as a reader sees it.

use super::*;
use crate::fixtures::comparison;
use crate::fixtures::word;
use crate::{Facts, Finding, FindingKind, plain_verdict};
use threadwise_machine::topology::Cache;
use threadwise_study::engine::Properties;

fn verdict_of(study: &Study, topology: &Topology, runs: &[Run]) -> Vec<Finding> {
    plain_verdict(study, topology, &look(study, Some(topology), runs))
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> String {
    let found = findings.iter().find(|finding| finding.kind == kind);
    found.map_or_else(|| panic!("no {kind:?} in {findings:#?}"), Finding::text)
}

#[test]
fn a_sweep_of_dops_on_a_small_guest() {
    let study = study_of("1-22", &["d2 no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let speed = if name == "d2" { 1.8 } else { 1.0 };
        took(query, 500.0 / speed * noise(block, name, query, 0.002))
    });
    let mut topology = machine(1, 2, 1);
    topology.identity.memory_bytes = Some(16 << 30);
    topology.caches.push(Cache { level: 3, size_bytes: Some(32 << 20), ..Cache::default() });
    let findings = verdict_of(&study, &topology, &runs);
    let kinds: Vec<String> = findings.iter().map(|finding| word(finding.kind)).collect();
    assert_eq!(
        kinds,
        [
            "advice",
            "queries-total",
            "queries-range",
            "core-seconds",
            "not-measurable",
            "machine",
            "data-size",
            "trust",
            "scope"
        ]
    );
    assert_eq!(
        of_kind(&findings, FindingKind::DataSize),
        "Data: scale factor 1, 1 GB of rows as text: 0.058x memory (16 GiB), 30x the last-level caches (32 MiB)."
    );
    // The only step is what the totals tell, and one DOP above 1 makes no plateau.
    assert_eq!(
        of_kind(&findings, FindingKind::QueriesTotal),
        "22 queries together, speed against A (DOP 1 on no-smt, 11.0 s): d2 1.80x [1.80, 1.80] (6.11 s)."
    );
    let range = of_kind(&findings, FindingKind::QueriesRange);
    assert!(
        range.starts_with("Query by query against A: d2 22 faster (Q")
            && range.ends_with(" least).")
            && !range.contains('['),
        "{range}"
    );
    // Busy times of logical CPUs are not known here: nothing is said of cores.
    let cpu = of_kind(&findings, FindingKind::CoreSeconds);
    assert!(cpu.starts_with("CPU against A (22.0 s): d2 0.56x [") && !cpu.contains("core"), "{cpu}");
    assert_eq!(
        of_kind(&findings, FindingKind::Scope),
        "Scope: engine duckdb, workload tpch, all 22 queries, one stream, query by query, validation parameters, \
         Parquet files read once before, lineitem by order key, no memory limit requested."
    );
    no_foreign_words(&findings);
}

/// Two treatments of three queries: T is twice as fast in one of them, U is noise in all.
fn marked() -> Analysis {
    let study = study_of("1-3", &["T no-smt 1 2", "U all 1 1"]);
    let runs = power(&study, 8, |name, query, block| {
        let speed = if (name, query) == ("T", 1) { 2.0 } else { 1.0 };
        let sd = if (name, query) == ("U", 2) { 0.3 } else { 0.002 };
        took(query, 100.0 / speed * noise(block, name, query, sd))
    });
    look(&study, Some(&machine(1, 2, 1)), &runs)
}

#[test]
fn trust_speaks_of_what_the_tables_mark() {
    let study = study_of("1-3", &["T no-smt 1 2", "U all 1 1"]);
    let analysis = marked();
    let findings = plain_verdict(&study, &machine(1, 2, 1), &analysis);
    let text = of_kind(&findings, FindingKind::Trust);
    let queries = analysis.queries.as_ref().unwrap();
    let floors = queries.treatments.iter().flat_map(|measured| measured.queries.values());
    let floors: Vec<f64> = floors.filter_map(|query| query.speed.as_ref()?.floor).collect();
    let share = |floor: f64| threadwise_document::numbers::percent(floor - 1.0);
    let (low, high) =
        (floors.iter().copied().fold(9.0, f64::min), floors.iter().copied().fold(1.0, f64::max));
    let total = queries.treatments[2].total.ratios.speed.as_ref().unwrap().floor.unwrap();
    let start = format!(
        "Trust: noise floor of totals ±{}, of queries ±{} to ±{}; shown to differ: 1 of 2 totals (1 undecided), 1 of \
         6 queries (1 undecided); 8 blocks; ",
        share(total),
        share(low),
        share(high)
    );
    assert!(text.starts_with(&start), "{text}\n{start}");
    let finding = findings.iter().find(|finding| finding.kind == FindingKind::Trust).unwrap();
    assert_eq!(finding.evidence, ["U"], "the treatment whose total is undecided");
}

#[test]
fn scope_says_what_was_run_on_what() {
    let mut study = study_of("1-3", &["T no-smt 1 2"]);
    let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
    for treatment in &mut study.treatments {
        let options = [text("storage", "memory"), text("cluster", "shipdate"), text("parameters", "seeded")];
        treatment.options.extend(options);
        treatment.options.insert("memory_limit_mb".to_owned(), OptionValue::Integer(512));
    }
    let runs = power(&study, 8, |name, query, block| {
        let mut one = took(query, 100.0 * noise(block, name, query, 0.002));
        one.counters.insert("spill_bytes".to_owned(), if query == 2 { 1 << 30 } else { 0 });
        one
    });
    let topology = machine(1, 2, 1);
    let analysis = look(&study, Some(&topology), &runs);
    let version = "2.0.0 (a local build)";
    let facts = Facts { engine_version: version, ..Facts::new(&study, &topology, &analysis) };
    let findings = crate::verdict(&facts);
    assert_eq!(
        of_kind(&findings, FindingKind::Scope),
        "Scope: engine duckdb 2.0.0, workload tpch, 3 of the 22 queries (Q1, Q2 and Q3), one stream, query by query, \
         seeded parameters, tables in memory, lineitem by ship date, memory limit 512 MB, spilled: Q2."
    );
    // Levels that treatments differ in are all reported.
    study.treatments[2].options.insert("storage".to_owned(), OptionValue::Text("parquet".to_owned()));
    study.treatments[2].options.remove("memory_limit_mb");
    let findings = plain_verdict(&study, &topology, &analysis);
    let scope = of_kind(&findings, FindingKind::Scope);
    assert!(scope.contains("tables in memory and Parquet files read once before, "), "{scope}");
    assert!(scope.contains("memory limit 512 MB and none"), "{scope}");
}

/// Words of other workloads have no place in it.
fn no_foreign_words(findings: &[Finding]) {
    for finding in findings {
        for word in ["session", "rows/s", "row ", " read,", "Sessions", "per read", "taking turns"] {
            assert!(!finding.text().contains(word), "'{word}' in {}", finding.text());
        }
    }
}

#[test]
fn both_threads_and_the_same_dop_are_compared_by_what_the_study_asks() {
    let mut study = study_of("1-4", &["d4 no-smt 1 4", "x all 1 4", "y all 1 8"]);
    study.comparisons.push(comparison("x", &["d4"], "smt-dop"));
    study.comparisons.push(comparison("y", &["d4"], "both-threads"));
    study.comparisons.push(comparison("y", &["x"], "dop-step"));
    let mut runs = power(&study, 8, |name, query, block| {
        let speed = match name {
            "d4" => 3.8,
            "x" => 3.4,
            "y" => 4.7,
            _ => 1.0,
        };
        took(query, 2000.0 / speed * noise(block, name, query, 0.002))
    });
    for run in &mut runs {
        let all = matches!(run.treatment.as_str(), "x" | "y");
        run.cpus = if all { (0..8).collect() } else { vec![0, 2, 4, 6] };
        for slice in &mut run.slices {
            let ms = slice.window_ns as f64 / 1e6;
            let busy = if run.treatment == "y" { 0.75 * ms } else { ms / 2.0 };
            slice.cpu_times = times(&run.cpus.iter().map(|cpu| (*cpu, busy, 0.0, ms)).collect::<Vec<_>>());
        }
    }
    let findings = verdict_of(&study, &machine(1, 4, 2), &runs);
    assert!(of_kind(&findings, FindingKind::SmtDop).starts_with(
        "The same DOP, free to use both threads of each core, against one thread per core (geometric mean): x : d4 0.89x ["
    ));
    assert!(of_kind(&findings, FindingKind::BothThreads).contains("y : d4 1.24x ["));
    assert!(findings.iter().all(|finding| !matches!(
        word(finding.kind).as_str(),
        "asked" | "not-measurable" | "sweep" | "scaling" | "elapsed"
    )));
    let steps = of_kind(&findings, FindingKind::DopStep);
    assert!(steps.starts_with("Speed by DOP, geometric mean: 8 over 4 on all 1.38x"), "{steps}");
    assert!(!steps.contains("4 over 1"), "the totals tell it: {steps}");
    let cores = of_kind(&findings, FindingKind::CoreSeconds);
    assert!(cores.contains("Physical core-seconds of y "), "{cores}");
    no_foreign_words(&findings);
}

#[test]
fn another_plan_is_reported_and_equal_plans_are_not() {
    let with = |plan: &'static str| {
        let mut study = study_of("1-3", &["T no-smt 1 2"]);
        study.engine_properties = Some(Properties { holds_plans: true, ..Properties::default() });
        let runs = power(&study, 8, |name, query, block| {
            let mut one = took(query, 100.0 * noise(block, name, query, 0.002));
            if name == "T" && query == 3 {
                one.plan = Some(plan.to_owned());
                one.elapsed_ns /= 4;
            }
            one
        });
        verdict_of(&study, &machine(1, 2, 1), &runs)
    };
    let other = with("AGGREGATE q3\n  INDEX_SCAN lineitem");
    assert_eq!(
        of_kind(&other, FindingKind::PlanChange),
        "Another plan than the baseline's: Q3 under T (INDEX_SCAN lineitem instead of SCAN lineitem). Such ratios are \
         of plan and hardware together: hold_plan=true separates them."
    );
    let total = of_kind(&other, FindingKind::QueriesTotal);
    assert!(total.contains(" Without Q3 with another plan: no difference shown: T 1.00x ["), "{total}");
    let range = of_kind(&other, FindingKind::QueriesRange);
    assert!(range.ends_with("T 1 faster (Q3 with another plan)."), "{range}");
    let parallel = with("~ GATHER\n  AGGREGATE q3\n    ~ Partial AGGREGATE\n      SCAN lineitem");
    let same = with("AGGREGATE q3\n  SCAN lineitem");
    for findings in [parallel, same] {
        assert!(findings.iter().all(|finding| finding.kind != FindingKind::PlanChange), "{findings:#?}");
    }
}

#[test]
fn what_stands_out_is_reported_in_sentences() {
    let study = study_of("1-3", &["T no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        let slow = if (name, query, block) == ("T", 2, 5) { 3.0 } else { 1.0 };
        took(query, 100.0 * slow * noise(block, name, query, 0.002))
    });
    let findings = verdict_of(&study, &machine(1, 2, 1), &runs);
    let text = of_kind(&findings, FindingKind::Outlier);
    assert_eq!(text, "Outliers: Q2 under T in block 5, 3.0 times its median (unexplained).");
}

#[test]
fn streams_are_reported_by_queries_per_hour() {
    let mut study = study_of("1-2", &["T no-smt 2 1"]);
    as_throughput(&mut study);
    let mut runs = Vec::new();
    for block in 0..8 {
        for treatment in &study.treatments {
            let ms = 1000.0 * noise(block, &treatment.name, 0, 0.002);
            let slice =
                slice_of(0, (0..treatment.sessions).map(|_| vec![took(1, ms), took(2, ms)]).collect());
            runs.push(run_of(block, &treatment.name, &[0, 1], vec![slice]));
        }
    }
    let findings = verdict_of(&study, &machine(1, 2, 1), &runs);
    let total = of_kind(&findings, FindingKind::QueriesTotal);
    assert_eq!(
        total,
        "2 queries together, queries per hour against A (DOP 1 on no-smt, 1 stream, 3600/h): T 2.00x [1.99, 2.00] \
         (7197/h)."
    );
    assert!(of_kind(&findings, FindingKind::CoreSeconds).starts_with("CPU per query against A: "));
    // That a query takes longer beside others says nothing.
    for kind in [FindingKind::QueriesRange, FindingKind::DopStep, FindingKind::Outlier] {
        assert!(findings.iter().all(|finding| finding.kind != kind), "{findings:#?}");
    }
    assert!(of_kind(&findings, FindingKind::Scope).contains("whole streams at the same time"));
    no_foreign_words(&findings);
}

#[test]
fn without_a_usable_block_nothing_is_said() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let findings = verdict_of(&study, &machine(1, 2, 1), &[]);
    assert!(of_kind(&findings, FindingKind::Nothing).starts_with("Nothing can be said: no run is finished."));
}

#[test]
fn the_first_line_is_validity_or_the_answer() {
    let topology = machine(1, 2, 1);
    let mut study = study_of("1-3", &["d2 no-smt 1 2", "d4 no-smt 1 4"]);
    let runs = power(&study, 8, |name, query, block| took(query, 500.0 * noise(block, name, query, 0.002)));
    crate::fixtures::assert_leads(&study, &topology, &runs, FindingKind::Advice);
    as_throughput(&mut study);
    let execution = |treatment: &str, block| {
        let queries = (1..=3).map(|query| took(query, 500.0 * noise(block, treatment, query, 0.002)));
        run_of(block, treatment, &[0, 1], vec![slice_of(0, vec![queries.collect()])])
    };
    let names: Vec<String> = study.treatments.iter().map(|treatment| treatment.name.clone()).collect();
    let runs: Vec<Run> =
        (0..8).flat_map(|block| names.iter().map(move |name| execution(name, block))).collect();
    crate::fixtures::assert_leads(&study, &topology, &runs, FindingKind::Advice);
}
