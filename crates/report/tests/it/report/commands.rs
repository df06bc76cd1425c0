//! A study of commands in every form: terminal, page, JSON, CSV, side by side.

use crate::report::compare::text as side_by_side;
use crate::report::exports::find_estimate;
use crate::support::{Draws, Fixture, topology};
use serde_json::Value;
use threadwise_analysis::analyse_on;
use threadwise_analysis::plain_verdict;
use threadwise_report::terminal::{Style, sections, verdict as spoken};
use threadwise_report::{Facts, csv, html, json};
use threadwise_study::{
    Comparison, OptionValue, Reading, Role, Run, RunStatus, SessionSlice, Slice, Treatment, Workload, command,
};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

/// Name, placement, elapsed against the baseline, `tps` against it.
const TREATMENTS: [(&str, &str, f64, f64); 5] = [
    ("alone", "1c1t", 1.0, 1.0),
    ("alone'", "1c1t", 1.0, 1.0),
    ("same-core", "same-core", 0.79, 1.26),
    ("two", "2c1t", 0.52, 1.94),
    ("all", "all", 0.51, 1.95),
];

/// A metric of each kind: better upwards, better downwards, sometimes 0, without a better side.
const METRICS: [(&str, &str); 4] = [
    ("tps", "tx/s higher regex:tps = ([0-9.]+)"),
    ("p95", "ms lower json:/latency/p95"),
    ("errors", "1 lower regex:errors ([0-9]+)"),
    ("pages", "pages none regex:pages ([0-9]+)"),
];

/// A study of `bench` with these options beside its command and metrics.
pub fn fixture(blocks: u32, options: &[(&str, &str)]) -> Fixture {
    let mut fixture = Fixture::generated(1, 1);
    let study = &mut fixture.study;
    (study.name, study.engine) = ("command".to_owned(), "command".to_owned());
    study.engine_properties = None;
    study.title = "Your own command: cores and threads".to_owned();
    study.workload = Workload::Command;
    (study.design.rounds, study.left_out) = (1, Vec::new());
    let metrics = METRICS.map(|(name, spec)| (format!("metric.{name}"), spec.to_owned()));
    let given = options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let command = ("command".to_owned(), "bench --time 10 'a file'".to_owned());
    let options: Vec<(String, String)> = metrics.into_iter().chain([command]).chain(given).collect();
    study.treatments = TREATMENTS.iter().enumerate().map(|(at, row)| treatment(at, row, &options)).collect();
    let compared =
        TREATMENTS[2..].iter().map(|(name, ..)| comparison(name, &["alone", "alone'"], "baseline"));
    study.comparisons = compared.chain([comparison("all", &["two"], "smt-whole")]).collect();
    fixture.runs = runs(blocks);
    (fixture.topology, fixture.notes) = (topology(), vec!["memory by rusage".into()]);
    looked_at(fixture)
}

/// Estimates and findings from the runs.
fn looked_at(mut fixture: Fixture) -> Fixture {
    fixture.analysis = analyse_on(&fixture.study, Some(&fixture.topology), &fixture.runs, 1.0);
    fixture.findings = plain_verdict(&fixture.study, &fixture.topology, &fixture.analysis);
    fixture
}

fn treatment(at: usize, row: &(&str, &str, f64, f64), options: &[(String, String)]) -> Treatment {
    let mut treatment = Fixture::generated(1, 1).study.treatments[0].clone();
    treatment.name = row.0.to_owned();
    treatment.group = String::new();
    treatment.role = [Role::Baseline, Role::BaselineTwin].get(at).copied().unwrap_or(Role::Compared);
    treatment.placement = row.1.parse().unwrap();
    treatment.sessions = if at < 2 { 1 } else { 2 };
    treatment.factors.clear();
    treatment.options =
        options.iter().map(|(name, text)| (name.clone(), OptionValue::Text(text.clone()))).collect();
    treatment
}

fn comparison(name: &str, baseline: &[&str], kind: &str) -> Comparison {
    Comparison {
        name: format!("{name} : {}", baseline[0]),
        treatment: name.to_owned(),
        baseline: baseline.iter().map(|name| (*name).to_owned()).collect(),
        kind: kind.into(),
    }
}

/// The last run failed because its output lacked a metric.
fn runs(blocks: u32) -> Vec<Run> {
    let mut draws = Draws(5);
    let mut runs = Vec::new();
    for block in 0..blocks {
        for (at, (name, _, elapsed, tps)) in TREATMENTS.into_iter().enumerate() {
            let mut noise = || 1.0 + 0.01 * (draws.next() + draws.next() - 1.0);
            let elapsed_s = 12.0 * elapsed * noise();
            let errors = if name == "two" && block == 1 { 3.0 } else { 0.0 };
            let said = [478.1 * tps * noise(), 10.0 * elapsed * noise(), errors, 1234.0 * noise()];
            let cpu_s = 11.9 * noise();
            runs.push(run(runs.len() as u64, block, at, (elapsed_s, cpu_s), said));
        }
    }
    if let Some(last) = runs.last_mut().filter(|_| blocks > 1) {
        let message = "metric tps was not found; the command's last lines: connection refused".to_owned();
        last.status = RunStatus::Failed { kind: "metric".to_owned(), message };
        last.readings.clear();
        last.slices.clear();
    }
    runs
}

