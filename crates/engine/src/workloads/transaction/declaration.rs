//! Lines `-- :NAME …` of a text: parameters and where their values come from, think times, and where a transaction or a
//! file of a mix begins.

use std::path::PathBuf;
use std::time::Duration;

use super::column::{Column, Pinned};
use super::script::{MOST_PAUSE, Think};

/// Greatest weight.
pub(super) const MOST_WEIGHT: u32 = 1_000_000;

/// Longest name of a transaction, characters.
const MOST_NAME: usize = 60;

/// Greatest exponent of a Zipf-like draw: beyond it only the first value comes.
const MOST_EXPONENT: f64 = 1000.0;

/// The begin of a line with which a file begins in a text that has several.
pub(super) const FILE: &str = "-- :file ";

/// Units of time, nanoseconds.
const UNITS: [(&str, u64); 3] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// What a line declares.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Declaration<'a> {
    /// `:NAME LOW..HIGH [zipf S]`.
    Range { name: &'a str, low: i64, high: i64, zipf: Option<f64> },
    /// `:NAME from QUERY`.
    Query { name: &'a str, query: &'a str },
    /// `:NAME in PATH column COLUMN [as text] [zipf S] [(VALUES values, sha256 HASH)]`.
    Csv {
        name: &'a str,
        path: PathBuf,
        column: Column,
        as_text: bool,
        zipf: Option<f64>,
        pinned: Option<Pinned>,
    },
    /// `:NAME FILL IN (TYPE)`, of a draft.
    FillIn { name: &'a str, kind: &'a str },
    /// `:think LOW..HIGH UNIT`, `:think TIME UNIT` or `:think mean TIME UNIT`.
    Think(Think),
    /// `:define NAME NUMBER`, a variable of scripts of pgbench.
    Define { name: &'a str, number: &'a str },
    /// `:transaction NAME [weight N]`.
    Transaction { name: &'a str, weight: Option<u32> },
}

/// What a line declares; `None` if it is another one.
///
/// # Errors
/// It begins as a declaration and is not one.
pub(super) fn read(line: &str) -> Option<Result<Declaration<'_>, String>> {
    let declared = line.trim().strip_prefix("--")?.trim().strip_prefix(':')?;
    let (name, rest) = declared.split_once(char::is_whitespace).unwrap_or((declared, ""));
    let rest = rest.trim();
    let found = match (name, range(name, rest)) {
        // Also of a parameter with the name of a keyword.
        (_, Some(range)) => Some(range),
        ("think", _) => think(rest).map(Declaration::Think),
        ("define", _) => rest.split_once(char::is_whitespace).and_then(|(name, number)| {
            let number = number.trim();
            let is_number = number.parse::<f64>().is_ok_and(f64::is_finite);
            (is_name(name) && is_number).then_some(Declaration::Define { name, number })
        }),
        ("transaction", _) => transaction(rest),
        _ if !is_name(name) => None,
        _ => values(name, rest),
    };
    Some(found.ok_or_else(|| format!("':{declared}' is {}", form(name))))
}

/// What a declaration of this name should be.
fn form(name: &str) -> &'static str {
    match name {
        "think" => "not a think time of at most 60 s, such as -- :think 5..20 ms, or -- :think mean 10 ms",
        "define" => "not a variable with its number, such as -- :define scale 10",
        "transaction" => "not a transaction with its weight, such as -- :transaction pay weight 3",
        _ => {
            "not a parameter with its values, such as -- :id 1..1000, -- :id 1..1000 zipf 1.2, -- :city from SELECT \
             name FROM cities, or -- :city in cities.csv column 2"
        }
    }
}

/// Whether it is a name of a parameter.
pub(super) fn is_name(name: &str) -> bool {
    name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && name.chars().all(|next| next.is_alphanumeric() || next == '_')
}

/// Nanoseconds of a unit of time.
pub(super) fn unit_ns(unit: &str) -> Option<u64> {
    UNITS.into_iter().find(|(name, _)| *name == unit).map(|(_, ns)| ns)
}

/// The text before a suffix ` WORD VALUE`, and that value; the text as it is if it has none.
fn suffix<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    let found = text.rsplit_once(char::is_whitespace).and_then(|(before, value)| {
        let before = before.trim_end().strip_suffix(word)?;
        (before.is_empty() || before.ends_with(char::is_whitespace)).then(|| (before.trim_end(), value))
    });
    found.map_or((text, None), |(before, value)| (before, Some(value)))
}

/// The text before a suffix ` zipf S`, and that exponent; `None` if it is not one.
fn zipf(text: &str) -> Option<(&str, Option<f64>)> {
    match suffix(text, "zipf") {
        (before, None) => Some((before, None)),
        (before, Some(exponent)) => {
            let exponent =
                exponent.parse().ok().filter(|number| *number > 0.0 && *number <= MOST_EXPONENT)?;
            Some((before, Some(exponent)))
        }
    }
}

fn range<'a>(name: &'a str, rest: &str) -> Option<Declaration<'a>> {
    let (rest, zipf) = zipf(rest)?;
    let (low, high) = rest.split_once("..")?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (is_name(name) && low <= high).then_some(Declaration::Range { name, low, high, zipf })
}

fn values<'a>(name: &'a str, rest: &'a str) -> Option<Declaration<'a>> {
    let (word, after) = rest.split_once(char::is_whitespace)?;
    let after = after.trim();
    match word {
        "from" if !after.is_empty() => Some(Declaration::Query { name, query: after }),
        "in" => csv(name, after),
        "FILL" => {
            let kind = after.strip_prefix("IN")?.trim().trim_start_matches('(').trim_end_matches(')');
            Some(Declaration::FillIn { name, kind })
        }
        _ => None,
    }
}

