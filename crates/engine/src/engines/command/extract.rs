//! Reading metrics from a command's output.
//!
//! Sources: RFC 6901 for JSON pointers; the syntax of regular expressions is that of the crate `regex`,
//! which takes time linear in the text whatever the expression.

use super::output::{self, SIZES, Sizes};
use regex::{Regex, RegexBuilder};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::ops::Range;
use std::path::Path;
use threadwise_machine::given;
use threadwise_machine::text::one_line;
use threadwise_study::command::{Extract, MetricSpec};

/// Longest text that is read as a whole for JSON; of a longer one, this much of its end is searched by lines.
const JSON_BYTES: u64 = 16 << 20;

/// Most bytes of a compiled expression, and most of its groups: a search keeps a place for each group in each
/// state, so that many groups in a long expression take gigabytes.
const EXPRESSION_BYTES: usize = 1 << 20;
const MOST_GROUPS: usize = 16;

/// Compiles a metric's regular expression: `^` and `$` match at lines, which may end as on Windows.
///
/// # Errors
/// What is wrong with it.
pub(super) fn expression(pattern: &str) -> Result<Regex, String> {
    let shown = one_line(pattern, 80);
    let built = RegexBuilder::new(pattern).multi_line(true).crlf(true).size_limit(EXPRESSION_BYTES).build();
    let expression = built.map_err(|error| {
        // The last line gives the fault; those before draw its position.
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        format!("'{shown}' is not a regular expression: {why}")
    })?;
    match expression.captures_len() - 1 {
        groups if groups > MOST_GROUPS => Err(format!(
            "'{shown}' has {groups} groups, and at most {MOST_GROUPS} are allowed: write (?:…) for groups whose text \
             is not needed"
        )),
        _ => Ok(expression),
    }
}

/// The number that a metric finds in a text.
///
/// # Errors
/// It is not there, or is not a number; one line without the metric's name.
pub fn extract(spec: &MetricSpec, text: &str) -> Result<f64, String> {
    match &spec.extract {
        Extract::Regex(pattern) => by_expression(pattern, text),
        Extract::Json(pointer) => by_pointer(pointer, text),
    }
}

/// The number that a metric finds in a file. For a regular expression, one piece of the file is in memory at a
/// time, and a match ends at most as far behind its piece as [`SIZES`] says.
///
/// # Errors
/// As [`extract`]; or it cannot be read.
pub(super) fn extract_file(spec: &MetricSpec, path: &Path, limit_bytes: u64) -> Result<f64, String> {
    let unread = |error: io::Error| format!("it cannot be read: {error}");
    let mut file = given::open(path).map_err(unread)?;
    match &spec.extract {
        Extract::Regex(pattern) => {
            let found = last_of(&expression(pattern)?, &mut file, SIZES).map_err(unread)?;
            matched(pattern, found)
        }
        Extract::Json(pointer) => pointed(pointer, document_of(&mut file, limit_bytes).map_err(unread)?),
    }
}

/// The line of a file that an expression matches; `None` if there is none.
///
/// # Errors
/// The expression is invalid, or the file cannot be read.
pub(super) fn mark_in_file(pattern: &str, path: &Path) -> Result<Option<String>, String> {
    let expression = expression(pattern)?;
    let unread = |error: io::Error| format!("it cannot be read: {error}");
    let mut file = given::open(path).map_err(unread)?;
    output::from_the_end(&mut file, SIZES, |text, piece| marked_line(&expression, text, piece.start))
        .map_err(unread)
}

/// The line of a text that an expression matches; `None` if there is none.
///
/// # Errors
/// The expression is invalid.
pub fn mark(pattern: &str, text: &str) -> Result<Option<String>, String> {
    Ok(marked_line(&expression(pattern)?, text, 0))
}

fn marked_line(expression: &Regex, text: &str, from: usize) -> Option<String> {
    let found = expression.find_at(text, from)?;
    let begin = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
    let end = text[found.start()..].find('\n').map_or(text.len(), |at| found.start() + at);
    Some(one_line(&text[begin..end], 120))
}