fn run(id: u64, block: u32, at: usize, (elapsed_s, cpu_s): (f64, f64), said: [f64; 4]) -> Run {
    let window_ns = (elapsed_s * 1e9) as u64;
    let session = SessionSlice {
        steps: 1,
        rows: 1,
        cpu_ns: (cpu_s * 1e9) as u64,
        finished_ns: Some(window_ns),
        counters: [("peak_rss_bytes".to_owned(), 125_829_120), ("read_bytes".to_owned(), 8192)].into(),
        ..SessionSlice::default()
    };
    let reading = |((name, _), value): (&(&str, &str), f64)| Reading {
        sampler: command::SAMPLER.to_owned(),
        metric: (*name).to_owned(),
        cpu: None,
        start_ns: 0,
        end_ns: window_ns,
        value: Some(value),
        gap: None,
    };
    Run {
        id: id + 1,
        block,
        attempt: 0,
        treatment: TREATMENTS[at].0.to_owned(),
        cpus: if at < 2 { vec![0] } else { vec![0, 1] },
        status: RunStatus::Valid,
        slices: vec![Slice {
            sequence: id,
            round: 0,
            start_ns: id * 12_000_000_000,
            window_ns,
            sessions: vec![session],
            counters: Default::default(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        }],
        started_s: id as f64 * 12.0,
        prepare_ns: 1,
        other_cpu_times: Vec::new(),
        readings: METRICS.iter().zip(said).map(reading).collect(),
    }
}

#[test]
fn a_terminal_shows_elapsed_first_and_every_metric() {
    let fixture = fixture(8, &[]);
    insta::assert_snapshot!(sections(&fixture.document(), UNICODE), @r"
    treatment        elapsed  ratio to alone               CPU/run  busy CPUs   memory         runs
    ───────────────────────────────────────────────────────────────────────────────────────────────
    alone      12.00 s ±0.1%  baseline, twice               11.9 s      0.990  120 MiB           16
    same-core  9.483 s ±0.3%  ▼ 0.79x [0.79, 0.79] better   11.9 s       1.26  120 MiB            8
    two        6.238 s ±0.3%  ▼ 0.52x [0.52, 0.52] better   11.9 s       1.91  120 MiB            8
    all        6.134 s ±0.4%  ▼ 0.51x [0.51, 0.51] better   11.9 s       1.94  120 MiB  7, 1 failed
    comparisons
      all : two  = 0.98x [0.98, 0.99]
    errors (lower is better, noise floor unknown)
      alone                  0 [0, 0]  baseline, twice
      same-core              0 [0, 0]  - a
      two        0.375 [0.000, 1.262]  - b
      all                    0 [0, 0]  - c
    - a: 0 in block 0 of same-core  - b: 0 in block 0 of two  - c: 0 in block 0 of all
    p95, ms (lower is better, noise floor ±0.8%)
      alone      10.02 [10.01, 10.03]  baseline, twice
      same-core  7.905 [7.876, 7.935]  ▼ 0.79x [0.78, 0.79] better
      two        5.202 [5.183, 5.221]  ▼ 0.52x [0.52, 0.52] better
      all        5.114 [5.095, 5.134]  ▼ 0.51x [0.51, 0.52] better
    pages, pages (noise floor ±0.8%)
      alone      1235 [1232, 1239]  baseline, twice
      same-core  1233 [1229, 1238]  = 1.00x [1.00, 1.00]
      two        1234 [1230, 1238]  = 1.00x [0.99, 1.00]
      all        1233 [1229, 1237]  = 1.00x [0.99, 1.00]
    tps, tx/s (higher is better, noise floor ±0.6%)
      alone      477.3 [476.4, 478.2]  baseline, twice
      same-core  602.8 [601.5, 604.0]  ▲ 1.26x [1.26, 1.27] better
      two        928.6 [924.9, 932.4]  ▲ 1.95x [1.94, 1.96] better
      all        930.9 [927.5, 934.2]  ▲ 1.95x [1.94, 1.96] better
    CPU per run (lower is better, noise floor ±0.6%)
      alone      11.87 s [11.84, 11.90]  baseline, twice
      same-core  11.91 s [11.88, 11.93]  = 1.00x [1.00, 1.01]
      two        11.92 s [11.87, 11.96]  = 1.00x [1.00, 1.01]
      all        11.90 s [11.85, 11.96]  = 1.00x [1.00, 1.01]
    peak memory (lower is better, noise floor ±0%)
      alone      120.0 MiB [120.0, 120.0]  baseline, twice
      same-core  120.0 MiB [120.0, 120.0]  = 1.00x [1.00, 1.00]
      two        120.0 MiB [120.0, 120.0]  = 1.00x [1.00, 1.00]
      all        120.0 MiB [120.0, 120.0]  = 1.00x [1.00, 1.00]
    ±, [low, high]: 95% interval over 8 blocks, a run of each treatment in each.
    CPU/run: CPU time of one run of the command; busy CPUs: CPU time over elapsed time.  ▲ higher
    ▼ lower  = within the margin  ? undecided
    better and worse: by the direction in each quantity's heading.
    engine counters (see the HTML report or --json): read_bytes
    what changed with 4 ratios: see the HTML report or --json. Whether a figure moves with the ratio was
    not tested: whole runs and queries have no rate of slices.
    ");
}

#[test]
fn the_named_metric_comes_first() {
    let fixture = fixture(8, &[("headline", "tps"), ("each", "session")]);
    let text = sections(&fixture.document(), UNICODE);
    let header = text.lines().next().unwrap();
    for name in ["processes", "tps, tx/s", "ratio to alone", "elapsed", "CPU/run", "busy CPUs"] {
        assert!(header.contains(name), "{name}: {header}");
    }
    assert!(text.contains("▲ 1.95x [1.94, 1.96] better") && text.contains("] better"), "{text}");
    assert!(text.contains("runs per second (higher is better"), "{text}");
    let said = spoken(&fixture.document(), UNICODE);
    assert!(said.contains("tps (tx/s, higher is better): 47"), "{said}");
}

#[test]
fn colours_follow_the_meaning() {
    let colored = sections(&fixture(8, &[]).document(), Style { color: true, ..UNICODE });
    // Less time is better, and green.
    assert!(colored.contains("\u{1b}[32m▼\u{1b}[0m 0.79x [0.79, 0.79] better"), "{colored}");
}

#[test]
fn numbers_of_any_size_keep_the_width() {
    for (low, high) in [(1e-12, 1e300), (5e-324, 1.7e308), (0.02, 1e6), (1e15, 3e15), (-1e300, -1e-300)] {
        for headline in ["elapsed", "tps"] {
            let mut extreme = fixture(8, &[("headline", headline)]);
            for run in &mut extreme.runs {
                let factor = if run.treatment.starts_with("alone") { low } else { high };
                for reading in run.readings.iter_mut().filter(|reading| reading.metric != "errors") {
                    reading.value = reading.value.map(|value| factor * (value / 1e4));
                }
            }
            let extreme = looked_at(extreme);
            for width in [60, 80] {
                let style = Style { width, ..UNICODE };
                for text in [sections(&extreme.document(), style), spoken(&extreme.document(), style)] {
                    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
                    assert!(longest <= width, "{longest} of {width}:\n{text}");
                    assert!(!text.contains("0000000"), "{text}");
                }
            }
        }
    }
    let huge = |value: f64| {
        let mut fixture = fixture(1, &[]);
        let all = fixture.runs.iter_mut().flat_map(|run| &mut run.readings);
        all.filter(|reading| reading.metric == "pages").for_each(|reading| reading.value = Some(value));
        sections(&looked_at(fixture).document(), UNICODE)
    };
    for (value, shown) in [(1e300, " 1.00e300 "), (1e-12, " 1.00e-12 "), (1_234_567.0, " 1.23M ")] {
        assert!(huge(value).contains(shown), "{shown}: {}", huge(value));
    }
}

#[test]
fn the_page_draws_values_and_ratios_of_every_quantity() {
    let fixture = fixture(8, &[]);
    let page = html::render(&fixture.document()).unwrap();
    let ids = ["verdict", "comparison", "metrics", "cpus", "activity", "machine", "time", "table", "method"];
    let places: Vec<usize> = ids.map(|id| page.find(&format!("<section id=\"{id}\"")).expect(id)).into();
    assert!(places.is_sorted(), "sections in order");
    for text in [
        "bench --time 10 &#x27;a file&#x27;",
        "<h3>Elapsed</h3>",
        "<h3>Ratio of tps</h3>",
        "<h3>tps, tx&#x2f;s</h3>",
        "of: errors (0 in block 0 of same-core, and 0 in block 0 of two, and 1 more).",
        "Elapsed of each block&#x27;s run, seconds",
        "120.0 MiB",
        "connection refused",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("rows/s") && !page.contains("rows per second"));
    // The answer, seven quantities, one of them without a ratio; busy times, drift.
    assert_eq!(page.matches("data-chart=\"").count(), 18);
}

#[test]
fn json_has_the_documented_form() {
    let fixture = fixture(8, &[]);
    let report: Value = serde_json::from_str(&fixture.json()).unwrap();
    let commands = &report["details"]["commands"];
    assert_eq!(
        (commands["quantities"][0]["metric"].as_str(), commands["process_per_session"].as_bool()),
        (Some("elapsed_ns"), Some(false))
    );
    assert_eq!(commands["command"], "bench --time 10 'a file'");
    let names: Vec<&str> =
        commands["quantities"].as_array().unwrap().iter().map(|q| q["metric"].as_str().unwrap()).collect();
    let all = [
        "elapsed_ns",
        "metric/errors",
        "metric/p95",
        "metric/pages",
        "metric/tps",
        "cpu_ns_per_run",
        "peak_rss_bytes",
    ];
    assert_eq!(names, all);
    assert_eq!(commands["quantities"][4]["direction"], "higher-is-better");
    assert_eq!(commands["quantities"][3]["direction"], "neither");
    assert_eq!(commands["gaps"][0]["reason"], "0 in block 0 of same-core");
    let all = report["estimates"].as_array().unwrap();
    let floors = all.iter().filter(|one| one["family"] == "commands" && one["figure"] == "noise_floors");
    assert_eq!(floors.count(), 6);
    let treatment = report["treatments"][3]["treatment"].as_str().unwrap();
    let metric = |name: &str| {
        find_estimate(
            &report,
            &format!("treatments.metrics.{name}"),
            &[("treatment", treatment), ("metric", name)],
        )
    };
    assert_eq!(metric("metric/tps").unwrap()["unit"], "tx/s");
    assert!((metric("busy_cpus").unwrap()["value"].as_f64().unwrap() - 1.9).abs() < 0.05);
    assert!(metric("runs_per_s").is_some() && metric("rows_per_s").is_none());
    let first = all.iter().find(|one| one["family"] == "comparisons").unwrap();
    assert_eq!((&first["metric"], &first["direction"]), (&"elapsed_ns".into(), &"lower-is-better".into()));
    // Other workloads do not have the question at all.
    let other: Value = serde_json::from_str(&Fixture::generated(2, 2).json()).unwrap();
    assert!(!other["details"].as_object().unwrap().contains_key("commands"));
}

#[test]
fn exports_have_a_column_for_each_metric() {
    let fixture = fixture(2, &[]);
    let mut text = Vec::new();
    csv::runs_csv(&fixture.facts(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| lines[0].iter().position(|known| *known == name).expect(name);
    let tps: f64 = lines[1][column("metric/tps")].parse().unwrap();
    assert_eq!(Some(tps), fixture.runs[0].readings[0].value);
    assert_eq!(lines[1][column("peak_rss_bytes")], "125829120");
    let failed = lines.last().unwrap();
    assert_eq!((failed.last(), failed[column("status")]), (Some(&""), "failed"));
    let mut jsonl = Vec::new();
    json::runs_jsonl(&fixture.facts(), &mut jsonl).unwrap();
    let first: Value = serde_json::from_slice(jsonl.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert!((first["metrics"]["tps"].as_f64().unwrap() - tps).abs() < 1e-9 * tps);
}

#[test]
fn commands_side_by_side_have_a_row_for_each_quantity() {
    let (one, mut two, rows) = (fixture(8, &[]), fixture(8, &[]), Fixture::generated(8, 5));
    for treatment in &mut two.study.treatments {
        treatment.options.remove("metric.pages");
    }
    let two = looked_at(two);
    let named = |fixtures: &[(&'static str, &Fixture)]| -> String {
        let all: Vec<Facts<'_>> =
            fixtures.iter().map(|(source, fixture)| Facts { source, ..fixture.facts() }).collect();
        let value: Value = serde_json::from_str(&json::compare(&all)).unwrap();
        assert!(
            value["rows"][0]["metric"].is_string() && value["rows"][0]["cells"][0]["meaning"].is_string()
        );
        side_by_side(&all, UNICODE)
    };
    let text = named(&[("one", &one), ("two", &two)]);
    assert!(text.starts_with("Ratios of commands side by side"), "{text}");
    assert!(text.contains("two : alone (elapsed)") && text.contains("two : alone (tps)"), "{text}");
    assert!(text.contains("no ratio: 0 in block 0 of two") && text.contains("not measured"), "{text}");
    assert!(text.contains("] better"), "{text}");
    // Beside another workload nothing is mixed up.
    let text = named(&[("one", &one), ("rows", &rows)]);
    assert!(text.contains("Mind: the workloads differ"), "{text}");
    let line = text.lines().find(|line| line.starts_with("two : alone (elapsed)")).unwrap();
    assert!(line.contains("- "), "{line}");
}
