//! JSON and CSV, read back by other parsers.

use crate::report::page::hostile;
use crate::support::{Fixture, topology};
use serde_json::Value;
use threadwise_report::{csv, json};

impl Fixture {
    /// The report as JSON.
    pub fn json(&self) -> String {
        json::report(&self.facts(), &self.document())
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The estimate of a report at a place in a family, such as `queries.treatments.total.speed`, whose fields are these.
pub fn estimate<'v>(report: &'v Value, figure: &str, fields: &[(&str, &str)]) -> &'v Value {
    find_estimate(report, figure, fields).unwrap_or_else(|| panic!("no estimate {figure} of {fields:?}"))
}

/// The same; `None` if the report has none.
pub fn find_estimate<'v>(report: &'v Value, figure: &str, fields: &[(&str, &str)]) -> Option<&'v Value> {
    let is_so = |one: &&Value| {
        let path = format!("{}.{}", one["family"].as_str().unwrap(), one["figure"].as_str().unwrap());
        let has = |(name, wanted): &(&str, &str)| {
            let field = if one[*name].is_null() { &one["place"][*name] } else { &one[*name] };
            field.as_str().map_or_else(|| field.to_string(), str::to_owned) == *wanted
        };
        path.trim_end_matches('.') == figure && fields.iter().all(has)
    };
    report["estimates"].as_array().unwrap().iter().find(is_so)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn holds(value: &Value, wanted: &[&str]) {
    let keys = keys(value);
    for name in wanted {
        assert!(keys.contains(name), "{name} is missing in {keys:?}");
    }
}

#[test]
fn report_has_the_documented_form() {
    let fixture = Fixture::generated(8, 5);
    let report = parsed(&fixture.json());
    assert_eq!(report["version"], 1);
    assert_eq!(report["simulated"], true);
    holds(&report, &["study", "machine", "treatments", "estimates", "details", "findings"]);
    holds(&report["treatments"][0], &["treatment", "placement", "sessions", "runs", "failed", "excluded"]);
    let rate = estimate(&report, "treatments.metrics.rows_per_s", &[]);
    holds(rate, &["metric", "treatment", "value", "low", "high", "unit"]);
    let wanted = [
        "family",
        "figure",
        "place",
        "treatment",
        "baseline",
        "metric",
        "value",
        "low",
        "high",
        "blocks",
        "level",
        "unit",
        "direction",
        "margin",
        "answer",
        "adjusted_low",
        "adjusted_high",
    ];
    let ratio = estimate(&report, "comparisons", &[("metric", "rows_per_s")]);
    holds(ratio, &wanted);
    holds(&ratio["place"], &["comparison", "method"]);
    assert_eq!(ratio["unit"], "ratio");
    let floors = report["estimates"].as_array().unwrap().iter().filter(|one| one["family"] == "noise_floors");
    assert_eq!(floors.count(), 2);
    let text = fixture.json();
    let at = |name: &str| {
        text.find(&format!(
            "
  \"{name}\": "
        ))
        .unwrap()
    };
    assert!(at("screen") < at("study") && at("study") < at("estimates"), "the answer first");
    assert_eq!(report["failures"][0]["kind"], "crash");
    holds(&report["findings"][0], &["kind", "text", "evidence"]);
    assert_eq!(report["study"]["seed"], "42");
}

#[test]
fn what_is_not_finite_is_null() {
    let mut fixture = Fixture::generated(2, 2);
    fixture.analysis.estimates[0].ratio.high = f64::INFINITY;
    fixture.analysis.estimates[0].ratio.correlation = f64::NAN;
    let report = parsed(&fixture.json());
    let first = estimate(&report, "comparisons", &[]);
    assert_eq!((&first["high"], first.get("correlation")), (&Value::Null, None));
}

#[test]
fn topology_counts_cover_the_usable_and_lists_cover_all() {
    let value = parsed(&json::topology(&topology(), &[]));
    assert_eq!(value["version"], 1);
    assert_eq!(value["counts"]["logical_cpus"], 14);
    assert_eq!(value["counts"]["cores"], 7);
    assert_eq!(value["counts"]["max_threads_per_core"], 2);
    assert_eq!(value["logical_cpus"].as_array().unwrap().len(), 16);
    let wanted = [
        "id",
        "os_id",
        "core",
        "package",
        "die",
        "cluster",
        "numa_node",
        "llc",
        "siblings",
        "kind",
        "allowed",
        "online",
    ];
    holds(&value["logical_cpus"][0], &wanted);
    assert_eq!(value["logical_cpus"][15]["online"], false);
    assert_eq!(value["logical_cpus"][15]["core"], Value::Null);
    assert_eq!(value["logical_cpus"][1]["siblings"], serde_json::json!([1, 9]));
    assert_eq!(value["packages"][1]["os_cpus"], "4-6,12-14");
    holds(&value, &["cores", "packages", "dies", "clusters", "numa_nodes", "llc_domains", "caches", "kinds"]);
}

