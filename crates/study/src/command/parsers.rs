//! Parsers for the output of known tools, as data in `studies/parsers/*.toml`.
//!
//! A parser is a set of options of the workload `command`: one `metric.NAME` for each number that the tool prints, and
//! the `headline` that the verdict is about. A tool that runs for a fixed time has its own rate as the headline, since
//! its wall time is fixed. docs/COMMANDS.md has the recipes and says which are tested against the real tool.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::{CAP_PREFIX, FAILS_PREFIX, HEADLINE, METRIC_PREFIX};
use crate::{OptionValue, Options};

/// Name and text of each parser, in display order.
const PARSERS: [(&str, &str); 11] = [
    ("pgbench", include_str!("../../studies/parsers/pgbench.toml")),
    ("pgbench-progress", include_str!("../../studies/parsers/pgbench-progress.toml")),
    ("pgbench-14", include_str!("../../studies/parsers/pgbench-14.toml")),
    ("sysbench", include_str!("../../studies/parsers/sysbench.toml")),
    ("sysbench-memory", include_str!("../../studies/parsers/sysbench-memory.toml")),
    ("sysbench-oltp", include_str!("../../studies/parsers/sysbench-oltp.toml")),
    ("hammerdb", include_str!("../../studies/parsers/hammerdb.toml")),
    ("slob", include_str!("../../studies/parsers/slob.toml")),
    ("ostress", include_str!("../../studies/parsers/ostress.toml")),
    ("sqlcmd", include_str!("../../studies/parsers/sqlcmd.toml")),
    ("worklist", include_str!("../../studies/parsers/worklist.toml")),
];

/// A parser for one tool's output, as its file has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parser {
    /// Name for `--parse`.
    pub name: String,
    /// One line: the tool, and what is read.
    pub about: String,
    /// Versions of the tool whose output has this form.
    pub versions: String,
    /// What it was tested with: the real tool and its version, or sample text only.
    pub tested: String,
    /// A command line that uses it.
    pub example: String,
    /// The metric that the verdict is about; `None` for wall time.
    headline: Option<String>,
    /// What is read, by name.
    metrics: BTreeMap<String, String>,
    /// Regular expressions of output that fails a run, by name.
    #[serde(default)]
    fails: BTreeMap<String, String>,
    /// Ends of the tool's scale, by metric.
    #[serde(default)]
    caps: Options,
}

impl Parser {
    /// Its options of a command: `metric.NAME` for each metric, `fails.NAME`, `cap.METRIC`, and `headline` where it is
    /// not wall time.
    pub fn options(&self) -> Options {
        let text = |text: &String| OptionValue::Text(text.clone());
        let metrics = self.metrics.iter().map(|(name, spec)| (format!("{METRIC_PREFIX}{name}"), text(spec)));
        let fails = self.fails.iter().map(|(name, words)| (format!("{FAILS_PREFIX}{name}"), text(words)));
        let caps = self.caps.iter().map(|(name, cap)| (format!("{CAP_PREFIX}{name}"), cap.clone()));
        let headline = self.headline.iter().map(|name| (HEADLINE.to_owned(), text(name)));
        metrics.chain(fails).chain(caps).chain(headline).collect()
    }
}

/// An unknown or broken parser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParserError {
    /// No parser has this name.
    #[error(
        "there is no parser '{name}': parsers are {known}; for another tool, say what to read with \
         --metric NAME='UNIT BETTER KIND:PATTERN'"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Its built-in file is invalid.
    #[error("the built-in parser '{name}' is broken: {message}")]
    Broken {
        /// The name.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// Names of all parsers, in display order.
pub fn names() -> Vec<&'static str> {
    PARSERS.iter().map(|(name, _)| *name).collect()
}

/// All parsers, in display order.
///
/// # Errors
/// [`ParserError::Broken`].
pub fn all() -> Result<Vec<Parser>, ParserError> {
    PARSERS.iter().map(|(name, text)| read(name, text)).collect()
}

/// The parser of this name.
///
/// # Errors
/// [`ParserError`]: it does not exist, or is broken.
pub fn find(name: &str) -> Result<Parser, ParserError> {
    let known = PARSERS.iter().find(|(known, _)| *known == name);
    let (name, text) =
        known.ok_or_else(|| ParserError::Unknown { name: name.to_owned(), known: names().join(", ") })?;
    read(name, text)
}

fn read(name: &str, text: &str) -> Result<Parser, ParserError> {
    let broken = |message: String| ParserError::Broken { name: name.to_owned(), message };
    let parser: Parser = toml::from_str(text).map_err(|error| broken(error.message().to_owned()))?;
    if parser.name != name {
        return Err(broken(format!("its name is '{}'", parser.name)));
    }
    match parser.headline.as_ref().filter(|headline| !parser.metrics.contains_key(*headline)) {
        Some(headline) => Err(broken(format!("its headline '{headline}' is not one of its metrics"))),
        None => Ok(parser),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'x'\nabout = 'a'\nversions = 'v'\ntested = 't'\nexample = 'e'\n\
                        headline = 'rate'\n[metrics]\nrate = '1/s higher regex:([0-9.]+)'\n";

    fn refused(text: &str) -> String {
        read("x", text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_becomes_options() {
        let parser = read("x", GOOD).unwrap();
        let text = |text: &str| OptionValue::Text(text.to_owned());
        assert_eq!(parser.options()["metric.rate"], text("1/s higher regex:([0-9.]+)"));
        assert_eq!(parser.options()["headline"], text("rate"));
        assert_eq!((parser.name.as_str(), parser.options().len()), ("x", 2));
    }

    #[test]
    fn what_is_broken_is_named() {
        assert!(refused("name = ").contains("the built-in parser 'x' is broken"));
        assert!(refused(&GOOD.replace("'a'", "1")).contains("invalid type: integer `1`, expected a string"));
        assert!(refused(&GOOD.replace("name = 'x'", "name = 'y'")).contains("its name is 'y'"));
        assert!(refused(&GOOD.replace("'rate'", "'speed'")).contains("'speed' is not one of its metrics"));
        assert!(refused(&GOOD.replace("'v'\n", "'v'\nmore = 1\n")).contains("unknown field `more`"));
        assert!(refused(&GOOD.replace("'1/s higher regex:([0-9.]+)'", "1")).contains("expected a string"));
        let (head, _) = GOOD.split_once("headline").unwrap();
        assert!(refused(head).contains("missing field `metrics`"));
    }
}
