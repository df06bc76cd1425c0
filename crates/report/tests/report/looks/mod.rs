//! Where slices ran, in every form of report.

mod model;

use crate::accessibility::assert_accessible;
use crate::chromium::opened;
use crate::support::Fixture;
use model::{moved, odd};
use serde_json::Value;
use threadwise_report::terminal::{self, Style};
use threadwise_report::{csv, html, json};
use threadwise_study::RunStatus;

fn page(fixture: &Fixture) -> String {
    html::render(&fixture.document()).unwrap()
}

fn screen(fixture: &Fixture, width: usize) -> String {
    let (document, style) = (fixture.document(), Style { color: false, unicode: true, width });
    format!("{}\n\n{}\n", terminal::verdict(&document, style), terminal::sections(&document, style))
}

/// The JSON report's `looks`.
fn found(fixture: &Fixture) -> Value {
    let report = json::report(&fixture.facts(), &fixture.document());
    serde_json::from_str::<Value>(&report).unwrap()["looks"].take()
}

#[test]
fn the_page_draws_a_strip_and_says_what_it_thinned_out() {
    for (fixture, is_thinned) in [(moved(2, 8, 20), false), (moved(2, 25, 100), true)] {
        let text = page(&fixture);
        assert!(text.contains("<section id=\"looks\"") && text.contains("<h2>Where slices ran</h2>"));
        let words = "Of 10,000 slices, neighbours in the same state are drawn as one mark";
        assert_eq!(text.contains(words), is_thinned);
        let Some((dom, root, console)) = opened(&text) else { return };
        assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
        // Throughput, ratios, the strip, busy time by use and by logical CPU, slices in time order.
        assert!(root.contains("data-charts=\"6\""), "{root}");
        let (_, drawn) = dom.split_once("data-chart=\"strip\"").unwrap();
        let (drawn, _) = drawn.split_once("</figure>").unwrap();
        let marks = drawn.matches("<rect").count() + drawn.matches("<path").count();
        assert!((200..12_000).contains(&marks), "{marks} marks");
        for name in ["alone", "one core", "co-runner", ">CPU 1<", "block"] {
            assert!(drawn.contains(name), "{name}");
        }
        assert!(!drawn.contains("> away<"), "a state that never occurred has no entry in the legend");
    }
}

#[test]
fn strips_are_accessible_and_fit_a_telephone() {
    assert_accessible("a strip", &page(&moved(2, 8, 20)));
    assert_accessible("a strip with every state", &page(&odd(3, 20)));
    assert_accessible("one logical CPU", &page(&moved(1, 2, 5)));
}

#[test]
fn the_terminal_shows_verdict_table_and_strip_within_its_width() {
    let fixture = moved(2, 8, 20);
    for width in [40, 80, 120] {
        let text = screen(&fixture, width);
        // The title is not broken.
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= width), "{text}");
        let strip: Vec<&str> = text.lines().filter(|line| line.starts_with("CPU ")).collect();
        assert_eq!(strip.len(), 2, "{text}");
        assert!(strip[0].contains('1') && strip[0].contains('c') && strip[0].contains('.'), "{text}");
        let plain = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(plain.contains(
            "Your 2 logical CPUs had a core each in 68% [49, 86] of 640 looks; they were on one core"
        ));
        assert!(plain.contains("took 0.4% of the measured time"), "{plain}");
    }
}

#[test]
fn one_logical_cpu_has_no_pair() {
    let fixture = moved(1, 2, 20);
    let text = screen(&fixture, 100);
    assert!(text.contains("Logical CPU 0 had its core for itself in"), "{text}");
    assert!(
        text.contains("With one logical CPU there is no other that it could share its core with"),
        "{text}"
    );
    assert!(!text.contains("one core"), "{text}");
    let Some((_, root, console)) = opened(&page(&fixture)) else { return };
    assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
}

#[test]
fn unknown_widths_make_no_column_of_zeros() {
    let mut fixture = moved(2, 2, 20);
    for one in fixture.runs.iter_mut().flat_map(|run| &mut run.slices).flat_map(|slice| &mut slice.looks) {
        one.look.cpus.iter_mut().for_each(|seen| seen.adds_per_step = None);
    }
    fixture.analyse();
    let text = screen(&fixture, 120);
    let plain = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(plain.contains("in 4 stretches; whether co-runners were there is not known."), "{text}");
    let heading =
        text.lines().find(|line| line.starts_with("treatment ") && line.contains("changed")).unwrap();
    assert!(heading.contains("one core") && heading.contains("not known"), "{heading}");
    assert!(!heading.contains("co-runner") && !heading.contains("away"), "{heading}");
}

