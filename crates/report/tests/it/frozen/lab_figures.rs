//! The figures of all frozen studies as one flat list, `figures.tsv`, which a redesign of the analysis has to find again.
//! `THREADWISE_WRITE_FIGURES=1` writes the file again.
//!
//! A figure is an estimate of the JSON report, or a number or word of its details.

use crate::frozen::{Opened, STUDIES};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use threadwise_analysis::document;
use threadwise_machine::text::is_deceptive;
use threadwise_report::json;

/// Relative difference up to which figures are the same: another order of additions, not another method.
const TOLERANCE: f64 = 1e-12;
/// Differences that a message lists.
const SHOWN: usize = 20;
/// Fields of an estimate that are kept.
const FIELDS: [&str; 9] =
    ["value", "low", "high", "adjusted_low", "adjusted_high", "answer", "p", "adjusted_p", "correlation"];

/// Values by study and name.
type Figures = BTreeMap<(String, String), Vec<String>>;

/// A number in the shortest form that reads back as the same, a word without quotes; nothing of what is not known.
fn text(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    // Without what would end a field or a line, or act on a terminal.
    let seen = |c: char| match c {
        c if c.is_control() || is_deceptive(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(seen).collect()
}

fn keep(figures: &mut Figures, study: &str, name: String, values: Vec<String>) {
    let mut key = (study.to_owned(), name);
    while figures.contains_key(&key) {
        key.1.push('+');
    }
    figures.insert(key, values);
}

fn estimate(figures: &mut Figures, study: &str, one: &Value) {
    let mut parts = ["family", "figure", "metric", "treatment", "baseline"].map(|field| text(&one[field]));
    if parts[1].ends_with(&parts[2]) {
        parts[2].clear();
    }
    // Fractions are no names: their last digits differ from machine to machine.
    let place = one["place"].as_object().unwrap().iter().filter(|(_, value)| !value.is_f64());
    let is_name = |name: &str, value: &str| !value.is_empty() && name != "method" && name != "p_sign_flip";
    let place = place.map(|(name, value)| (name, text(value))).filter(|(name, value)| is_name(name, value));
    let place = place.map(|(name, value)| format!("{name}={value}"));
    let name: Vec<String> = parts.into_iter().chain(place).filter(|part| !part.is_empty()).collect();
    let mut values = FIELDS.map(|field| text(&one[field])).to_vec();
    values.push(text(&one["place"]["p_sign_flip"]));
    keep(figures, study, name.join("/"), values);
}

/// Estimates that follow from others.
const DERIVED: [&str; 2] = ["counters.per_s", "comparisons.quantities.treatment_value"];

/// Parts of details that name things or that are raw counts.
const LEFT_OUT: [&str; 10] = [
    "treatment",
    "baseline",
    "comparison",
    "placement",
    "group",
    "name",
    "plan",
    "plans",
    "counters",
    "blocks",
];

/// Numbers with a fraction, words without spaces: counts and sentences are no figures.
fn details(figures: &mut Figures, study: &str, path: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
            fields.for_each(|(name, value)| details(figures, study, &format!("{path}/{name}"), value));
        }
        Value::Array(all) => {
            let all = all.iter().enumerate();
            all.for_each(|(at, one)| details(figures, study, &format!("{path}/{}", at + 1), one));
        }
        Value::String(words) if words.contains(' ') => {}
        value if value.is_null() || value.is_u64() => {}
        value => keep(figures, study, path.to_owned(), vec![text(value)]),
    }
}

/// The figures of every study, as the program finds them now.
fn found() -> Figures {
    let mut figures = Figures::new();
    for study in STUDIES {
        let opened = Opened::open(study);
        let facts = opened.facts();
        let report: Value = serde_json::from_str(&json::report(&facts, &document(&facts))).unwrap();
        let kept = report["estimates"].as_array().unwrap().iter();
        let kept = kept.filter(|one| !DERIVED.contains(&one["figure"].as_str().unwrap()));
        kept.for_each(|one| estimate(&mut figures, study, one));
        details(&mut figures, study, "details", &report["details"]);
    }
    figures
}

fn written(figures: &Figures) -> String {
    let line = |((study, name), values): (&(String, String), &Vec<String>)| {
        format!("{study}\t{}\t{}\n", text(&name.as_str().into()), values.join("\t").trim_end())
    };
    figures.iter().map(line).collect()
}

fn read(text: &str) -> Figures {
    let figure = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        ((fields.next().unwrap(), fields.next().unwrap()), fields.collect())
    };
    text.lines().map(figure).collect()
}

/// Whether two figures are the same. An end of an interval that is 0 but for rounding is as exact as the interval.
fn is_same(one: &[String], other: &[String]) -> bool {
    let number = |text: &String| text.parse::<f64>().ok();
    let finite = one.iter().chain(other).filter_map(number).filter(|number| number.is_finite());
    let largest = finite.fold(0.0, |most: f64, number| most.max(number.abs()));
    let is_near = |(one, other): (&String, &String)| match (number(one), number(other)) {
        (Some(one), Some(other)) if one.is_finite() && other.is_finite() => {
            (one - other).abs() <= TOLERANCE * largest
        }
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_near)
}

/// What differs, a line each.
fn differences(kept: &Figures, found: &Figures) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, figure) in kept {
        let name = format!("{}: {}", key.0, key.1);
        match found.get(key) {
            None => lines.push(format!("{name}: missing: {}", figure.join(" "))),
            Some(other) if is_same(figure, other) => {}
            Some(other) => lines.push(format!("{name}: {} instead of {}", other.join(" "), figure.join(" "))),
        }
    }
    let new = found.iter().filter(|(key, _)| !kept.contains_key(*key));
    lines.extend(new.map(|(key, figure)| format!("{}: {}: new: {}", key.0, key.1, figure.join(" "))));
    lines
}

#[test]
#[ignore = "laboratory: figures"]
fn smoke_figures_of_all_studies_are_those_that_were_kept() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/frozen/figures.tsv");
    let found = found();
    if std::env::var_os("THREADWISE_WRITE_FIGURES").is_some() {
        std::fs::write(&file, written(&found)).unwrap();
    }
    // Names as the file has them.
    let differences = differences(&read(&std::fs::read_to_string(&file).unwrap()), &read(&written(&found)));
    assert!(
        differences.is_empty(),
        "{} figures differ from {}:\n{}",
        differences.len(),
        file.display(),
        differences.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

#[test]
#[ignore = "laboratory: figures"]
fn a_figure_that_moved_went_or_came_is_a_difference() {
    let kept = read("a\trate\t100\t90\t1e-15\na\tanswer\tlarger\na\tp\t0.5\n");
    assert_eq!(read(&written(&kept)), kept);
    let same = "a\trate\t100.00000000001\t90\t-1e-15\na\tanswer\tlarger\na\tp\t0.5\n";
    assert_eq!(differences(&kept, &read(same)), Vec::<String>::new());
    let other = "a\trate\t100.001\t90\t0\na\tanswer\tsmaller\na\tq\t0.5\n";
    let wanted = [
        "a: answer: smaller instead of larger",
        "a: p: missing: 0.5",
        "a: rate: 100.001 90 0 instead of 100 90 1e-15",
        "a: q: new: 0.5",
    ];
    assert_eq!(differences(&kept, &read(other)), wanted);
    let open = read("a\trate\t100\t90\t\na\tanswer\tlarger\na\tp\t0.5000000001\n");
    assert_eq!(differences(&kept, &open).len(), 2);
}
