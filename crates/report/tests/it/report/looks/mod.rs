//! Where slices ran, in every form of report.

pub mod model;
mod stored;

use crate::report::exports::{estimate, find_estimate};
use crate::support::Fixture;
use model::{moved, odd, restless, whole};
use serde_json::Value;
use stored::store;
use threadwise_report::terminal::{self, Style};
use threadwise_report::{csv, html, json};
use threadwise_store::Store;
use threadwise_study::{Note, NoteCode, Run, RunStatus};

fn page(fixture: &Fixture) -> String {
    html::render(&fixture.document()).unwrap()
}

fn screen(fixture: &Fixture, width: usize) -> String {
    let (document, style) = (fixture.document(), Style { color: false, unicode: true, width });
    format!("{}\n\n{}\n", terminal::verdict(&document, style), terminal::sections(&document, style))
}

/// The JSON report's `looks`.
fn report(fixture: &Fixture) -> Value {
    serde_json::from_str(&json::report(&fixture.facts(), &fixture.document())).unwrap()
}

/// Its details of looks.
fn found(fixture: &Fixture) -> Value {
    report(fixture)["details"]["looks"].take()
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
        let sentence = "Your 2 logical CPUs had a core each in 68% [46, 84] of 640 looks before slices; they were on one core";
        assert!(plain.contains(sentence), "{plain}");
        assert!(plain.contains("took 0.4% of the measured time"), "{plain}");
    }
}

#[test]
fn one_logical_cpu_has_no_pair() {
    let fixture = moved(1, 2, 20);
    let text = screen(&fixture, 100);
    assert!(text.contains("Logical CPU 0 had its core to itself in"), "{text}");
    assert!(
        text.contains("With one logical CPU there is no other that it could share its core with"),
        "{text}"
    );
    assert!(!text.contains("one core"), "{text}");
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
    assert!(plain.contains("in 4 stretches; whether there were neighbours is unknown."), "{text}");
    let heading =
        text.lines().find(|line| line.starts_with("treatment ") && line.contains("changed")).unwrap();
    assert!(heading.contains("one core") && heading.contains("unknown"), "{heading}");
    assert!(!heading.contains("neighbour") && !heading.contains("away"), "{heading}");
}

#[test]
fn without_looks_one_sentence_says_so() {
    let mut fixture = moved(2, 2, 5);
    fixture.runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.looks.clear());
    fixture.analyse();
    let sentence = "Where slices ran is unknown: the file has no looks around them (--no-probe leaves";
    let without = |fixture: &Fixture, sentence: &str| {
        let text = page(fixture);
        assert_eq!(text.matches(sentence).count(), 1, "{sentence}");
        assert!(!text.contains("id=\"looks\"") && !text.contains("stripCharts = tools"));
        assert!(!screen(fixture, 80).contains("looks"), "a terminal has no word of it");
        assert_eq!(found(fixture), Value::Null);
    };
    without(&fixture, sentence);
    let clock =
        "no looks at where slices ran: the clock is too coarse to measure with: its steps are 4000000 ns";
    fixture.notes.push(Note::new(NoteCode::NoLooks, clock));
    without(
        &fixture,
        "Where slices ran is unknown: the clock is too coarse to measure with: its steps are 4000000 ns.",
    );
    fixture.notes.clear();
    fixture.notes.push(Note::new(NoteCode::NoLooks, "no looks: perf has all counters."));
    without(&fixture, "Where slices ran is unknown: no looks: perf has all counters.");
    fixture.notes.clear();
    fixture.analysis.simulated = true;
    without(&fixture, "Where slices ran: nowhere, they are from a model.");
}

#[test]
fn the_page_has_a_strip_and_says_what_it_thinned_out() {
    for (fixture, is_thinned) in [(moved(2, 8, 20), false), (moved(2, 25, 100), true)] {
        let text = page(&fixture);
        assert!(text.contains("<section id=\"looks\"") && text.contains("<h2>Where slices ran</h2>"));
        let words = "Of 10,000 slices, neighbours in the same state are drawn as one mark";
        assert_eq!(text.contains(words), is_thinned);
    }
}