#[test]
fn without_looks_one_sentence_says_so() {
    let mut fixture = moved(2, 2, 5);
    fixture.runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.looks.clear());
    fixture.analyse();
    let sentence = "Where slices ran is not known: the file has no looks around them.";
    let without = |fixture: &Fixture, sentence: &str| {
        let text = page(fixture);
        assert_eq!(text.matches(sentence).count(), 1, "{sentence}");
        assert!(!text.contains("id=\"looks\"") && !text.contains("stripCharts = tools"));
        assert!(!screen(fixture, 80).contains("looks"), "a terminal has no word of it");
        assert_eq!(found(fixture), Value::Null);
    };
    without(&fixture, sentence);
    fixture.notes.push("no looks: perf has all counters.".to_owned());
    without(&fixture, "Where slices ran is not known: no looks: perf has all counters.");
    fixture.notes.clear();
    fixture.analysis.simulated = true;
    without(&fixture, "Where slices ran: nowhere, they come from a model.");
}

#[test]
fn json_has_what_the_page_has() {
    let fixture = odd(8, 20);
    let looks = found(&fixture);
    assert_eq!(looks["taken"], serde_json::json!({"before": 640, "during": 640, "after": 640}));
    assert_eq!(looks["cpus"], serde_json::json!([0, 1]));
    assert!(looks["contradictions"].as_u64().unwrap() > 20, "{}", looks["contradictions"]);
    let words = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&looks["study"]), ["alone", "one-core", "co-runner", "away", "unknown"]);
    let sum: f64 =
        looks["study"].as_array().unwrap().iter().map(|one| one["share"]["mean"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let last = &looks["treatments"][3];
    assert_eq!((&last["treatment"], &last["slices"]), (&"same-package".into(), &160.into()));
    assert!(last["disagree"]["mean"].as_f64().unwrap() > 0.0 && last["with_during"] == 160);
    assert_eq!(looks["treatments"][0]["states"][1]["share"]["low"], Value::Null, "never, in no block");
    assert!(looks["by_cpu"][1]["shares"]["one-core"]["mean"].as_f64().unwrap() > 0.1);
    assert_eq!(looks["distances"].as_array().unwrap().len(), 1);
}

#[test]
fn an_export_has_a_line_for_each_logical_cpu_in_a_look() {
    let mut fixture = moved(2, 2, 3);
    let status = RunStatus::Failed { kind: "crash".to_owned(), message: String::new() };
    fixture.runs[7].status = status;
    let mut text = Vec::new();
    csv::looks_csv(&fixture.facts(), &mut text).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let wanted = "run_id,block,attempt,treatment,group,status,sequence,round,moment,start_ns,took_ns,cpu,state,with,\
                  adds_per_step,chain_ns,line_to,line_ns";
    assert_eq!(header.join(","), wanted);
    let rows: Vec<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    // 2 blocks of 4 treatments with 3 slices, 2 looks at each, 2 logical CPUs.
    assert_eq!(rows.len(), 2 * 4 * 3 * 2 * 2);
    let at = |name: &str| header.iter().position(|known| known == name).unwrap();
    let first = &rows[0];
    assert_eq!([&first[at("moment")], &first[at("cpu")], &first[at("line_to")]], ["before", "0", "1"]);
    assert_eq!((first[at("took_ns")].as_str(), first[at("chain_ns")].as_str()), ("90000", "0.278"));
    for row in &rows {
        let is_valid = row[at("status")] == "valid";
        assert_eq!(row[at("state")].is_empty(), !is_valid, "{row:?}");
        assert_eq!(row[at("state")] == "one-core", !row[at("with")].is_empty(), "{row:?}");
    }
    assert_eq!(rows.iter().filter(|row| row[at("status")] == "failed").count(), 12);
    let mut lines = Vec::new();
    json::looks_jsonl(&fixture.facts(), &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().count(), rows.len());
    let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (line["version"].as_u64(), line["start_ns"].to_string()),
        (Some(1), first[at("start_ns")].clone())
    );
}
