//! `observe` and `compare` of its files, without a server: what is refused, and every form of the answer. Real servers:
//! `lab_servers/observe.rs`.

use crate::harness::Lab;
use serde_json::Value;
use threadwise_observed::{Count, Gap, Interval, StatementText, States};
use threadwise_store::{About, ObservedStore};

/// A file of hours in two states by turns, in which the first of four statements takes half longer in the second state
/// and the second one half as long; times scatter by 2%.
fn write(lab: &Lab, episodes: i64) {
    let about = About { engine: "postgres".to_owned(), server: "db".to_owned(), ..About::default() };
    let (mut store, _) = ObservedStore::create_or_continue(&lab.path().join("o.threadwise"), &about).unwrap();
    let texts: Vec<StatementText> = (0..4).map(text).collect();
    for hour in 0..episodes * 2 {
        let is_on = (hour / 2) % 2 == 1;
        let start_unix_ms = 1_767_225_600_000 + hour * 3_600_000;
        let count = |id: i64| {
            let factor = [1.5, 0.5, 1.0, 1.0][id as usize];
            let scatter = 1.0 + 0.02 * ((hour * 7 + id * 13) % 5 - 2) as f64 / 2.0;
            let mean_ns = 1e6 * scatter * if is_on { factor } else { 1.0 };
            Count { statement: format!("s{id}"), calls: 1000, time_ns: (1000.0 * mean_ns) as u64, rows: 1 }
        };
        let interval = Interval {
            start_unix_ms,
            end_unix_ms: start_unix_ms + 3_600_000,
            length_ns: 3_600_000_000_000,
            gap: (hour == 3).then_some(Gap::Restart),
            states: States { smt: Some(if is_on { "on" } else { "off" }.to_owned()), ..States::default() },
            counts: if hour == 3 { Vec::new() } else { (0..4).map(count).collect() },
            ..Interval::default()
        };
        store.append(&interval, &texts).unwrap();
    }
}

fn text(id: i64) -> StatementText {
    StatementText {
        key: format!("s{id}"),
        database: Some("shop".to_owned()),
        text: Some(format!("SELECT a{id} FROM `t` WHERE b = $1\u{1b}[31m")),
        ..StatementText::default()
    }
}

#[test]
fn every_form_of_the_answer_has_what_changed() {
    let lab = Lab::new();
    write(&lab, 24);
    let screen = lab.ok(&["compare", "o.threadwise", "--by", "smt"]).stdout;
    for words in ["SMT on over SMT off", "1 of 4 statements is slower with SMT on", "#1", "TRUST", "--all"] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    assert!(!screen.contains('\u{1b}'), "{screen}");
    let all = lab.ok(&["compare", "o.threadwise", "--by", "smt", "--all"]).stdout;
    assert!(all.contains("1 without figures: restart") && all.contains("Holm"), "{all}");
    let json = lab.ok(&["compare", "o.threadwise", "--by", "smt", "--json"]).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((found["version"].as_u64(), found["unit"].as_str()), (Some(1), Some("change of state")));
    let one = |number: u64| {
        let all = found["statements"].as_array().unwrap();
        all.iter().find(|one| one["number"] == number).unwrap().clone()
    };
    for (number, factor, answer) in [(1, 1.5, "larger"), (2, 0.5, "smaller"), (3, 1.0, "equivalent")] {
        let one = one(number);
        assert!((one["value"].as_f64().unwrap() - factor).abs() < 0.02 && one["answer"] == answer, "{one:#}");
    }
    lab.ok(&["compare", "o.threadwise", "--by", "smt", "--html", "page.html"]);
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("SELECT a0 FROM") && !page.contains('\u{1b}'));
}

#[test]
fn one_change_says_that_it_is_confounded() {
    let lab = Lab::new();
    write(&lab, 24);
    for args in [["--since", "yesterday"], ["--since", "2026-01-01T23:00Z"]] {
        let said = lab.ok(&["compare", "o.threadwise", args[0], args[1], "--all"]).stdout;
        assert!(said.contains("confounded with all else that changed that day"), "{said}");
    }
}

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    write(&lab, 2);
    let url = "postgres://watch@127.0.0.1:1/shop";
    for (args, code, words) in [
        (vec!["observe", "--engine", "sqlite"], 2, "address of your server"),
        (vec!["observe", "--engine", "postgres://a:secret@h/x"], 2, "must not contain a password"),
        (vec!["observe", "--engine", url, "--interval", "10ms"], 2, "1s to 1h"),
        (vec!["observe", "--engine", url, "--state", "two words"], 2, "not a word for a state"),
        (vec!["observe", "--engine", url, "--state", "a", "--state-file", "f"], 2, "--state"),
        (vec!["observe", "--engine", url, "--state-file", "absent"], 2, "absent"),
        (vec!["observe", "--engine", url, "--live", "--json"], 2, "--live"),
        (vec!["observe", "--engine", url], 1, "connection refused"),
        (vec!["observe", "--engine", "oracle://a@127.0.0.1:1/x"], 3, "has no statistics"),
        (vec!["compare", "o.threadwise"], 2, "--by STATE or --since TIME"),
        (vec!["compare", "o.threadwise", "o.threadwise", "--by", "smt"], 2, "one file"),
        (vec!["compare", "absent", "--by", "smt"], 2, "there is no file"),
        (vec!["compare", "o.threadwise", "--by", "state"], 2, "--state NAME"),
        (vec!["compare", "o.threadwise", "--by", "clock"], 2, "unknown in all intervals"),
        (vec!["compare", "o.threadwise", "--since", "noon"], 2, "not a moment"),
        (vec!["compare", "o.threadwise", "--since", "2020-01-01"], 2, "one side of the moment"),
        (
            vec!["compare", "o.threadwise", "--by", "smt", "--between", "on", "away"],
            2,
            "no interval in SMT away",
        ),
        (vec!["compare", "o.threadwise", "--between", "on", "off"], 2, "--by"),
        (vec!["report", "o.threadwise"], 2, "threadwise compare o.threadwise --by smt"),
    ] {
        let said = lab.run(&args);
        assert!(
            said.code == Some(code) && said.stderr.contains(words),
            "{args:?} {:?}\n{}",
            said.code,
            said.stderr
        );
        assert_eq!(said.stderr.trim().lines().count(), 1, "{args:?}\n{}", said.stderr);
        assert!(!said.stderr.contains("secret"), "{}", said.stderr);
    }
    assert_eq!(lab.files(), ["o.threadwise"]);
}

#[test]
fn a_study_is_not_a_file_of_observed_statements() {
    let lab = Lab::new();
    lab.simulated("s.threadwise", &["--no-html", "--blocks=2"]);
    let said = lab.run(&["compare", "s.threadwise", "--by", "smt"]);
    assert!(said.code == Some(2) && said.stderr.contains("threadwise report"), "{}", said.stderr);
}