#[test]
fn json_has_what_the_page_has() {
    let fixture = odd(8, 20);
    let looks = found(&fixture);
    assert_eq!(looks["taken"], serde_json::json!({"before": 640, "during": 640, "after": 640}));
    assert_eq!((&looks["cpus"], &looks["moment"]), (&serde_json::json!([0, 1]), &"before".into()));
    assert!(looks["contradictions"].as_u64().unwrap() > 20, "{}", looks["contradictions"]);
    let report = report(&fixture);
    let share =
        |figure: &str, fields: &[(&str, &str)]| estimate(&report, figure, fields)["value"].as_f64().unwrap();
    let states = ["alone", "one-core", "neighbour", "away", "unknown"];
    let sum: f64 = states.iter().map(|state| share("looks.study.share", &[("state", state)])).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let last = &looks["treatments"][3];
    assert_eq!((&last["treatment"], &last["slices"]), (&"same-package".into(), &160.into()));
    assert_eq!(last["with_during"], 160);
    assert!(share("looks.treatments.disagree", &[("treatment", "same-package")]) > 0.0);
    let never = [("treatment", "alone"), ("state", "one-core")];
    let never = estimate(&report, "looks.treatments.states.share", &never);
    assert_eq!(never["low"], Value::Null, "never, in no block");
    assert!(share("looks.by_cpu.shares.one-core", &[("cpu", "1")]) > 0.1);
    assert_eq!(looks["distances"].as_array().unwrap().len(), 1);
}

/// The JSON report's details of ratios by state.
fn by_state(fixture: &Fixture) -> Value {
    report(fixture)["details"]["by_state"].take()
}

