//! The text of a resolved study, as the store keeps it: TOML that reads back to the same value. Its form is serde's of
//! [`Study`].

use std::fmt::Display;

use serde::Serializer;
use toml::{Table, Value};

use super::source::{LoadError, Source};
use crate::engine::Properties;
use crate::study::MARGIN;
use crate::{Quota, Study};

/// Version of the text format.
const TEXT_VERSION: i64 = 1;

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
    today(&mut table);
    let study: Study = table.try_into().map_err(|error: toml::de::Error| refused(error.to_string()))?;
    match fault(&study) {
        Some(why) => Err(refused(why)),
        None => Ok(study),
    }
}

/// Moves what texts had elsewhere before version 0.1: the rule of stopping was the name of a table, and engine options
/// and the device of an instance lay in its treatment. Older ones have no margin, and a half-width that nothing uses.
fn today(table: &mut Table) {
    if let Some(Value::Table(design)) = table.get_mut("design") {
        design.remove("target_half_width");
        design.entry("margin").or_insert(Value::Float(MARGIN));
        if let Some(Value::Table(stopping)) = design.get_mut("stopping")
            && let Some((rule, Value::Table(parts))) = stopping.clone().into_iter().next()
        {
            *stopping = parts;
            stopping.insert("kind".to_owned(), Value::String(rule));
        }
    }
    let treatments = table.get_mut("treatment").and_then(Value::as_array_mut);
    for treatment in treatments.into_iter().flatten().filter_map(Value::as_table_mut) {
        let parts = [("engine_options", "options"), ("device", "device")];
        let moved: Table = parts
            .iter()
            .filter_map(|(old, new)| Some(((*new).to_owned(), treatment.remove(*old)?)))
            .collect();
        if !moved.is_empty() {
            treatment.insert("instance".to_owned(), Value::Table(moved));
        }
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
    let external = || {
        let is_valid = study.external.as_ref()?.is_valid(study.treatments.len());
        (!is_valid).then(|| "external: invalid arms, boots or blocks".to_owned())
    };
    properties().or_else(quota).or_else(external)
}

/// Writes a value as text: TOML integers end at 2^63 − 1.
pub(crate) fn as_text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
