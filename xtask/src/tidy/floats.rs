//! Numbers become text in one module, so that terminal, page and charts show the same digits: no format string
//! elsewhere has a precision or an exponent.
//!
//! Source: the syntax of `std::fmt`. Whether a `{}` is given a float cannot be seen without types.

use super::Violation;
use super::source::{SourceFile, is_place, line_of};

/// Crates whose output people read.
const PLACES: [&str; 4] =
    ["crates/analysis/src/", "crates/document/src/", "crates/report/src/", "crates/threadwise/src/"];

/// Places where numbers become text, with the reason.
const ALLOWED: [(&str, &str); 3] = [
    ("crates/document/src/numbers.rs", "the module that all others use"),
    ("crates/report/src/csv.rs", "columns for programs, whose decimals are part of a contract"),
    (
        "crates/threadwise/src/commands/reload/shown.rs",
        "seconds of a reload in a column and in JSON: no study, nothing beside it to agree with",
    ),
];

/// Format strings with a precision or an exponent.
pub fn check(file: &SourceFile<'_>) -> Vec<Violation> {
    let is_in = |places: &[&str]| places.iter().any(|place| is_place(file.path, place));
    if !is_in(&PLACES) || is_in(&ALLOWED.map(|(place, _)| place)) {
        return Vec::new();
    }
    let what = |placeholder: &str| {
        format!(
            "{{{placeholder}}} writes a float: use document::numbers, which has the digits of all reports"
        )
    };
    let found = placeholders(&file.shipped_strings());
    let found = found.into_iter().filter(|(_, placeholder)| is_of_float(placeholder));
    found
        .map(|(at, placeholder)| Violation::new(file.path, line_of(file.text, at), what(&placeholder)))
        .collect()
}

/// What stands between braces, with its place: `name:spec`.
fn placeholders(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let rest = &text[at + 1..];
        // Two braces are an escaped one.
        from = at + if rest.starts_with('{') { 2 } else { 1 };
        let end = rest.find(['{', '}', '"', '\n']);
        if let Some(end) = end.filter(|end| rest[*end..].starts_with('}')) {
            found.push((at, rest[..end].to_owned()));
        }
    }
    found
}

/// Whether `name:spec` has a precision (`.3`, `.*`, `.digits$`) or asks for an exponent.
fn is_of_float(placeholder: &str) -> bool {
    let Some((name, spec)) = placeholder.split_once(':') else { return false };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    // `{:.<9}` fills with dots.
    let spec = spec.strip_prefix(['.']).filter(|rest| rest.starts_with(['<', '^', '>'])).unwrap_or(spec);
    let is_spec = !spec.contains(char::is_whitespace);
    is_name && is_spec && (spec.contains('.') || matches!(spec.chars().next_back(), Some('e' | 'E')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&SourceFile::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn precisions_and_exponents_are_found() {
        for placeholder in
            ["{:.2}", "{x:.*}", "{0:.decimals$}", "{:>8.2}", "{:+.1e}", "{value:e}", "{:.prec$?}"]
        {
            let text = format!("fn f() {{\n    g(\"a {placeholder} b\");\n}}\n");
            assert_eq!(lines("crates/report/src/a.rs", &text), [2], "{placeholder}");
        }
    }

    #[test]
    fn other_placeholders_are_not() {
        for placeholder in
            ["{}", "{x}", "{:>8}", "{x:width$}", "{:02x}", "{:?}", "{:.<9}", "{{:.2}} said", "{ a: 1.5 }"]
        {
            let text = format!("fn f() {{ g(\"a {placeholder} b\"); }}\n");
            assert!(lines("crates/report/src/a.rs", &text).is_empty(), "{placeholder}");
        }
        assert!(lines("crates/report/src/a.rs", "// {:.2}\nconst A: B = B { x: 1.5 };\n").is_empty());
    }

    #[test]
    fn the_module_of_numbers_tests_and_other_crates_are_free() {
        let text = "fn f() { g(\"{:.2}\"); }\n";
        for path in [
            "crates/document/src/numbers.rs",
            "crates/report/src/csv.rs",
            "crates/report/tests/a.rs",
            "crates/probe/src/a.rs",
        ] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() { g(\"{:.2}\") }\n}\n";
        assert!(lines("crates/report/src/a.rs", tests).is_empty());
        assert_eq!(lines("crates/threadwise/src/a.rs", text), [1]);
    }
}
