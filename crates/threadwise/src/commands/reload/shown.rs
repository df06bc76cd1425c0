//! Reports of `reload` as text and as JSON.

use crate::output::json_string as quoted;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use threadwise_machine::text::escaped;
use threadwise_machine::words::bytes;
use threadwise_reload::item::{Outcome, Report};

/// A path on one line.
pub fn path(path: &Path) -> String {
    escaped(&path.display().to_string())
}

/// A text on one line: line breaks are spaces, and other control characters are escaped.
fn one_line(text: &str) -> String {
    path(Path::new(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// A number of things.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::DoneBefore => "done_before",
        Outcome::Skipped(_) => "skipped",
        Outcome::Failed(_) => "failed",
        Outcome::Stopped => "stopped",
    }
}

fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Skipped(why) | Outcome::Failed(why) => Some(why),
        _ => None,
    }
}

/// The result of one file, short enough for progress.
pub fn brief(report: &Report) -> String {
    let word = word(&report.outcome).replace('_', " ");
    format!("{}: {word}, {:.1} s", path(&report.path), report.seconds)
}

/// The result of one file, on one line.
pub fn line(report: &Report) -> String {
    let mut line = match (&report.outcome, report.bytes_after) {
        (Outcome::Done, Some(after)) => format!(
            "{:<11} {:>8.2} s  {:>10} -> {:<10}  ",
            "done",
            report.seconds,
            bytes(report.bytes_before),
            bytes(after)
        ),
        (outcome, _) => format!("{:<11} ", word(outcome).replace('_', " ")),
    };
    line.push_str(&path(&report.path));
    if let Some(why) = reason(&report.outcome) {
        let _ = write!(line, ": {}", one_line(why));
    }
    for warning in &report.warnings {
        let _ = write!(line, "; note: {}", one_line(warning));
    }
    line
}

/// The table and its sum.
pub fn text(reports: &[Report], seconds: f64, engine: &str) -> String {
    let mut text: String = reports.iter().map(|report| line(report) + "\n").collect();
    let number = |wanted: &str| reports.iter().filter(|report| word(&report.outcome) == wanted).count();
    let parts: Vec<String> = ["done", "done_before", "skipped", "failed", "stopped"]
        .into_iter()
        .filter(|name| number(name) > 0 || *name == "done")
        .map(|name| format!("{} {}", number(name), name.replace('_', " ")))
        .collect();
    let done = || reports.iter().filter(|report| report.outcome == Outcome::Done);
    let sizes = match done().count() {
        0 => String::new(),
        _ => format!(
            "; {} -> {}",
            bytes(done().map(|report| report.bytes_before).sum()),
            bytes(done().filter_map(|report| report.bytes_after).sum())
        ),
    };
    let all = count(reports.len(), "file");
    let _ = writeln!(text, "{} of {all} in {seconds:.1} s{sizes}", parts.join(", "));
    if let Some(kept) = reports.iter().find_map(|report| report.kept.as_ref()) {
        let state = match engine {
            threadwise_reload::firebird::NAME => "shut down, so that no client can open them",
            _ => "read-only",
        };
        let _ = writeln!(
            text,
            "originals are kept, {state}, such as {}: remove them, or restore one with\n  \
             threadwise reload --engine {engine} --unseal FILE.before-reload && mv FILE.before-reload FILE",
            path(kept)
        );
    }
    if reports.iter().any(|report| report.left_behind) {
        text.push_str("something is left to restore: threadwise restore FILES\n");
    }
    text
}

/// The same as JSON.
pub fn json(engine: &str, reports: &[Report], seconds: f64) -> String {
    let files: Vec<String> = reports.iter().map(file_json).collect();
    format!(
        "{{\"version\": 1, \"engine\": {}, \"seconds\": {seconds:.3}, \"files\": [{}]}}\n",
        quoted(engine),
        files.join(", ")
    )
}

