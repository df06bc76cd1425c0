//! The study definition: a strict TOML loader, its resolution for one machine, and the text form of a
//! resolved study.
//!
//! A study definition says what is asked (docs/STUDY.md); [`StudyFile::resolve`]
//! spells it out for a topology: one treatment per placement and combination of factor levels, the
//! data sized to the machine's caches, and what the machine lacks named in [`Study::left_out`].
//! This module and its children are the only ones of this crate that use serde.

mod budget;
mod check;
mod comparisons;
mod data;
mod dop;
mod expand;
mod jobs;
mod policy;
mod raw;
mod sites;
mod sweep;
mod text;

use std::ops::Range;

use threadwise_machine::placement::Service;
use threadwise_machine::{Memory, Topology};

use crate::engine::Properties;
use crate::time::{typed, typed_up};
use crate::{OptionValue, Options, Study, presets};

pub use text::{from_toml, to_toml};

/// Version of the study definition's form.
pub const FILE_VERSION: i64 = 1;

/// More sessions than this in one treatment are taken for a slip of the keyboard.
pub const MAX_SESSIONS: u32 = 4096;

/// A study with more treatments than this is refused: its workers would not fit a machine.
pub const MAX_TREATMENTS: usize = 500;

/// Why a study cannot be had. Each is one line that says what is wrong and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// Something in the file, with its place.
    #[error("{source_name}:{line}:{column}: {message}")]
    At {
        /// File as the user named it.
        source_name: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// No preset has this name.
    #[error("there is no preset '{name}': presets are {known}; the name of a study definition ends in .toml")]
    UnknownPreset {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Something that the command line asked for.
    #[error("{option}: {why}")]
    Override {
        /// The option as written on the command line, such as `--sessions`.
        option: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// Fewer than 8 blocks would fit, however fast everything else is.
    #[error(
        "a budget of {} cannot hold 8 blocks of this study, which take {least_s} s at the least: give --budget {} or more, or fewer treatments, or fewer --rounds",
        typed(*budget_s), typed_up(*enough_s)
    )]
    Budget {
        /// Seconds that were given.
        budget_s: f64,
        /// Seconds that 8 blocks need at the least.
        least_s: u64,
        /// Seconds that they need with the probe and starts that are quick.
        enough_s: f64,
    },
    /// The data would not fit.
    #[error(
        "the data of {sessions} sessions is {data_mib} MiB, over {allowed_mib} MiB, half of {rule} (files take the other half): a smaller data_mib or blocks, fewer treatments, or fewer sessions"
    )]
    Memory {
        /// Sessions of all treatments together.
        sessions: u64,
        /// Their data.
        data_mib: u64,
        /// What is allowed for it.
        allowed_mib: u64,
        /// What that is half of.
        rule: String,
    },
}

/// What the command line sets above a study definition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// Engine name.
    pub engine: Option<String>,
    /// What the study's engine, this one or the file's own, says of itself.
    pub engine_properties: Properties,
    /// Seconds for the whole study.
    pub budget_s: Option<f64>,
    /// Half-width to reach, as a fraction.
    pub until: Option<f64>,
    /// Exactly this many blocks, in place of a budget.
    pub blocks: Option<u32>,
    /// Seed of every draw.
    pub seed: Option<u64>,
    /// Rounds in a block.
    pub rounds: Option<u32>,
    /// Window of a slice in milliseconds.
    pub slice_ms: Option<f64>,
    /// With `placements`: the numbers of sessions for each of them. Without: the points of the
    /// session sweep, in place of the file's.
    pub sessions: Option<Vec<u32>>,
    /// Degrees of parallelism of every placement, in place of the file's.
    pub dops: Option<Vec<u32>>,
    /// Numbers of jobs of a work list, in place of the file's.
    pub jobs: Option<Vec<u32>>,
    /// Workload options; a value for a factor leaves that one level of it.
    pub options: Options,
    /// Placements in place of the file's treatments and sweep.
    pub placements: Option<Vec<String>>,
    /// Memory policy of every treatment that has none of its own, baselines and sweep points included.
    pub memory: Option<Memory>,
    /// Service threads of every treatment that has no key of its own for them.
    pub service: Option<Service>,
    /// Options of the engine, each in place of the file's own of that name.
    pub engine_options: Options,
    /// Memory that data may take, bytes: half for caches, half for files.
    pub memory_limit_bytes: Option<u64>,
    /// What that limit is, for messages: `a quarter of the 8 GiB of memory that are available`.
    pub memory_rule: String,
}

