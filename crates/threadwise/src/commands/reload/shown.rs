//! Reports of `reload` as text and as JSON.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use threadwise_reload::item::{Outcome, Report};

/// A path on one line.
pub fn path(path: &Path) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    path.display().to_string().chars().map(shown).collect()
}

/// Bytes with a unit.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            let digits = usize::from(unit != "B" && value < 100.0);
            return format!("{value:.digits$} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
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

/// What became of one file, in as few words as progress has room for.
pub fn brief(report: &Report) -> String {
    let word = word(&report.outcome).replace('_', " ");
    format!("{}: {word}, {:.1} s", path(&report.path), report.seconds)
}

/// What became of one file, on one line.
pub fn line(report: &Report) -> String {
    let mut line = match (&report.outcome, report.bytes_after) {
        (Outcome::Done, Some(after)) => format!(
            "{:<11} {:>8.2} s  {:>9} -> {:<9}  ",
            "done",
            report.seconds,
            bytes(report.bytes_before),
            bytes(after)
        ),
        (outcome, _) => format!("{:<11} ", word(outcome).replace('_', " ")),
    };
    line.push_str(&path(&report.path));
    if let Some(why) = reason(&report.outcome) {
        let _ = write!(line, ": {}", why.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    for warning in &report.warnings {
        let _ = write!(line, "; note: {warning}");
    }
    line
}

/// The table and its sum.
pub fn text(reports: &[Report], seconds: f64, engine: &str) -> String {
    let mut text: String = reports.iter().map(|report| line(report) + "\n").collect();
    let count = |wanted: &str| reports.iter().filter(|report| word(&report.outcome) == wanted).count();
    let parts: Vec<String> = ["done", "done_before", "skipped", "failed", "stopped"]
        .into_iter()
        .filter(|name| count(name) > 0 || *name == "done")
        .map(|name| format!("{} {}", count(name), name.replace('_', " ")))
        .collect();
    let done = || reports.iter().filter(|report| report.outcome == Outcome::Done);
    let before = done().map(|report| report.bytes_before).sum();
    let after = done().filter_map(|report| report.bytes_after).sum();
    let _ = writeln!(
        text,
        "{} of {} files in {seconds:.1} s; {} -> {}",
        parts.join(", "),
        reports.len(),
        bytes(before),
        bytes(after)
    );
    if let Some(kept) = reports.iter().find_map(|report| report.kept.as_ref()) {
        let _ = writeln!(
            text,
            "originals are kept, read-only, such as {}: remove them, or get one back with\n  \
             threadwise reload --engine {engine} --unseal FILE.before-reload && mv FILE.before-reload FILE",
            path(kept)
        );
    }
    if reports.iter().any(|report| report.left_behind) {
        text.push_str("something is left to put back: threadwise reload --recover FILES\n");
    }
    text
}

/// The same for programs.
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
    let warnings: Vec<String> = report.warnings.iter().map(|warning| quoted(warning)).collect();
    format!(
        "{{\"path\": {}, \"outcome\": {}, \"reason\": {}, \"seconds\": {:.3}, \"bytes_before\": {}, \
         \"bytes_after\": {}, \"tables\": {}, \"rows\": {}, \"original\": {}, \"left_behind\": {}, \
         \"warnings\": [{}]}}",
        quoted(&report.path.to_string_lossy()),
        quoted(word(&report.outcome)),
        text(reason(&report.outcome).map(str::to_owned)),
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
        Some(why) => format!("{}: not: {why}\n", path(file)),
    };
    results.iter().map(line).collect()
}

/// The same as one JSON object a line.
pub fn results_json(what: &str, results: &[(PathBuf, Option<String>)], good: &str) -> String {
    let line = |(file, why): &(PathBuf, Option<String>)| {
        let path = quoted(&file.to_string_lossy());
        let (result, reason) = match why {
            None => (quoted(good), "null".to_owned()),
            Some(why) => ("null".to_owned(), quoted(why)),
        };
        format!(
            "{{\"version\": 1, \"what\": {}, \"path\": {path}, \"result\": {result}, \"reason\": {reason}}}\n",
            quoted(what)
        )
    };
    results.iter().map(line).collect()
}

/// A JSON string (RFC 8259, 7).
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_json_and_sizes_have_units() {
        let text = "a\"b\\c\nd\u{1f}é";
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
        assert_eq!(path(Path::new("a\nb c")), "a\\nb c");
        let shown = [0, 1023, 1024, 150 << 10, 5 << 30, 3 << 40].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "150 KiB", "5.0 GiB", "3.0 TiB"]);
    }
}
