//! fleet.toml as written: what serde reads, with the position of each value.

use super::types::{Boots, FILE_VERSION, Measures};
use crate::FleetError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::{Spanned, Value};

/// A text in which positions are found.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// File as the user named it.
    pub name: String,
    /// Content.
    pub text: String,
}

impl Source {
    /// An error at the start of a byte range.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>) -> FleetError {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        FleetError::At {
            source_name: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into().trim().replace('\n', "; "),
        }
    }
}

/// Options with their positions.
pub(super) type RawOptions = BTreeMap<Spanned<String>, Spanned<Value>>;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFleet {
    #[serde(rename = "version")]
    pub _version: i64,
    pub title: Option<Spanned<String>>,
    pub study: Spanned<String>,
    pub engine: Spanned<String>,
    #[serde(default)]
    pub engine_options: RawOptions,
    pub repeats: Spanned<u32>,
    pub apart: Option<Spanned<String>>,
    pub boots: Option<Boots>,
    pub measures: Option<Measures>,
    pub budget: Option<Spanned<String>>,
    pub time_limit: Option<Spanned<String>>,
    pub seed: Option<Spanned<u64>>,
    #[serde(default)]
    pub run: RawRun,
    #[serde(default, rename = "kind")]
    pub kinds: Vec<Spanned<RawKind>>,
}

/// `[run]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRun {
    pub allow_busy: bool,
    pub no_probe: bool,
    pub allow_commands: bool,
    pub yes: bool,
    pub data_dir: Option<Spanned<String>>,
    pub engine: Option<Spanned<String>>,
}

/// `[[kind]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKind {
    pub name: Spanned<String>,
    pub nodes: Option<Spanned<Vec<Spanned<String>>>>,
    pub machines: Option<Spanned<u32>>,
    #[serde(default)]
    pub selector: BTreeMap<Spanned<String>, Spanned<String>>,
    pub price: Option<RawPrice>,
    #[serde(default)]
    pub engine_options: RawOptions,
    #[serde(default)]
    pub study_engine_options: RawOptions,
    #[serde(default)]
    pub machine_study_engine_options: BTreeMap<Spanned<String>, RawOptions>,
}

/// `price`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPrice {
    pub amount: Spanned<f64>,
    pub currency: Spanned<String>,
    pub date: Spanned<String>,
    pub source: Spanned<String>,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: Option<Spanned<i64>>,
}

/// Reads a file, its version first: other versions may have other keys.
pub(super) fn read(source: &Source) -> Result<RawFleet, FleetError> {
    let located = |error: toml::de::Error| source.at(error.span().unwrap_or(0..0), error.message());
    let head: VersionOnly = toml::from_str(&source.text).map_err(located)?;
    match head.version {
        None => Err(source.at(0..0, format!("the key 'version' is missing; add version = {FILE_VERSION}"))),
        Some(version) if *version.get_ref() != FILE_VERSION => Err(source.at(
            version.span(),
            format!("version is {}, but this program reads version {FILE_VERSION}", version.get_ref()),
        )),
        Some(_) => toml::from_str(&source.text).map_err(located),
    }
}