#[test]
fn json_has_ratios_by_state_with_their_checks() {
    let fixture = moved(2, 12, 60);
    let found = by_state(&fixture);
    for (level, wanted) in [("level", 0.95), ("checks_level", 0.9)] {
        assert!((found[level].as_f64().unwrap() - wanted).abs() < 1e-9, "{level}");
    }
    let [one] = found["comparisons"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(
        (&one["treatment"], &one["cpus"], &one["needed"]),
        (&"same-package".into(), &2.into(), &Value::Null)
    );
    let effects = fixture.analysis.effects.first().unwrap();
    let wanted = effects.effects[0].by_state().unwrap();
    let got = &one["by_look_before"];
    let close = |got: &Value, log: f64| (got.as_f64().unwrap().ln() - log).abs() < 1e-9;
    let report = report(&fixture);
    let ratio = estimate(&report, "by_state.comparisons.by_look_before.ratio", &[]);
    assert!(close(&ratio["value"], wanted.ratio.mean) && close(&ratio["low"], wanted.ratio.low));
    // The model has 1.21 on one core, and 2 less what neighbours take.
    assert!(ratio["value"].as_f64().unwrap() < 0.75, "{ratio}");
    assert_eq!(got["claim"], serde_json::json!(wanted.claim));
    let checks = got["checks"].as_array().unwrap();
    let words: Vec<&str> = checks.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(words, ["prevalence", "twin", "baseline", "chain", "next", "wide"]);
    assert_eq!((&checks[5]["limit_low"], &checks[5]["limit_high"]), (&Value::Null, &1.0.into()));
    let product = checks[0]["limit_low"].as_f64().unwrap() * checks[0]["limit_high"].as_f64().unwrap();
    assert!((product - 1.0).abs() < 1e-9, "{product}");
    for (check, known) in checks.iter().zip(&wanted.checks) {
        assert_eq!(check["passed"], known.passed(), "{check}");
    }
}

#[test]
fn json_says_how_long_a_comparison_by_state_would_take() {
    let rare = by_state(&moved(2, 4, 20));
    let one = &rare["comparisons"][0];
    assert_eq!((&one["by_look_before"], &one["blocks"]), (&Value::Null, &4.into()));
    let needed = one["needed"]["low"].as_u64().unwrap();
    let all = report(&moved(2, 4, 20));
    let prevalence = estimate(&all, "by_state.comparisons.prevalence", &[]);
    assert!(needed > 4 && prevalence["value"].as_f64().unwrap() > 0.0, "{one}");
    // One block has no intervals, and nothing to take a variance of.
    let single = report(&moved(2, 1, 20));
    let spread = |name: &str| find_estimate(&single, &format!("by_state.comparisons.spread.{name}"), &[]);
    let all = spread("all").unwrap();
    assert_eq!((&all["low"], &all["blocks"]), (&Value::Null, &1.into()));
    assert_eq!(spread("twin"), None);
    assert_eq!(by_state(&moved(1, 8, 20)), Value::Null, "no treatment has two logical CPUs");
    // One more logical CPU that no look saw: nothing is compared, and nothing counted.
    let mut more = moved(2, 12, 60);
    more.runs.iter_mut().filter(|run| run.cpus.len() == 2).for_each(|run| run.cpus.push(7));
    more.analyse();
    let more = by_state(&more);
    let one = &more["comparisons"][0];
    assert_eq!((&one["cpus"], &one["looked_at"]), (&3.into(), &2.into()), "{one}");
    let gaps = ["prevalence", "blocks", "blocks_with_both", "one_core_stretches", "needed", "by_look_before"];
    assert!(gaps.iter().all(|field| one[*field] == Value::Null), "{one}");
}

/// With `THREADWISE_FREEZE=FILE` the study is written there too: `tests/it/frozen/studies/README.md`.
#[test]
fn a_study_with_looks_is_read_back_as_it_was_stored() {
    let fixture = restless();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("looks.threadwise");
    store(&fixture, &path);
    let stored = Store::open(&path).unwrap().runs().unwrap();
    assert_eq!(stored.len(), fixture.runs.len());
    for (stored, made) in stored.iter().zip(&fixture.runs) {
        let looks = |run: &Run| run.slices.iter().flat_map(|slice| slice.looks.clone()).collect::<Vec<_>>();
        assert_eq!((looks(stored), &stored.cpus), (looks(made), &made.cpus));
    }
    if let Some(to) = std::env::var_os("THREADWISE_FREEZE") {
        std::fs::copy(&path, to).unwrap();
    }
}

#[test]
fn of_whole_runs_the_looks_during_them_are_told() {
    let fixture = whole(crate::report::commands::fixture(8, &[]));
    let page = page(&fixture);
    for words in [
        "<h2>Where runs ran</h2>",
        "own logical CPUs in the looks during them, weighted by their time",
        "in most looks during it. Breaks are cut out.",
        "3 runs had no look during them: where they ran is unknown",
        "There are no ratios by state: what a look sees during a run came after",
        "the load may have kept it",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("id=\"by-state\"") && !page.contains("other during"));
    assert_eq!(by_state(&fixture), Value::Null);
    let plain = screen(&fixture, 80).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(plain.contains(" of the runs' time ("), "{plain}");
    let looks = found(&fixture);
    assert_eq!((&looks["moment"], &looks["slices_without"]), (&"during".into(), &3.into()));
    let report = report(&fixture);
    let shares = |at: usize| {
        let treatment = looks["treatments"][at]["treatment"].as_str().unwrap();
        ["alone", "one-core", "neighbour", "away", "unknown"].map(|state| {
            let fields = [("treatment", treatment), ("state", state)];
            estimate(&report, "looks.treatments.states.share", &fields)["value"].as_f64().unwrap()
        })
    };
    let two = shares(3);
    assert_eq!((looks["treatments"][3]["treatment"].as_str(), two[3]), (Some("two"), 0.0), "none is away");
    assert!((two.iter().sum::<f64>() - 1.0).abs() < 1e-9 && two[4] > 0.05 && two[4] < 0.5, "{two:?}");
    // Logical CPU 0 comes to every look; one of 8 runs has none, and where 1 did not come it is unknown what slows 0.
    let one = shares(0);
    assert!((0.125..0.2).contains(&one[4]) && one[0] > 0.7 && one[3] == 0.0, "{one:?}");
    assert!(page.contains("data-chart=\"strip\""));
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
                  adds_per_step,chain_ns,line_to,line_ns,without,adds_per_step_without";
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