fn file_json(report: &Report) -> String {
    let number = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
    let text = |value: Option<String>| value.map_or("null".to_owned(), |value| quoted(&value));
    let warnings: Vec<String> = report.warnings.iter().map(|warning| quoted(&one_line(warning))).collect();
    format!(
        "{{\"path\": {}, \"outcome\": {}, \"reason\": {}, \"seconds\": {:.3}, \"bytes_before\": {}, \
         \"bytes_after\": {}, \"tables\": {}, \"rows\": {}, \"original\": {}, \"left_behind\": {}, \
         \"warnings\": [{}]}}",
        quoted(&report.path.to_string_lossy()),
        quoted(word(&report.outcome)),
        text(reason(&report.outcome).map(one_line)),
        report.seconds,
        report.bytes_before,
        number(report.bytes_after),
        number(report.checked.map(|checked| checked.tables)),
        number(report.checked.map(|checked| checked.rows)),
        text(report.kept.as_ref().map(|kept| kept.to_string_lossy().into_owned())),
        report.left_behind,
        warnings.join(", ")
    )
}

/// One line a file: what was done, or why not.
pub fn results(results: &[(PathBuf, Option<String>)], good: &str) -> String {
    let line = |(file, why): &(PathBuf, Option<String>)| match why {
        None => format!("{}: {good}\n", path(file)),
        Some(why) => format!("{}: not: {}\n", path(file), one_line(why)),
    };
    results.iter().map(line).collect()
}

/// The same as one JSON object a line.
pub fn results_json(what: &str, results: &[(PathBuf, Option<String>)], good: &str) -> String {
    let line = |(file, why): &(PathBuf, Option<String>)| {
        let path = quoted(&file.to_string_lossy());
        let (result, reason) = match why {
            None => (quoted(good), "null".to_owned()),
            Some(why) => ("null".to_owned(), quoted(&one_line(why))),
        };
        format!(
            "{{\"version\": 1, \"what\": {}, \"path\": {path}, \"result\": {result}, \"reason\": {reason}}}\n",
            quoted(what)
        )
    };
    results.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_json_and_stay_on_one_line() {
        let text = "a\"b\\c\nd\u{1f}é\u{202e}\u{9b}";
        assert!(!quoted(text).contains(['\u{202e}', '\u{9b}']));
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
        assert_eq!(path(Path::new("a\nb c")), "a\\nb c");
        assert_eq!(one_line("a\n  b\u{1b}"), "a b\\u{1b}");
        assert_eq!([count(0, "file"), count(1, "file")], ["0 files", "1 file"]);
        let broken = [(PathBuf::from("f"), Some("two\nlines".to_owned()))];
        assert_eq!(results(&broken, ""), "f: not: two lines\n");
        assert_eq!(results_json("x", &broken, "").lines().count(), 1);
    }

    fn report(outcome: Outcome, kept: Option<&str>) -> Report {
        Report {
            path: "a".into(),
            outcome,
            seconds: 1.0,
            bytes_before: 2048,
            bytes_after: None,
            checked: None,
            kept: kept.map(PathBuf::from),
            warnings: vec!["of\ntwo lines".to_owned()],
            left_behind: false,
            new: None,
        }
    }

    #[test]
    fn the_sum_says_what_kept_originals_can_do_and_no_size_of_what_was_not_done() {
        let skipped = text(&[report(Outcome::Skipped("in\nuse".to_owned()), None)], 1.0, "sqlite");
        let lines: Vec<_> = skipped.lines().collect();
        let sum = "0 done, 1 skipped of 1 file in 1.0 s";
        assert_eq!(lines, ["skipped     a: in use; note: of two lines", sum]);
        let done = |engine| text(&[report(Outcome::Done, Some("a.before-reload"))], 1.0, engine);
        assert!(done("sqlite").contains("kept, read-only,"), "{}", done("sqlite"));
        assert!(done("firebird").contains("no client can open them"), "{}", done("firebird"));
    }
}
