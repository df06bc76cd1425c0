//! JSON of probes, lists and windows, read back by a parser.

use super::*;
use threadwise_analysis::hardware::compare;
use threadwise_analysis::{BlockCovariates, Covariates};
use threadwise_headroom::Scope;
use threadwise_machine::topology::LogicalCpu;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{
    ClockReading, ClockSource, LatencyFigures, LatencyLevel, Neighbour, PairLatency, PairSharing, Probe,
    SetTest, Sharing, Slowdown,
};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// Two logical CPUs on one core, declared as two, and one entry of everything.
fn probed() -> Value {
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        siblings: [os_id].into_iter().collect(),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    };
    let topology = Topology { logical_cpus: vec![cpu(2), cpu(5)], ..Topology::default() };
    let figures = LatencyFigures { min_ns: 9.5, median_ns: 10.0, spread_ns: f64::NAN, samples: 7 };
    let pair = PairSharing {
        a: 2,
        b: 5,
        sharing: Sharing::SameCore,
        wide: Some(Slowdown { median: 1.98, low: 1.9, high: 2.1 }),
        chain: None,
        load_store: None,
        on_cpu_share: Some(1.0),
        rounds_used: 8,
        rounds: 9,
        why: "8 rounds".to_owned(),
    };
    let neighbour = Neighbour {
        cpu: 2,
        windows: 50,
        adds_per_step_p10: Some(2.0),
        adds_per_step_p50: Some(3.9),
        adds_per_step_p90: Some(4.0),
        busy_share: None,
        off_cpu_share: 0.01,
        why: "no baseline".to_owned(),
    };
    let clock = ClockReading {
        cpu: 5,
        busy_cpus: 2,
        source: ClockSource::Chain,
        avg_mhz: None,
        busy_pct: None,
        bzy_mhz: Some(3400.0),
        tsc_mhz: None,
    };
    let level = LatencyLevel { name: None, low_ns: 9.5, high_ns: 9.5, groups: vec![set("2,5")] };
    let probe = Probe {
        cpus: set("2,5"),
        pairs: vec![pair],
        sets: vec![SetTest { ran: set("2,5"), at_full_width: set("") }],
        neighbours: vec![neighbour],
        latencies: vec![PairLatency { a: 2, b: 5, cas: figures, two_lines: figures, level: Some(0) }],
        levels: vec![level],
        clocks: vec![clock],
        gaps: vec!["no msr".to_owned()],
        ..Probe::default()
    };
    serde_json::from_str(&super::probe(&topology, &probe, &compare(&topology, &probe))).unwrap()
}

#[test]
fn a_probe_has_figures_and_what_they_mean() {
    let value = probed();
    assert_eq!(
        (&value["version"], &value["form"], &value["cpus"]),
        (&json!(1), &json!("standard"), &json!("2,5"))
    );
    let pair = &value["pairs"][0];
    assert_eq!((&pair["sharing"], &pair["declared"]), (&json!("same-core"), &json!("different-cores")));
    assert_eq!((&pair["wide"]["median"], &pair["chain"]), (&json!(1.98), &Value::Null));
    assert_eq!(value["latencies"][0]["cas"]["spread_ns"], Value::Null, "no number is null");
    assert_eq!(value["neighbours"][0]["busy_share"], Value::Null);
    assert_eq!(value["levels"][0]["groups"], json!(["2,5"]));
    assert_eq!(value["clocks"][0]["source"], "chain");
    assert_eq!(value["measured_cores"], json!([{"logical_cpus": [0, 1], "os_cpus": "2,5"}]));
    assert_eq!(value["declared_cores"].as_array().unwrap().len(), 2);
    assert_eq!(value["pair_counts"]["differ"], 1);
    assert_eq!(value["differences"][0]["measured"], "one core");
    assert_eq!(value["verdict"][0]["kind"], "probe-sharing");
    assert_eq!(value["gaps"], json!(["no msr"]));
}

#[test]
fn every_field_of_a_probe_is_documented() {
    fn names<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                into.push(name);
                names(value, into);
            }),
            Value::Array(items) => items.iter().for_each(|item| names(item, into)),
            _ => {}
        }
    }
    let text = include_str!("../../../../docs/JSON.md");
    let (value, mut fields) = (probed(), Vec::new());
    names(&value, &mut fields);
    let covariates = json!(Covariates { blocks: vec![BlockCovariates::default()], ..Covariates::default() });
    names(&covariates, &mut fields);
    assert!(fields.len() > 90, "{}", fields.len());
    for field in fields {
        // Percentiles are documented once, by what their names begin with.
        let named = field.strip_prefix("adds_per_step").unwrap_or(field);
        assert!(text.contains(&format!("`{named}`")) || named == "_p10", "docs/JSON.md lacks {field}");
    }
}

#[test]
fn checks_are_counted_and_kept_whole() {
    let row = DoctorRow {
        name: "neighbour",
        outcome_word: "warning",
        found: "it is \"on\"",
        source: "/sys/x",
        remedy: None,
    };
    let value: Value = serde_json::from_str(&doctor(&[row, row])).unwrap();
    assert_eq!((&value["counts"]["warning"], &value["counts"]["ok"]), (&json!(2), &json!(0)));
    assert_eq!(value["checks"][1]["found"], "it is \"on\"");
    assert_eq!(value["checks"][0]["name"], "neighbour");
    assert_eq!(value["checks"][0]["remedy"], Value::Null);
}

#[test]
fn an_engine_that_is_not_there_says_the_command() {
    let entry = EngineEntry {
        name: "duckdb".into(),
        kind: "environment".into(),
        state: "not installed".into(),
        remedy: Some("threadwise engine add duckdb".into()),
        packages: [("pyarrow".into(), "26.0.1".into())].into(),
        path: "/opt/threadwise".into(),
        ..EngineEntry::default()
    };
    let value: Value = serde_json::from_str(&engines(&[entry])).unwrap();
    assert_eq!(value["engines"][0]["remedy"], "threadwise engine add duckdb");
    assert_eq!(value["engines"][0]["packages"]["pyarrow"], "26.0.1");
    assert_eq!(value["engines"][0]["engine_version"], Value::Null);
}

#[test]
fn a_window_is_one_line_that_json_readers_take() {
    let bounds = Bounds { low: 0.25, high: 0.5 };
    let row = Row {
        scope: Scope::Node(1),
        logical_cpus: 4,
        cores: 2,
        busy_share: 0.5,
        stolen_share: 0.0,
        core_busy_share: bounds,
        core_seconds: bounds,
        capacity_used_share: bounds,
        headroom_share: bounds,
        is_traced: false,
    };
    let window = HeadroomWindow {
        utc: Some("2026-01-01T00:00:00Z"),
        window_ns: 1_500_000_000,
        smt_yield: Bounds { low: 1.2, high: 1.3 },
        yield_source: "given",
        clock_ratio: None,
        rows: &[row, Row { scope: Scope::Machine, is_traced: true, ..row }],
    };
    let text = headroom(&window);
    assert!(!text.contains('\n'));
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&read["window_ns"], &read["clock_ratio"]), (&json!(1_500_000_000), &Value::Null));
    assert_eq!((&read["rows"][0]["scope"], &read["rows"][0]["id"]), (&json!("node"), &json!(1)));
    assert_eq!((&read["rows"][0]["method"], &read["rows"][1]["method"]), (&json!("bounds"), &json!("exact")));
    assert_eq!((&read["rows"][1]["scope"], &read["rows"][1]["id"]), (&json!("machine"), &Value::Null));
    assert_eq!(read["rows"][0]["headroom_share"]["high"], json!(0.5));
}