fn csv<'a>(name: &'a str, rest: &str) -> Option<Declaration<'a>> {
    let (rest, pinned) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        None => (rest, None),
        Some((before, inside)) => {
            let (values, sha256) = inside.split_once(" values, sha256 ")?;
            let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            let pinned = Pinned { values: values.parse().ok()?, sha256: sha256.to_owned() };
            (before, is_hash.then_some(Some(pinned))?)
        }
    };
    let (rest, zipf) = zipf(rest.trim())?;
    let (rest, as_text) = rest.strip_suffix(" as text").map_or((rest, false), |rest| (rest.trim_end(), true));
    let (path, column) = rest.rsplit_once(" column ")?;
    let column = column.trim();
    let column = match column.parse() {
        Ok(0) => return None,
        Ok(number) => Column::Number(number),
        Err(_) if column.is_empty() => return None,
        Err(_) => Column::Name(column.trim_matches('"').to_owned()),
    };
    let path = PathBuf::from(path.trim());
    Some(Declaration::Csv { name, path, column, as_text, zipf, pinned })
}

fn transaction(rest: &str) -> Option<Declaration<'_>> {
    let (name, weight) = named(rest)?;
    let is_of = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let is_right = !name.is_empty() && name.chars().count() <= MOST_NAME && name.chars().all(is_of);
    is_right.then_some(Declaration::Transaction { name, weight })
}

/// A name with its weight, if it has one.
pub(super) fn named(text: &str) -> Option<(&str, Option<u32>)> {
    match suffix(text.trim(), "weight") {
        (name, None) => Some((name, None)),
        (name, Some(weight)) => {
            let weight = weight.parse().ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight))?;
            Some((name, Some(weight)))
        }
    }
}

fn think(rest: &str) -> Option<Think> {
    let (time, unit) = rest.rsplit_once(char::is_whitespace)?;
    let unit_ns = unit_ns(unit)?;
    let ns = |number: &str| {
        let ns = number.trim().parse::<u64>().ok()?.checked_mul(unit_ns)?;
        (Duration::from_nanos(ns) <= MOST_PAUSE).then_some(ns)
    };
    if let Some(mean) = time.trim().strip_prefix("mean ") {
        return ns(mean).map(Think::Exponential);
    }
    let (low, high) = time.split_once("..").unwrap_or((time, time));
    let (low_ns, high_ns) = (ns(low)?, ns(high)?);
    (low_ns <= high_ns).then_some(Think::Even([low_ns, high_ns]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_declare_what_they_look_like() {
        let hash = "0".repeat(64);
        let pinned =
            format!("-- :c in /a b/c (1).csv column \"the name\" as text zipf 2 (5 values, sha256 {hash})");
        let csv = |path: &str, column, as_text, zipf, pinned| Declaration::Csv {
            name: "c",
            path: path.into(),
            column,
            as_text,
            zipf,
            pinned,
        };
        for (line, expected) in [
            ("-- :a 1..5", Declaration::Range { name: "a", low: 1, high: 5, zipf: None }),
            (
                "--:a  -1 .. 5  zipf 0.99",
                Declaration::Range { name: "a", low: -1, high: 5, zipf: Some(0.99) },
            ),
            ("-- :think 1..5", Declaration::Range { name: "think", low: 1, high: 5, zipf: None }),
            ("-- :think 1..5 ms", Declaration::Think(Think::Even([1_000_000, 5_000_000]))),
            ("-- :think 7 us", Declaration::Think(Think::Even([7_000, 7_000]))),
            ("-- :think mean 2 s", Declaration::Think(Think::Exponential(2_000_000_000))),
            ("-- :define scale 10", Declaration::Define { name: "scale", number: "10" }),
            ("-- :transaction pay weight 3", Declaration::Transaction { name: "pay", weight: Some(3) }),
            ("-- :transaction look", Declaration::Transaction { name: "look", weight: None }),
            ("-- :transaction weight 3", Declaration::Transaction { name: "", weight: Some(3) }),
            ("-- :c from SELECT 1 FROM t", Declaration::Query { name: "c", query: "SELECT 1 FROM t" }),
            ("-- :c in x.csv column 2", csv("x.csv", Column::Number(2), false, None, None)),
            (
                &pinned,
                csv(
                    "/a b/c (1).csv",
                    Column::Name("the name".into()),
                    true,
                    Some(2.0),
                    Some(Pinned { values: 5, sha256: hash.clone() }),
                ),
            ),
            ("-- :p1 FILL IN (integer)", Declaration::FillIn { name: "p1", kind: "integer" }),
        ] {
            if line == "-- :transaction weight 3" {
                assert!(read(line).unwrap().is_err());
                continue;
            }
            assert_eq!(read(line), Some(Ok(expected)), "{line}");
        }
        for line in ["-- a comment", "SELECT 1", "", "-- a :b 1..2"] {
            assert_eq!(read(line), None, "{line}");
        }
        for (line, part) in [
            ("-- :a", "':a' is not a parameter"),
            ("-- :a 5..1", "not a parameter"),
            ("-- :a 1..5 zipf 0", "not a parameter"),
            ("-- :a 1..5 zipf nan", "not a parameter"),
            ("-- :a from", "not a parameter"),
            ("-- :a in x.csv", "not a parameter"),
            ("-- :a in x.csv column 0", "not a parameter"),
            ("-- :a in x.csv column 1 (x)", "not a parameter"),
            ("-- :think 5", "not a think time"),
            ("-- :think 61 s", "not a think time"),
            ("-- :think 5..1 ms", "not a think time"),
            ("-- :define scale x", "not a variable"),
            ("-- :transaction", "not a transaction"),
            ("-- :transaction a b", "not a transaction"),
            ("-- :transaction a weight 0", "not a transaction"),
        ] {
            let why = read(line).unwrap().unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
