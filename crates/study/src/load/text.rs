//! The text of a resolved study, as the store keeps it: TOML that reads back to the same value. Its form is serde's of
//! [`Study`].

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::Serializer;
use toml::{Table, Value};

use super::source::{LoadError, Source};
use crate::engine::Properties;
use crate::plan::long::MOST_BLOCKS;
use crate::{Comparison, LongWindows, Quota, Stopping, Study};

/// Version of the text format.
const TEXT_VERSION: i64 = 1;

/// Blocks, rounds and sessions are fewer.
const MOST: u32 = 1 << 20;
/// Longest duration: 13 days.
const LONGEST_NS: u64 = (1 << 50) - 1;

/// A resolved study as text; [`from_toml`] reads it back (durations up to 2^63 − 1 ns, which is 292 years).
pub fn to_toml(study: &Study) -> String {
    match Table::try_from(study) {
        Ok(mut table) => {
            table.insert("version".to_owned(), Value::Integer(TEXT_VERSION));
            table.to_string()
        }
        // A longer duration, which no study has; the store refuses a text that does not give the study back.
        Err(error) => format!("# {error}\n"),
    }
}

/// Reads a text that [`to_toml`] wrote.
///
/// # Errors
/// A text of another version or format.
pub fn from_toml(text: &str) -> Result<Study, LoadError> {
    let source = Source { name: "stored study".to_owned(), text: text.to_owned() };
    let refused = |why: String| source.whole(why);
    let mut table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
        source.at_byte(error.span().map_or(0, |span| span.start), error.message())
    })?;
    match table.remove("version") {
        Some(Value::Integer(TEXT_VERSION)) => {}
        None => return Err(refused("missing field 'version'".to_owned())),
        Some(other) => {
            return Err(refused(format!(
                "version is {other}, but this program reads version {TEXT_VERSION}"
            )));
        }
    }
    let study: Study = table.try_into().map_err(|error: toml::de::Error| refused(error.to_string()))?;
    match fault(&study) {
        Some(why) => Err(refused(why)),
        None => Ok(study),
    }
}

/// What a reader could not compute with: a quota or a period of 0 would be a divisor.
fn fault(study: &Study) -> Option<String> {
    let properties = || {
        Some(format!("engine_properties: {}", study.engine_properties.as_ref().and_then(Properties::fault)?))
    };
    let quota = || {
        let Quota { cpus, period_ns, .. } = study.quota?;
        let is_valid = cpus.is_finite() && cpus > 0.0 && period_ns > 0;
        (!is_valid).then(|| format!("quota: {cpus} CPUs in {period_ns} ns is invalid"))
    };
    unsound(study).map(str::to_owned).or_else(properties).or_else(quota)
}

/// A value that would make readers compute with impossible numbers or names.
fn unsound(study: &Study) -> Option<&'static str> {
    let design = &study.design;
    let number = |value: f64| value.is_finite() && value >= 0.0;
    let stopping = match design.stopping {
        Stopping::Budget { budget_s } => number(budget_s),
        Stopping::Until { half_width, budget_s } => number(half_width) && number(budget_s),
        Stopping::Blocks { blocks } => blocks < MOST,
    };
    let mut names = BTreeSet::new();
    let twice = study.treatments.iter().any(|treatment| !names.insert(treatment.name.as_str()));
    let known = |name: &String| names.contains(name.as_str());
    let leads_nowhere = |one: &Comparison| {
        !known(&one.treatment) || one.baseline.is_empty() || !one.baseline.iter().all(known)
    };
    let sessions = study.treatments.iter().any(|treatment| treatment.sessions >= MOST);
    let external = study.external.as_ref().is_none_or(|external| external.is_valid(study.treatments.len()));
    [
        (!(design.level > 0.0 && design.level < 1.0), "confidence level is not between 0 and 1"),
        (!(design.margin > 0.0 && design.margin < 1.0), "margin is not between 0 and 1"),
        (design.rounds >= MOST, "number of rounds is too large"),
        (design.slice_ns.max(design.rewarm_ns.unwrap_or(0)) > LONGEST_NS, "slices are too long"),
        (design.long_windows.is_some_and(is_absurd), "long windows are out of range"),
        (!stopping, "stopping rule is out of range"),
        (sessions, "number of sessions is out of range"),
        (twice, "treatments do not have different names"),
        (study.comparisons.iter().any(leads_nowhere), "comparisons name treatments that it does not have"),
        (!external, "external: invalid arms, boots or blocks"),
    ]
    .into_iter()
    .find_map(|(absurd, what)| absurd.then_some(what))
}

fn is_absurd(long: LongWindows) -> bool {
    long.blocks > MOST_BLOCKS || !(1..=LONGEST_NS).contains(&long.window_ns)
}

/// Writes a value as text: TOML integers end at 2^63 − 1.
pub(crate) fn as_text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