fn by_expression(pattern: &str, text: &str) -> Result<f64, String> {
    matched(pattern, last_in(&expression(pattern)?, text, 0..text.len()))
}

fn matched(pattern: &str, found: Option<String>) -> Result<f64, String> {
    let found = found.ok_or_else(|| format!("nothing matches regex:{pattern}"))?;
    number(&found).ok_or_else(|| {
        let why = if is_too_large(&found) { "is too large a number" } else { "is not a number" };
        format!("regex:{pattern} found '{}', which {why}", shown(&found))
    })
}

/// The value of the last match in a file.
fn last_of(expression: &Regex, file: &mut (impl Read + Seek), sizes: Sizes) -> io::Result<Option<String>> {
    output::from_the_end(file, sizes, |text, piece| last_in(expression, text, piece))
}

/// The value of the last match that begins in a range of a text: its group `value`, or the first group, or the
/// whole match.
fn last_in(expression: &Regex, text: &str, within: Range<usize>) -> Option<String> {
    let mut last = None;
    let mut at = within.start;
    while let Some(found) = expression.find_at(text, at) {
        // The end of a text is in its last piece.
        if found.start() > within.end || found.start() == within.end && within.end < text.len() {
            break;
        }
        // After a match, an empty match at its end does not count.
        if !found.is_empty() || last.is_none_or(|(_, end)| found.end() > end) {
            last = Some((found.start(), found.end()));
        }
        at = found.end();
        if found.is_empty() {
            let Some(next) = text[at..].chars().next() else { break };
            at += next.len_utf8();
        }
    }
    let found = expression.captures_at(text, last?.0)?;
    let group = found.name("value").or_else(|| found.get(1)).or_else(|| found.get(0))?;
    Some(group.as_str().to_owned())
}

fn by_pointer(pointer: &str, text: &str) -> Result<f64, String> {
    pointed(pointer, document(text))
}

fn document(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| last_document(text))
}

/// The last object or array that begins at the beginning of a line and ends at the end of one. One inside another
/// does not count, and nothing after one without an end does: its lines would be taken for whole documents.
fn last_document(text: &str) -> Option<Value> {
    let mut last = None;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line_end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let mut next = line_end;
        if rest.starts_with(['{', '[']) {
            let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match documents.next() {
                Some(Ok(found)) => {
                    let end = documents.byte_offset();
                    let after = rest[end..].split('\n').next().unwrap_or_default();
                    if after.trim().is_empty() {
                        last = Some(found);
                        next = end + after.len() + 1;
                    }
                }
                // `[info] …` is a line of text; one that ends before its time was cut off.
                Some(Err(error)) if error.is_eof() => return None,
                _ => {}
            }
        }
        at += next;
    }
    last
}

/// The JSON document that a file is, or the last one in it: of a long file in its last 16 MiB.
fn document_of(file: &mut File, limit_bytes: u64) -> io::Result<Option<Value>> {
    let length = file.metadata()?.len();
    if length <= JSON_BYTES {
        return output::text(file, JSON_BYTES).map(|text| document(&text));
    }
    if length <= limit_bytes {
        // Lines that are not one document are reported at the second of them.
        file.rewind()?;
        let whole = serde_json::from_reader(BufReader::new(&mut *file));
        if let Ok(whole) = whole {
            return Ok(Some(whole));
        }
    }
    output::last_text(file, JSON_BYTES).map(|text| last_document(&text))
}

fn pointed(pointer: &str, document: Option<Value>) -> Result<f64, String> {
    let document = document
        .ok_or_else(|| "it is not JSON, and no line of it begins a complete object or array".to_owned())?;
    let found = document.pointer(pointer).ok_or_else(|| format!("there is nothing at json:{pointer}"))?;
    let value = match found {
        Value::Number(value) => value.as_f64().filter(|value| value.is_finite()),
        Value::String(text) => number(text),
        _ => None,
    };
    value.ok_or_else(|| format!("json:{pointer} is '{}', which is not a number", shown(&found.to_string())))
}

