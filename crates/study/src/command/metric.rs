//! A metric of a command's output: `UNIT BETTER KIND[+COMBINE][@SOURCE]:PATTERN`.
//!
//! Parses the specification; the engine reads the output. JSON pointers: RFC 6901.

use threadwise_machine::text::is_deceptive;

/// Whether more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub enum Better {
    /// More is better.
    #[serde(rename = "higher-is-better")]
    Higher,
    /// Less is better.
    #[serde(rename = "lower-is-better")]
    Lower,
    /// Neither.
    #[serde(rename = "neither")]
    None,
}

/// How the values of several processes are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Their sum, as for rates.
    Sum,
    /// Their mean, as for latencies.
    Mean,
}

/// Where a metric is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file below the output folder.
    File(String),
}

/// How a metric is found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extract {
    /// A regular expression: the group `value`, or the first group, or the whole match. The last match counts. `^` and
    /// `$` match at line ends.
    Regex(String),
    /// A JSON pointer into the whole text, or else into its last line that is JSON.
    Json(String),
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSpec {
    /// Its name: a small letter, then small letters, digits and `_`.
    pub name: String,
    /// Its unit, without spaces, such as `tx/s`; `1` for none.
    pub unit: String,
    /// Whether more is better.
    pub better: Better,
    /// How the values of several processes are combined: by default the sum if more is better,
    /// the mean otherwise.
    pub combine: Combine,
    /// Where it is read from.
    pub source: Source,
    /// How it is found there.
    pub extract: Extract,
}

/// The form, for messages.
const FORM: &str = "UNIT BETTER KIND:PATTERN, such as tx/s higher regex:tps = ([0-9.]+)";

impl MetricSpec {
    /// Parses a specification. The engine checks a regular expression.
    ///
    /// # Errors
    /// What is wrong with it, and what is allowed.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        check_name(name)?;
        let mut parts = text.trim_start().splitn(3, ' ');
        let (Some(unit), Some(better), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("'{}' is not {FORM}", shown(text)));
        };
        let is_strange = unit.contains(|c: char| c.is_whitespace() || is_deceptive(c));
        if is_strange || !(1..=20).contains(&unit.chars().count()) {
            let unit = shown(unit);
            return Err(format!("the unit '{unit}' is empty, over 20 characters, or has spaces in it"));
        }
        let better = match better {
            "higher" => Better::Higher,
            "lower" => Better::Lower,
            "none" => Better::None,
            other => {
                let allowed = "higher, lower, none (is more better?)";
                return Err(format!("'{}' is not one of: {allowed}; the form is {FORM}", shown(other)));
            }
        };
        let (head, pattern) = rest
            .trim_start()
            .split_once(':')
            .ok_or_else(|| format!("'{}' has no colon: {FORM}", shown(rest)))?;
        let (kind, source) = match head.split_once('@') {
            None => (head, Source::Stdout),
            Some((kind, source)) => (kind, self::source(source)?),
        };
        let (kind, combine) = match kind.split_once('+') {
            None if better == Better::Higher => (kind, Combine::Sum),
            None => (kind, Combine::Mean),
            Some((kind, "sum")) => (kind, Combine::Sum),
            Some((kind, "mean")) => (kind, Combine::Mean),
            Some((_, other)) => return Err(format!("'+{}' is neither +sum nor +mean", shown(other))),
        };
        let extract = match kind {
            "regex" if pattern.is_empty() => return Err("the regular expression is empty".to_owned()),
            "regex" => Extract::Regex(pattern.to_owned()),
            "json" => Extract::Json(pointer(pattern)?),
            other => return Err(format!("'{}' is neither regex nor json; the form is {FORM}", shown(other))),
        };
        Ok(Self { name: name.to_owned(), unit: unit.to_owned(), better, combine, source, extract })
    }

    /// Combines the values of several processes; `None` without values.
    pub fn combine(&self, values: &[f64]) -> Option<f64> {
        let sum: f64 = values.iter().sum();
        match (values.len(), self.combine) {
            (0, _) => None,
            (_, Combine::Sum) => Some(sum),
            (count, Combine::Mean) => Some(sum / count as f64),
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain);
    let form = "must have at most 40 characters of a to z, 0 to 9 and _, and begin with a letter";
    let why = || format!("the metric's name '{}' {form}", shown(name));
    if is_name && name.len() <= 40 { Ok(()) } else { Err(why()) }
}

