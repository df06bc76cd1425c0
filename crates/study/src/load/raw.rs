//! The study definition as written: what serde reads, with the position of each value.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::error::{LoadError, Source};
use crate::command::METRIC_PREFIX;
use crate::worklist::{RECIPE, RECIPE_STORED};
use crate::{OptionValue, Options, Workload};

/// Version of the study definition format.
pub const FILE_VERSION: i64 = 1;

/// Options with their positions.
pub(super) type RawOptions = BTreeMap<String, Spanned<Value>>;

/// A whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStudy {
    #[serde(rename = "version")]
    pub _version: i64,
    pub name: Spanned<String>,
    pub title: Option<String>,
    pub engine: Spanned<String>,
    #[serde(default)]
    pub engine_options: RawOptions,
    pub workload: Spanned<Workload>,
    pub seed: Option<u64>,
    #[serde(default)]
    pub options: RawOptions,
    #[serde(default)]
    pub factors: BTreeMap<String, Spanned<Vec<Spanned<Value>>>>,
    #[serde(default)]
    pub design: RawDesign,
    #[serde(default)]
    pub baseline: RawBaseline,
    #[serde(default, rename = "treatment")]
    pub treatments: Vec<RawTreatment>,
    pub sweep: Option<RawSweep>,
    pub dop: Option<RawDop>,
    pub jobs: Option<RawJobs>,
    pub external: Option<RawExternal>,
    #[serde(default, rename = "comparison")]
    pub comparisons: Vec<RawComparison>,
}

/// `[design]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDesign {
    pub rounds: Option<Spanned<u32>>,
    pub slice_ms: Option<Spanned<f64>>,
    pub rewarm_ms: Option<Spanned<f64>>,
    pub level: Option<Spanned<f64>>,
    pub margin: Option<Spanned<f64>>,
    pub budget_s: Option<Spanned<f64>>,
    pub until: Option<Spanned<f64>>,
    pub blocks: Option<Spanned<u32>>,
    pub long_windows: Option<Spanned<u32>>,
    pub long_window_s: Option<Spanned<f64>>,
}

/// `[baseline]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBaseline {
    pub name: Option<Spanned<String>>,
    pub placement: Option<Spanned<String>>,
    pub sessions: Option<Spanned<u32>>,
    pub pin: Option<Spanned<String>>,
    pub memory: Option<Spanned<String>>,
    pub service: Option<Spanned<String>>,
    #[serde(default)]
    pub set: RawOptions,
}

/// `[[treatment]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTreatment {
    pub name: Option<Spanned<String>>,
    pub placement: Spanned<String>,
    pub sessions: Option<Spanned<u32>>,
    pub pin: Option<Spanned<String>>,
    pub memory: Option<Spanned<String>>,
    pub service: Option<Spanned<String>>,
    #[serde(default)]
    pub set: RawOptions,
    #[serde(default)]
    pub optional: bool,
}

/// `[sweep]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSweep {
    pub order: Option<Spanned<Value>>,
    pub sessions: Option<Spanned<Value>>,
    pub past: Option<Spanned<f64>>,
    pub pin: Option<Spanned<String>>,
    pub max_logical_cpus: Option<u32>,
    #[serde(default)]
    pub only: RawOptions,
}

/// `[dop]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDop {
    pub placements: Spanned<Vec<Spanned<String>>>,
    pub levels: Option<Spanned<Value>>,
    pub streams: Option<Spanned<Value>>,
}

/// `[jobs]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJobs {
    pub placements: Spanned<Vec<Spanned<String>>>,
    pub levels: Option<Spanned<Value>>,
}

/// `[external]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExternal {
    pub arms: Spanned<Vec<Spanned<String>>>,
    pub boots: Option<Spanned<u32>>,
    pub blocks: Option<Spanned<u32>>,
    #[serde(default)]
    pub expect: BTreeMap<Spanned<String>, RawExpect>,
    #[serde(default)]
    pub switch: BTreeMap<Spanned<String>, Spanned<Vec<String>>>,
}

/// Requirements of an arm.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExpect {
    pub smt: Option<Spanned<String>>,
    pub kernel: Option<Spanned<String>>,
    pub cpus: Option<Spanned<u32>>,
}

/// `[[comparison]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawComparison {
    pub name: Spanned<String>,
    pub treatment: Spanned<String>,
    pub baseline: Spanned<String>,
    pub kind: Option<String>,
}

/// The version alone, read first: a newer file may have unknown keys.
#[derive(Deserialize)]
struct VersionOnly {
    version: Option<Spanned<i64>>,
}

/// Reads a file's text.
pub(super) fn read(source: &Source) -> Result<RawStudy, LoadError> {
    let located = |error: toml::de::Error| source.at(error.span().unwrap_or(0..0), plain(error.message()));
    let head: VersionOnly = toml::from_str(&source.text).map_err(located)?;
    match head.version {
        None => Err(source.at(0..0, format!("the key 'version' is missing; add version = {FILE_VERSION}"))),
        Some(version) if *version.get_ref() != FILE_VERSION => Err(source.at(
            version.span(),
            format!("version is {}, but this program reads version {FILE_VERSION}", version.get_ref()),
        )),
        Some(_) => toml::from_str(&source.text).map(flat).map_err(located),
    }
}

/// TOML reads `metric.tps = …` as a table `metric`; here it is the option of that name. The recipe of a work list gets
/// its stored name; if both names are given, [`crate::worklist`] refuses them.
fn flat(mut raw: RawStudy) -> RawStudy {
    let is_worklist = *raw.workload.get_ref() == Workload::WorkList;
    let sets = raw.treatments.iter_mut().map(|treatment| &mut treatment.set);
    for options in sets.chain([&mut raw.options, &mut raw.baseline.set]) {
        if is_worklist
            && !options.contains_key(RECIPE_STORED)
            && let Some(recipe) = options.remove(RECIPE)
        {
            options.insert(RECIPE_STORED.to_owned(), recipe);
        }
        let prefix = METRIC_PREFIX.trim_end_matches('.');
        let Some(table) = options.get(prefix).filter(|value| value.get_ref().is_table()) else { continue };
        let span = table.span();
        let Some(Value::Table(metrics)) = options.remove(prefix).map(Spanned::into_inner) else { continue };
        let named = metrics
            .into_iter()
            .map(|(name, value)| (format!("{METRIC_PREFIX}{name}"), Spanned::new(span.clone(), value)));
        options.extend(named);
    }
    raw
}

/// Rewrites the parser's message in the terms of study definitions.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        (
            "invalid type: map, expected a sequence",
            "invalid type: a table, expected a list ([[NAME]], twice in brackets)",
        ),
        ("invalid type: map", "invalid type: a table"),
        ("expected a sequence", "expected a list"),
        ("expected i64", "expected a whole number"),
        ("expected u64", "expected a whole number of at least 0"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
    ];
    let mut text = message.replace('`', "'");
    for (word, plain) in WORDS {
        text = text.replace(word, plain);
    }
    match text.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => text,
    }
}

/// A scalar as an option's value.
pub(super) fn option_value(value: &Value) -> Option<OptionValue> {
    match value {
        Value::String(text) => Some(OptionValue::Text(text.clone())),
        Value::Integer(whole) => Some(OptionValue::Integer(*whole)),
        Value::Float(number) => Some(OptionValue::Number(*number)),
        Value::Boolean(flag) => Some(OptionValue::Flag(*flag)),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// Options without their places.
pub(super) fn converted(options: &RawOptions) -> Options {
    options.iter().filter_map(|(key, value)| Some((key.clone(), option_value(value.get_ref())?))).collect()
}
