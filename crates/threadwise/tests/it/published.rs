//! `threadwise published`, and published ratios beside those of a study.

use crate::harness::Lab;
use crate::harness::estimates_of;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A study of the preset's name and comparisons on the model engine, which is quick. A machine without siblings can
/// compare one pair of them.
const STUDY: &str = r#"version = 1
name = "cached-reads"
title = "Cached reads of two sessions"
engine = "simulated"
workload = "logical-io"

[design]
rounds = 2
slice_ms = 10
rewarm_ms = 1
level = 0.95
budget_s = 60

[baseline]
placement = "1c1t"
sessions = 1

[[treatment]]
name = "one-cpu"
placement = "one-cpu"
sessions = 2

[[treatment]]
name = "together"
placement = "all"
sessions = 2

[[comparison]]
name = "core-of-two-threads"
treatment = "together"
baseline = "one-cpu"
"#;

#[test]
fn the_list_names_five_and_the_commands_that_redo_them() {
    let lab = Lab::new();
    let list = lab.ok(&["published"]).stdout;
    for name in ["parallel-queries", "log-buffer", "concurrent-inserts", "work-list", "cached-reads"] {
        let line =
            list.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {list}"));
        assert!(line.contains(&format!("threadwise run {name}")), "{line}");
    }
    let list = json(&lab.ok(&["published", "--json"]).stdout);
    assert_eq!(list["published"].as_array().unwrap().len(), 5);
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn one_is_shown_on_a_terminal_as_json_and_as_a_page() {
    let lab = Lab::new();
    let text = lab.ok(&["published", "--all", "work-list", "--html", "w.html"]).stdout;
    for part in ["N = 8, HT on", "15:07 min", "-1.47%", "printed, a slip", "8 to 16 jobs", "--factor device="]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let queries = lab.ok(&["published", "--all", "parallel-queries"]).stdout;
    assert!(queries.contains("No command can repeat yet"), "{queries}");
    let page = std::fs::read_to_string(lab.path().join("w.html")).unwrap();
    assert!(page.contains("15:07 min") && page.contains("</html>") && !page.contains("src=\"http"));
    let again = lab.run(&["published", "--all", "work-list", "--html", "w.html"]);
    assert_eq!(again.code, Some(2), "a page is not overwritten: {}", again.stderr);

    let all = json(&lab.ok(&["published", "log-buffer", "--json"]).stdout);
    let figures = all["figures"].as_array().unwrap();
    let figure = |id: &str| figures.iter().find(|figure| figure["id"] == id).unwrap();
    assert_eq!(figure("spins-memory-second")["number"], 6_692_284_057.0);
    assert_eq!(figure("cycles-per-second")["computed"], 2.4e9);
    assert!(figure("cycles-per-second")["slip"].as_str().unwrap().contains("a tenth"));
    assert_eq!(figure("far-memory")["formula"]["numerator"][0], "elapsed-memory-first");
    assert_eq!(figures.iter().filter(|figure| !figure["slip"].is_null()).count(), 2);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let lab = Lab::new();
    let said = lab.run(&["published", "--all", "cached-raeds"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("did you mean cached-reads?"), "{}", said.stderr);
    assert_eq!(lab.run(&["published", "--all", "--html", "x.html"]).code, Some(2));
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn a_report_ends_with_theirs_beside_yours() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("study.toml"), STUDY).unwrap();
    let args = [
        "run",
        "study.toml",
        "--seed",
        "7",
        "--allow-busy",
        "--no-probe",
        "--blocks=8",
        "--output",
        "s.threadwise",
    ];
    let said = lab.run(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = lab.ok(&["report", "--all", "s.threadwise"]).stdout;
    let table = text.find("Published and measured ratios").unwrap_or_else(|| panic!("{text}"));
    let section = &text[table..];
    for part in [
        "core-of-two-threads",
        "1.316x",
        "8 cores",
        "Oracle 11.2",
        "two-packages",
        "threadwise published cached-reads",
    ] {
        assert!(section.contains(part), "{part} in {section}");
    }
    assert!(text[..table].ends_with("SIMULATED · "), "{text}");
    assert!(
        std::fs::read_to_string(lab.path().join("s.html")).unwrap().contains("Published and measured ratios")
    );

    let report = json(&lab.ok(&["report", "s.threadwise", "--json"]).stdout);
    let row = &report["published"]["rows"][0];
    let measured = &row["measured"];
    let [low, high] = ["low", "high"].map(|end| measured[end].as_f64().unwrap());
    assert_eq!(row["published"], 1.316);
    assert_eq!(row["in_interval"], low <= 1.316 && 1.316 <= high, "{row}");
    let estimates = estimates_of(&report, "comparisons");
    let same = |estimate: &&&Value| {
        estimate["place"]["comparison"] == "core-of-two-threads" && estimate["metric"] == "rows_per_s"
    };
    assert_eq!(estimates.iter().find(same).unwrap()["value"], measured["value"]);

    let alone = json(&lab.ok(&["compare", "published:cached-reads", "s.threadwise", "--json"]).stdout);
    assert_eq!(alone["beside"]["rows"], report["published"]["rows"]);
    assert_eq!(alone["study"]["simulated"], true);
    let shown =
        lab.ok(&["compare", "--all", "published:cached-reads", "s.threadwise", "--html", "c.html"]).stdout;
    assert!(shown.contains("SIMULATED") && shown.contains("1.316x"), "{shown}");
    assert_eq!(lab.files(), ["c.html", "s.html", "s.threadwise", "study.toml"]);
}

#[test]
fn what_does_not_match_is_refused_in_one_line() {
    let lab = Lab::new();
    assert_eq!(
        lab.simulated("s.threadwise", &["--no-html", "--no-probe", "--blocks=3", "--sessions", "1"]).code,
        Some(0)
    );
    let refused = |args: &[&str]| {
        let said = lab.run(args);
        assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{}", said.stderr);
        said.stderr
    };
    let other = refused(&["compare", "--all", "published:work-list", "s.threadwise"]);
    assert!(other.contains("workload logical-io") && other.contains("threadwise run work-list"), "{other}");
    let two = refused(&["compare", "--all", "published:work-list", "published:cached-reads"]);
    assert!(two.contains("published:NAME FILE"), "{two}");
    assert!(
        refused(&["compare", "--all", "published:cached-raeds", "s.threadwise"])
            .contains("did you mean cached-reads?")
    );
    std::fs::write(
        lab.path().join("other.toml"),
        STUDY.replace("core-of-two-threads", "other").replace("placement = \"all\"", "placement = \"1c1t\""),
    )
    .unwrap();
    let args = [
        "run",
        "other.toml",
        "--seed",
        "7",
        "--allow-busy",
        "--no-probe",
        "--no-html",
        "--blocks=3",
        "--output",
        "o.threadwise",
    ];
    assert_eq!(lab.run(&args).code, Some(0));
    let none = refused(&["compare", "--all", "published:cached-reads", "o.threadwise"]);
    assert!(none.contains("core-of-two-threads; two-cores; two-packages"), "{none}");
}