fn source(text: &str) -> Result<Source, String> {
    match text {
        "stdout" => return Ok(Source::Stdout),
        "stderr" => return Ok(Source::Stderr),
        _ => {}
    }
    let Some(path) = text.strip_prefix("file=") else {
        return Err(format!("'@{}' is not one of: @stdout, @stderr, @file=NAME", shown(text)));
    };
    // Only inside the output folder.
    let inside = |part: &str| !part.is_empty() && part != "." && part != "..";
    match path.split('/').all(inside) && !path.contains('\0') {
        true => Ok(Source::File(path.to_owned())),
        false => Err(format!("'@file={}' is not a name below the output folder", shown(path))),
    }
}

fn pointer(text: &str) -> Result<String, String> {
    let escapes = text.split('~').skip(1).all(|part| part.starts_with(['0', '1']));
    if (text.is_empty() || text.starts_with('/')) && escapes {
        return Ok(text.to_owned());
    }
    Err(format!(
        "'{}' is not a JSON pointer: it begins with /, such as /results/0/tps (~0 is ~, ~1 is /)",
        shown(text)
    ))
}

/// Escapes a text for a one-line message.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    start.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> MetricSpec {
        MetricSpec::parse("m", text).unwrap()
    }

    #[test]
    fn every_part_is_read() {
        let one = spec("tx/s higher regex:tps = ([0-9.]+) : x");
        assert_eq!((one.unit.as_str(), one.better, one.combine), ("tx/s", Better::Higher, Combine::Sum));
        assert_eq!(one.source, Source::Stdout);
        assert_eq!(one.extract, Extract::Regex("tps = ([0-9.]+) : x".into()));
        let two = spec("ms lower json@file=run/a.json:/results/0/avg~1x");
        assert_eq!((two.better, two.combine), (Better::Lower, Combine::Mean));
        assert_eq!(two.source, Source::File("run/a.json".into()));
        assert_eq!(two.extract, Extract::Json("/results/0/avg~1x".into()));
        assert_eq!(spec("tx none json+sum@stderr:").combine, Combine::Sum);
        assert_eq!(spec("1/s higher regex+mean@stdout: a").combine, Combine::Mean);
        assert_eq!(
            spec("1/s higher regex: a").extract,
            Extract::Regex(" a".into()),
            "spaces are the pattern's"
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cases = [
            ("", "is not UNIT"),
            ("tx/s higher", "is not UNIT"),
            ("tx/s more regex:a", "higher, lower, none"),
            ("tx/s higher regexp:a", "neither regex nor json"),
            ("tx/s higher regex", "no colon"),
            ("tx/s higher regex:", "empty"),
            ("tx/s higher regex+max:a", "+sum"),
            ("tx/s higher regex@log:a", "@stderr"),
            ("tx/s higher regex@file=../a:a", "below the output folder"),
            ("tx/s higher regex@file=/a:a", "below the output folder"),
            ("tx/s higher json:a", "JSON pointer"),
            ("tx/s higher json:/a~2", "JSON pointer"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaa higher json:/a", "over 20"),
        ];
        for (text, part) in cases {
            let message = MetricSpec::parse("m", text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
        for name in ["", "Tps", "1a", "a-b", "a b", "ä", &"a".repeat(41)] {
            assert!(MetricSpec::parse(name, "1 none json:/a").is_err(), "{name}");
        }
    }

    #[test]
    fn values_are_combined() {
        assert_eq!(spec("1/s higher json:/a").combine(&[1.0, 4.0]), Some(5.0));
        assert_eq!(spec("ms lower json:/a").combine(&[1.0, 4.0]), Some(2.5));
        assert_eq!(spec("ms lower json:/a").combine(&[]), None);
    }
}