/// Whether digits are a number too large for a double (1.8e308).
fn is_too_large(text: &str) -> bool {
    let text = text.trim();
    text.contains(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// A finite number, which may have commas between its thousands: `-1,234,567.8`. Not `0,123`, whose comma is
/// a decimal one.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // The standard library also accepts `inf`, `nan` and `infinity`.
    let plain = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    if let Some(value) = plain(text) {
        return Some(value);
    }
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.strip_prefix('-').unwrap_or(whole).split(',');
    let is_first = |group: &str| (1..=3).contains(&group.len()) && digits(group) && !group.starts_with('0');
    let first = groups.next().is_some_and(is_first);
    let grouped = first && groups.all(|group| group.len() == 3 && digits(group));
    (grouped && fraction.is_none_or(|rest| !rest.is_empty() && digits(rest)))
        .then(|| plain(&text.replace(',', "")))
        .flatten()
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    start.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &str, text: &str) -> Result<f64, String> {
        extract(&MetricSpec::parse("m", spec).unwrap(), text)
    }

    #[test]
    fn an_expression_has_a_limit_of_groups_and_size() {
        assert!(expression(&"(a)".repeat(MOST_GROUPS)).is_ok());
        let why = expression(&"latency.*?([0-9.]+)".repeat(5_000)).unwrap_err();
        assert!(why.len() < 300 && (why.contains("5000 groups") || why.contains("size limit")), "{why}");
        assert!(expression(&"(a)".repeat(MOST_GROUPS + 1)).unwrap_err().contains("17 groups"));
    }

    #[test]
    fn the_last_match_counts_and_the_group_named_value_first() {
        let text = "tps = 1.5\r\nx tps = 9\ntps = 2.5e3 (x)\n";
        assert_eq!(found("tx/s higher regex:^tps = ([0-9.e]+)", text), Ok(2500.0));
        assert_eq!(found("tx/s higher regex:^tps = ([0-9.]+)$", text), Ok(1.5), "ends of Windows' lines");
        assert_eq!(found("tx/s higher regex:(x) tps = (?<value>[0-9]+)", text), Ok(9.0));
        assert_eq!(found("1 none regex:[0-9]+$", "a 1\nb 2"), Ok(2.0), "no group");
    }

    #[test]
    fn numbers_may_have_thousands_separators() {
        for (text, value) in [("1,234", 1234.0), ("-12,345,678.25", -12_345_678.25), (" 5 ", 5.0), ("0", 0.0)]
        {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "1,23", "0,123", "1234,567", ",123", "1,2345", "1.234,5", "inf", "NaN", "", "1m2", "1,234.",
            "1e999",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn json_is_the_whole_or_the_last_document() {
        assert_eq!(found("tx/s higher json:/a/0/tps", r#"{"a": [{"tps": 12.5}]}"#), Ok(12.5));
        let lines = "start\n{\"p\": 1}\n{\"p\": \"2,000\"}\nbye\n";
        assert_eq!(found("1 none json:/p", lines), Ok(2000.0));
        assert_eq!(found("1 none json:", "3\n"), Ok(3.0));
        assert_eq!(found("1 none json:/a~1b/~0", r#"{"a/b": {"~": 1}}"#), Ok(1.0));
    }

    #[test]
    fn what_lies_inside_of_a_document_is_never_taken_for_one() {
        // fio#731 and kin: words before a document of many lines, of which one is JSON by itself.
        let whole = "{\n  \"tps\": 100,\n  \"runs\": [\n    {\"tps\": 90},\n    {\"tps\": 110}\n  ]\n}\n";
        let twice = format!("{whole}{}", whole.replace("100", "200"));
        let flat = "{\n\"tps\": 100,\n\"runs\":\n[\n{\"tps\": 90}\n]\n}";
        for (text, tps) in [
            (whole.to_owned(), 100.0),
            (format!("warning: no cgroups\n{whole}"), 100.0),
            (format!("[info] begins\n{whole}done: 2\n2\n"), 100.0),
            (twice.clone(), 200.0),
            (format!("{twice}\r\n{{\"tps\": 300}}\r\n"), 300.0),
            (format!("note\n{flat}\n"), 100.0),
        ] {
            assert_eq!(found("1/s higher json:/tps", &text), Ok(tps), "{text}");
        }
        let cut = &twice[..twice.len() - 3];
        for text in [cut, "x\n3\n", "x\n  {\"tps\": 1}\n", "x\n{\"tps\": 1} and more\n", "x\n[warn] 1\n"] {
            let why = found("1/s higher json:/tps", text).unwrap_err();
            assert!(why.contains("no line of it begins a complete object or array"), "{why}: {text}");
        }
    }

    #[test]
    fn pieces_say_what_the_whole_says() {
        let text = "x\r\ntps = 1 \u{e4}\r\n\nTOTAL\r\n 17\nlast = 5 tps = 6\nend\n";
        let patterns = [
            "^tps = ([0-9]+)",
            "tps = ([0-9]+)$",
            "tps = ([0-9]+)",
            "TOTAL\\s+([0-9]+)",
            "\\Ax",
            "\\Atps",
            "[0-9]+",
            "[0-9]*",
            "^",
            "$",
            "\\bt",
            "\\Bt",
            "nd$",
            "\\u{e4}",
            "",
            "(?s)x.*?(?<value>[0-9])",
            "zz",
            "^ps",
            "^(?:x|tps.*|)$",
            "d\\n\\z",
        ];
        for pattern in patterns {
            let regex = expression(pattern).unwrap();
            let plain = regex.captures_iter(text).last().map(|captures| {
                let group = captures.name("value").or_else(|| captures.get(1)).or_else(|| captures.get(0));
                group.unwrap().as_str().to_owned()
            });
            assert_eq!(last_in(&regex, text, 0..text.len()), plain, "{pattern}");
            for piece_bytes in 1..60 {
                let sizes = Sizes { piece_bytes, behind_bytes: 60 };
                let found = last_of(&regex, &mut io::Cursor::new(text), sizes).unwrap();
                // Where a character is cut, it is not found.
                if plain.as_deref() != Some("\u{e4}") || piece_bytes > 13 {
                    assert_eq!(found, plain, "{pattern}, pieces of {piece_bytes}");
                }
            }
        }
    }

    #[test]
    fn a_long_file_is_read_from_its_end() {
        use std::os::unix::fs::FileExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let file = File::create(&path).unwrap();
        let length = JSON_BYTES * 2;
        file.write_all_at(b"tps = 5\n{\"p\": 1}\n", 0).unwrap();
        let end = b"\n{\"p\": 2}\nbye\n";
        file.write_all_at(end, length - end.len() as u64).unwrap();
        let read = |spec: &str| extract_file(&MetricSpec::parse("m", spec).unwrap(), &path, length);
        // Between both is a line of 32 MiB.
        assert_eq!(read("1 none regex:^tps = ([0-9]+)$"), Ok(5.0));
        assert_eq!(read("1 none json:/p"), Ok(2.0));
        assert!(read("1 none regex:^ps = ([0-9]+)").unwrap_err().contains("nothing matches"));
        // A whole document, with lines that are JSON by themselves.
        let lines = "1,\n".repeat((JSON_BYTES / 3) as usize + 1);
        std::fs::write(&path, format!("{{\"a\": [\n{lines}2\n], \"p\":\n7}}\n")).unwrap();
        assert_eq!(read("1 none json:/p"), Ok(7.0));
        assert!(read("1 none json:/q").unwrap_err().contains("nothing at"));
        std::fs::remove_file(&path).unwrap();
        assert!(read("1 none json:/q").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert!(found("1 none regex:(.+)", "1.8e308").unwrap_err().ends_with("which is too large a number"));
        assert_eq!(found("1 none regex:(.+)", "1.7e308"), Ok(1.7e308));
        assert!(found("1 none regex:tps", "").unwrap_err().contains("nothing matches"));
        assert!(found("1 none regex:tps = (.*)", "tps = fast").unwrap_err().contains("'fast'"));
        assert!(found("1 none json:/a", "no").unwrap_err().contains("JSON"));
        assert!(found("1 none json:/b", "{\"a\": 1}").unwrap_err().contains("nothing at"));
        assert!(found("1 none json:/a", "{\"a\": true}").unwrap_err().contains("'true'"));
        assert!(expression("a(").unwrap_err().contains("unclosed group"));
    }
}