/// A study definition that was read and checked, not yet bound to a machine.
#[derive(Debug, Clone)]
pub struct StudyFile {
    source: Source,
    is_preset: bool,
    raw: raw::RawStudy,
}

/// The text that places in it are found in.
#[derive(Debug, Clone)]
struct Source {
    name: String,
    text: String,
}

impl Source {
    /// An error at the start of a byte range.
    fn at(&self, span: Range<usize>, message: impl Into<String>) -> LoadError {
        let end = span.start.min(self.text.len());
        let before = self.text.get(..end).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        LoadError::At {
            source_name: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into().trim().replace('\n', "; "),
        }
    }
}

impl StudyFile {
    /// Reads and checks a study definition. `source_name` stands in errors.
    ///
    /// # Errors
    /// The first thing that is wrong, as `FILE:LINE:COLUMN: what, and what is allowed`.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, LoadError> {
        let source = Source { name: source_name.to_owned(), text: text.to_owned() };
        let raw = raw::read(&source)?;
        check::check(&raw, &source)?;
        Ok(Self { source, is_preset: false, raw })
    }

    /// Reads a preset. Its budget is raised where 8 blocks do not fit, while that of a user's file
    /// is an error then.
    ///
    /// # Errors
    /// [`LoadError::UnknownPreset`], with the names that exist.
    pub fn preset(name: &str) -> Result<Self, LoadError> {
        let Some(text) = presets::get(name) else {
            let known: Vec<&str> = presets::names().iter().map(|(name, _)| *name).collect();
            return Err(LoadError::UnknownPreset { name: name.to_owned(), known: known.join(", ") });
        };
        Ok(Self { is_preset: true, ..Self::parse(text, &format!("preset {name}"))? })
    }

    /// Short name of the study.
    pub fn name(&self) -> &str {
        self.raw.name.get_ref()
    }

    /// One line for people.
    pub fn title(&self) -> &str {
        self.raw.title.as_deref().unwrap_or_else(|| self.name())
    }

    /// Name of the engine.
    pub fn engine(&self) -> &str {
        self.raw.engine.get_ref()
    }

    /// Name of the workload.
    pub fn workload(&self) -> &str {
        self.raw.workload.get_ref()
    }

    /// Whether its user wrote a budget into it, which is then a limit; a preset's is a goal.
    pub fn has_own_budget(&self) -> bool {
        !self.is_preset && self.raw.design.budget_s.is_some()
    }

    /// Seed that the file asks for.
    pub fn seed(&self) -> Option<u64> {
        self.raw.seed
    }

    /// Spells the study out for a machine.
    ///
    /// # Errors
    /// An override that cannot be, a placement or memory policy that the machine lacks and that is
    /// not optional, a budget too small for 8 blocks, data over the memory limit.
    pub fn resolve(&self, topology: &Topology, overrides: &Overrides) -> Result<Study, LoadError> {
        expand::expand(self, topology, overrides)
    }
}

/// The value of `--set KEY=VALUE`: `true` and `false`, whole numbers, numbers, and text otherwise.
pub fn option_value(text: &str) -> OptionValue {
    match (text, text.parse::<i64>(), text.parse::<f64>()) {
        ("true", ..) => OptionValue::Flag(true),
        ("false", ..) => OptionValue::Flag(false),
        (_, Ok(whole), _) => OptionValue::Integer(whole),
        (_, _, Ok(number)) if number.is_finite() => OptionValue::Number(number),
        _ => OptionValue::Text(text.to_owned()),
    }
}
