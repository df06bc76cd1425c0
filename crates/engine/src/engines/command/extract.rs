//! Reading numbers from what a command wrote.
//!
//! Sources: RFC 6901 for JSON pointers; the syntax of regular expressions is that of the crate `regex`,
//! which takes time linear in the text whatever the expression.

use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;
use threadwise_study::command::{Extract, MetricSpec};

/// Builds a metric's regular expression: `^` and `$` match at lines, whose ends may be those of Windows.
///
/// # Errors
/// What is wrong with it.
pub(super) fn expression(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).multi_line(true).crlf(true).build().map_err(|error| {
        // The last line says what is wrong; those before draw where.
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        format!("'{pattern}' is no regular expression: {why}")
    })
}

/// The number that a metric finds in a text.
///
/// # Errors
/// It is not there, or what is there is no number; one line without the metric's name.
pub fn extract(spec: &MetricSpec, text: &str) -> Result<f64, String> {
    match &spec.extract {
        Extract::Regex(pattern) => by_expression(pattern, text),
        Extract::Json(pointer) => by_pointer(pointer, text),
    }
}

fn by_expression(pattern: &str, text: &str) -> Result<f64, String> {
    let found = expression(pattern)?.captures_iter(text).last();
    let group = |found: Captures<'_>| {
        let group = found.name("value").or_else(|| found.get(1)).or_else(|| found.get(0));
        group.map(|group| group.as_str().to_owned())
    };
    let found = found.and_then(group).ok_or_else(|| format!("nothing matches regex:{pattern}"))?;
    number(&found).ok_or_else(|| format!("regex:{pattern} found '{}', which is no number", shown(&found)))
}

fn by_pointer(pointer: &str, text: &str) -> Result<f64, String> {
    let whole = serde_json::from_str::<Value>(text).ok();
    let last = || text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let document =
        whole.or_else(last).ok_or_else(|| "neither the whole of it nor any line is JSON".to_owned())?;
    let found = document.pointer(pointer).ok_or_else(|| format!("there is nothing at json:{pointer}"))?;
    let value = match found {
        Value::Number(value) => value.as_f64().filter(|value| value.is_finite()),
        Value::String(text) => number(text),
        _ => None,
    };
    value.ok_or_else(|| format!("json:{pointer} is '{}', which is no number", shown(&found.to_string())))
}

/// A finite number, which may have commas between its thousands: `-1,234,567.8`. `0,123` is none: its
/// comma is a decimal one.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // The standard library also takes `inf`, `nan` and `infinity`.
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
    fn json_is_the_whole_or_its_last_line() {
        assert_eq!(found("tx/s higher json:/a/0/tps", r#"{"a": [{"tps": 12.5}]}"#), Ok(12.5));
        let lines = "start\n{\"p\": 1}\n{\"p\": \"2,000\"}\nbye\n";
        assert_eq!(found("1 none json:/p", lines), Ok(2000.0));
        assert_eq!(found("1 none json:", "3\n"), Ok(3.0));
        assert_eq!(found("1 none json:/a~1b/~0", r#"{"a/b": {"~": 1}}"#), Ok(1.0));
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert!(found("1 none regex:tps", "").unwrap_err().contains("nothing matches"));
        assert!(found("1 none regex:tps = (.*)", "tps = fast").unwrap_err().contains("'fast'"));
        assert!(found("1 none json:/a", "no").unwrap_err().contains("JSON"));
        assert!(found("1 none json:/b", "{\"a\": 1}").unwrap_err().contains("nothing at"));
        assert!(found("1 none json:/a", "{\"a\": true}").unwrap_err().contains("'true'"));
        assert!(expression("a(").unwrap_err().contains("unclosed group"));
    }
}