#[test]
fn placements_have_their_logical_cpus_or_what_is_lacking() {
    let here = |placement: &str, cpus| json::PlacementCpus { placement: placement.to_owned(), cpus };
    let both =
        [here("same-core", Ok([1, 9].into_iter().collect())), here("4s1c1t", Err("2 packages".to_owned()))];
    let value = parsed(&json::topology(&topology(), &both));
    let found = serde_json::json!([
        {"placement": "same-core", "logical_cpus": [1, 9], "os_cpus": "1,9", "lacks": null},
        {"placement": "4s1c1t", "logical_cpus": null, "os_cpus": null, "lacks": "2 packages"},
    ]);
    assert_eq!(value["placements"], found);
}

#[test]
fn ids_are_dense_where_os_numbers_are_not() {
    let mut sparse = topology();
    // Logical CPUs 2 and 3 are not present.
    sparse.logical_cpus.retain(|cpu| !matches!(cpu.os_id, 2 | 3));
    let value = parsed(&json::topology(&sparse, &[]));
    assert_eq!(value["logical_cpus"][2]["id"], 2);
    assert_eq!(value["logical_cpus"][2]["os_id"], 4);
    assert_eq!(value["logical_cpus"][2]["siblings"], serde_json::json!([2, 10]));
}

fn rows(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn csv_has_a_line_per_run_and_slice() {
    let fixture = Fixture::generated(2, 3);
    let mut runs = Vec::new();
    csv::runs_csv(&fixture.facts(), &mut runs).unwrap();
    let runs = rows(&runs);
    assert_eq!(runs.len(), 1 + 2 * 16);
    let column = |name: &str| runs[0].iter().position(|header| header == name).expect(name);
    assert_eq!(runs[1][column("treatment")], "alone/l2");
    assert_eq!(runs[32][column("status")], "failed");
    assert_eq!(runs[32][column("kind")], "crash");
    let expected: u64 = fixture.runs[0].slices.iter().map(|slice| slice.counter("logical_reads")).sum();
    assert_eq!(runs[1][column("logical_reads")], expected.to_string());
    let mut slices = Vec::new();
    csv::slices_csv(&fixture.facts(), &mut slices).unwrap();
    let slices = rows(&slices);
    assert_eq!(slices.len(), 1 + 2 * 16 * 3);
    let column = |name: &str| slices[0].iter().position(|header| header == name).expect(name);
    assert_eq!(slices[1][column("rows")], fixture.runs[0].slices[0].rows().to_string());
    assert_eq!(slices[1][column("window_ns")], "50000000");
    assert!(!slices[1][column("used_cpus_busy_ns")].is_empty());
}

#[test]
fn no_cell_is_a_formula() {
    let mut fixture = hostile();
    for (run, start) in fixture.runs.iter_mut().zip(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]) {
        run.treatment = format!("{start}\",\"x\n");
    }
    for export in [csv::runs_csv, csv::slices_csv] {
        let mut text = Vec::new();
        export(&fixture.facts(), &mut text).unwrap();
        let rows = rows(&text);
        let width = rows[0].len();
        assert!(rows.iter().all(|row| row.len() == width));
        let formula = |cell: &&String| cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
        assert_eq!(rows.iter().flatten().find(formula), None);
    }
}

#[test]
fn json_lines_hold_what_was_seen() {
    let mut fixture = hostile();
    fixture.runs[0].slices[0].sessions[0].latency = vec![1, 2, 3];
    let mut text = Vec::new();
    json::slices_jsonl(&fixture.facts(), &mut text).unwrap();
    let lines: Vec<Value> = std::str::from_utf8(&text).unwrap().lines().map(parsed).collect();
    assert_eq!(lines.len(), 2 * 16 * 3);
    assert_eq!(lines[0]["sessions"][0]["latency_ns_hdr_v2_base64"], "AQID");
    assert_eq!(lines[1]["sessions"][0]["latency_ns_hdr_v2_base64"], Value::Null);
    assert_eq!(lines[0]["cpu_times"].as_array().unwrap().len(), 15);
    let mut text = Vec::new();
    json::runs_jsonl(&fixture.facts(), &mut text).unwrap();
    let lines: Vec<Value> = std::str::from_utf8(&text).unwrap().lines().map(parsed).collect();
    assert_eq!(lines.len(), 2 * 16);
    assert_eq!(lines[31]["status"], "invalid");
}

#[test]
fn hostile_texts_survive_json_whole() {
    let fixture = hostile();
    let report = parsed(&fixture.json());
    assert_eq!(report["study"]["title"], fixture.study.title);
    assert_eq!(report["notes"][1], fixture.notes[1].text);
}
