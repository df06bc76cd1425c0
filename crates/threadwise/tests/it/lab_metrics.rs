//! Metrics, the dashboard and the rules (`dashboards/`): `cargo xtask lab metrics`.

use crate::lab_python::unittest;
use std::collections::HashMap;
use std::path::Path;
use threadwise_analysis::neighbours::{Watched, WatchedCpu};
use threadwise_headroom::exposition::openmetrics;
use threadwise_headroom::{Bounds, Row, Scope, SmtYield, exposition as of_headroom};
use threadwise_observed::{
    Count, Gap, Interval, Neighbours, StatementText, States, exposition as of_statements,
};

/// What a label may hold: all that needs an escape, and more.
const HOSTILE: &str = "a\"b\\c\nd {e=\"f\"} # g\u{e9}";

/// Writes every text of metrics in both forms, `NAME.prom` and `NAME.om`.
fn write(folder: &Path) {
    let bounds = Bounds { low: 0.25, high: 0.5 };
    let row = |scope| Row {
        scope,
        logical_cpus: 4,
        cores: 2,
        busy_share: 0.5,
        stolen_share: 0.125,
        core_busy_share: bounds,
        core_seconds: bounds,
        capacity_used_share: bounds,
        headroom_share: bounds,
        is_traced: false,
    };
    let rows = [row(Scope::Machine), row(Scope::Package(0)), row(Scope::Node(1))];
    let window = of_headroom::Window {
        end_unix_s: 1_700_000_000.5,
        length_s: 1.0,
        smt_yield: SmtYield::new(1.2, 1.3).unwrap(),
        clock_ratio: 1.0,
    };
    let mut totals = of_headroom::Totals::default();
    totals.add(&rows, 1.0);
    let headroom = of_headroom::exposition(&window, &rows, &totals);

    let count = |key: &str| Count { statement: key.to_owned(), calls: 2, time_ns: 3_000_000_000, rows: 1 };
    let interval = Interval {
        counts: vec![count(HOSTILE), count("b")],
        states: States { state: Some(HOSTILE.to_owned()), ..States::default() },
        neighbours: Some(Neighbours::Seen { looks: 40, share: 0.25 }),
        ..Interval::default()
    };
    let mut totals = of_statements::Totals::default();
    totals.add(&interval);
    totals.add(&Interval { gap: Some(Gap::Reset), ..Interval::default() });
    let name = StatementText { database: Some(HOSTILE.to_owned()), ..StatementText::default() };
    let names = HashMap::from([("b".to_owned(), name), (HOSTILE.to_owned(), StatementText::default())]);
    let statements = of_statements::exposition(&totals, &names);

    let cpu = |cpu, looks| WatchedCpu {
        cpu,
        looks,
        with_neighbour: 1,
        on_one_core: 0,
        visits: 1,
        visit_ns_p50: None,
    };
    let watched = Watched {
        cpus: vec![cpu(0, 40), cpu(1, 0)],
        looks: 40,
        time_ns: 1,
        prevalence: None,
        deep_share: None,
        width_left: None,
    };
    let neighbours = threadwise_analysis::neighbours::exposition(&watched);
    // `observe` puts both on one page.
    for (name, text) in [("observe", headroom + &statements), ("neighbours", neighbours)] {
        std::fs::write(folder.join(format!("{name}.om")), openmetrics(&text)).unwrap();
        std::fs::write(folder.join(format!("{name}.prom")), text).unwrap();
    }
}

fn tried(python: &str, more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let metrics = ("THREADWISE_TEST_METRICS", folder.path());
    unittest(python, &[&["-s", "dashboards/tests"], more].concat(), &[metrics]);
}

/// What needs no package but Prometheus, by the system's interpreter.
#[test]
#[ignore = "laboratory: metrics"]
fn smoke_rules_alert_when_they_should() {
    tried("python3", &["-k", "Rules"]);
}

#[test]
#[ignore = "laboratory: metrics"]
fn metrics_are_parsed_scraped_and_shown() {
    tried(&crate::lab_python::python(), &[]);
}
