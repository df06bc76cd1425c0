//! The text of a study definition: reading it, and errors with their position in it.

use serde::Deserialize;
use toml::de::DeValue;

use super::definition::{Definition, FILE_VERSION};
use crate::presets;
use crate::time::{typed, typed_up};
use crate::{Workload, external};

/// Why a study cannot be loaded. Each error is one line: what is wrong, and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// An error in the file, with its position.
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
    #[error("there is no preset '{name}': presets are {known}; a study definition's name ends in .toml")]
    UnknownPreset {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An error in a command-line option.
    #[error("{option}: {why}")]
    Override {
        /// The option as written on the command line, such as `--sessions`.
        option: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// The budget holds fewer than 8 blocks in the best case.
    #[error(
        "a budget of {} cannot hold 8 blocks of this study, which take at least {least_s} s: give --budget {} or more, {}{}",
        typed(*budget_s), typed_up(*enough_s), fewer_words(*rounds), long_words(*long_s)
    )]
    Budget {
        /// Seconds that were given.
        budget_s: f64,
        /// Minimum seconds for 8 blocks.
        least_s: u64,
        /// Seconds for them with a fast probe and fast starts.
        enough_s: f64,
        /// Seconds of these for long windows; 0 without.
        long_s: f64,
        /// Rounds of a block.
        rounds: u32,
    },
    /// The data does not fit.
    #[error(
        "the data of {sessions} sessions is {data_mib} MiB, over {allowed_mib} MiB, half of {rule} (files take the other half): give a smaller data_mib or blocks, fewer treatments, or fewer sessions"
    )]
    Memory {
        /// Sessions of all treatments together.
        sessions: u64,
        /// Their data, MiB.
        data_mib: u64,
        /// Limit, MiB.
        allowed_mib: u64,
        /// What the limit is half of.
        rule: String,
    },
}

/// Other ways to make a budget sufficient. A block has at least one round.
fn fewer_words(rounds: u32) -> &'static str {
    if rounds > 1 { "fewer treatments, or fewer --rounds" } else { "or fewer treatments" }
}

/// Another way to make a budget sufficient.
fn long_words(long_s: f64) -> String {
    match long_s > 0.0 {
        true => format!(", or fewer --long-windows, which take {long_s} s of it"),
        false => String::new(),
    }
}

impl LoadError {
    /// An error in a command-line option.
    pub(super) fn option(option: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Override { option: option.into(), why: why.into() }
    }

    /// Refuses a command-line option if it is wrong.
    pub(super) fn option_if(
        is_wrong: bool,
        option: impl Into<String>,
        why: impl Into<String>,
    ) -> Result<(), Self> {
        if is_wrong { Err(Self::option(option, why)) } else { Ok(()) }
    }
}

/// A text in which positions are found.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    /// An error at the value of a key: names of tables and keys, and positions in lists, outermost first. Where the text
    /// has not all of them, as far as it has.
    pub fn at(&self, path: &[&str], message: impl Into<String>) -> LoadError {
        self.at_byte(self.start_of(path).unwrap_or(0), message)
    }

    /// Refuses the value of a key if it is wrong.
    pub fn refuse_if(&self, is_wrong: bool, path: &[&str], why: impl Into<String>) -> Result<(), LoadError> {
        if is_wrong { Err(self.at(path, why)) } else { Ok(()) }
    }

    /// An error of the whole text.
    pub fn whole(&self, message: impl Into<String>) -> LoadError {
        self.at_byte(0, message)
    }

    /// An error at a byte.
    pub fn at_byte(&self, byte: usize, message: impl Into<String>) -> LoadError {
        let before = self.text.get(..byte.min(self.text.len())).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        LoadError::At {
            source_name: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into().trim().replace('\n', "; "),
        }
    }

    fn start_of(&self, path: &[&str]) -> Option<usize> {
        let root = toml::de::DeTable::parse(&self.text).ok()?;
        let (mut value, mut start) = (&DeValue::Table(root.into_inner()), None);
        for key in path {
            let found = match value {
                DeValue::Array(items) => key.parse().ok().and_then(|at: usize| items.get(at)),
                // An option with a dot in its name may be written as a table.
                _ => value.get(*key).or_else(|| value.get(key.split('.').next()?)),
            };
            let Some(found) = found else { break };
            (value, start) = (found.get_ref(), Some(found.span().start));
        }
        start
    }

    /// An error of the parser at its place, in the terms of study definitions.
    fn located(&self, error: &toml::de::Error) -> LoadError {
        self.at_byte(error.span().map_or(0, |span| span.start), plain(error.message()))
    }

    /// The text as a table; refuses whole numbers beyond 64 bits with a sign, which a number with a fraction would take.
    pub fn table(&self) -> Result<toml::Table, LoadError> {
        toml::from_str(&self.text).map_err(|error| self.located(&error))
    }

    /// Refuses lists where one table is meant, which serde would read by position.
    fn one_table_each(&self) -> Result<(), LoadError> {
        const SECTIONS: [&str; 6] = ["design", "baseline", "sweep", "dop", "jobs", "external"];
        let Ok(root) = toml::de::DeTable::parse(&self.text) else { return Ok(()) };
        let is_list = |name: &&str| {
            matches!(root.get_ref().get(*name).map(|one| one.get_ref()), Some(DeValue::Array(_)))
        };
        match SECTIONS.into_iter().find(is_list) {
            Some(name) => {
                let why =
                    format!("{name} is one table: write [{name}], once in brackets, and its keys below");
                Err(self.at(&[name], why))
            }
            None => Ok(()),
        }
    }

    /// Reads the definition.
    fn definition(&self) -> Result<Definition, LoadError> {
        /// Read first: a newer file may have unknown keys.
        #[derive(Deserialize)]
        struct Head {
            version: Option<i64>,
        }
        let located = |error| self.located(&error);
        let head: Head = toml::from_str(&self.text).map_err(located)?;
        match head.version {
            Some(FILE_VERSION) => {
                self.one_table_each()?;
                toml::from_str(&self.text).map_err(located)
            }
            None => Err(self.whole(format!("the key 'version' is missing; add version = {FILE_VERSION}"))),
            Some(other) => {
                let why = format!("version is {other}, but this program reads version {FILE_VERSION}");
                Err(self.at(&["version"], why))
            }
        }
    }
}

/// Rewrites the parser's message in the terms of study definitions.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 13] = [
        ("u64 value was too large", "the number is too large"),
        (
            "invalid type: map, expected a sequence",
            "invalid type: a table, expected a list ([[NAME]], twice in brackets)",
        ),
        ("invalid type: map", "invalid type: a table"),
        ("invalid type: sequence", "invalid type: a list"),
        ("expected a sequence", "expected a list"),
        ("expected i64", "expected a whole number"),
        ("expected u64", "expected a whole number of at least 0"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("wanted string or table", "expected a word"),
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        (
            "expected 'each' or 'set'",
            "expected 'each' (a session on its own logical CPU) or 'set' (sessions float inside the placement)",
        ),
    ];
    let mut text = message.replace('`', "'").replace("unknown variant", "unknown word");
    for (word, plain) in WORDS {
        text = text.replace(word, plain);
    }
    // Of serde's 128-bit integers, which only numbers beyond 64 bits are read as.
    if text.contains(" as i128") || text.contains(" as u128") {
        return "the number is too large".to_owned();
    }
    match text.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => text,
    }
}

/// A study definition, read and checked, not yet resolved for a machine.
#[derive(Debug, Clone)]
pub struct StudyFile {
    pub(super) source: Source,
    pub(super) is_preset: bool,
    pub(super) definition: Definition,
}

impl StudyFile {
    /// Reads and checks a study definition. Errors show `source_name`.
    ///
    /// # Errors
    /// The first error, as `FILE:LINE:COLUMN: what, and what is allowed`.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, LoadError> {
        let source = Source { name: source_name.to_owned(), text: text.to_owned() };
        let definition = source.definition()?;
        let mut file = Self { source, is_preset: false, definition };
        file.check()?;
        file.definition.name_recipe();
        Ok(file)
    }

    /// Reads a preset. Its budget is raised if 8 blocks do not fit; a user's file is refused then.
    ///
    /// # Errors
    /// [`LoadError::UnknownPreset`], with the names that exist.
    pub fn preset(name: &str) -> Result<Self, LoadError> {
        Self::preset_with(name, "")
    }

    /// Reads a preset with more definitions at its end.
    ///
    /// # Errors
    /// As [`Self::preset`]; what is added is faulty.
    pub fn preset_with(name: &str, more: &str) -> Result<Self, LoadError> {
        let Some(text) = presets::get(name) else {
            let known: Vec<&str> = presets::names().iter().map(|(name, _)| *name).collect();
            return Err(LoadError::UnknownPreset { name: name.to_owned(), known: known.join(", ") });
        };
        Ok(Self { is_preset: true, ..Self::parse(&format!("{text}\n{more}"), &format!("preset {name}"))? })
    }

    /// Short name of the study.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Title, one line.
    pub fn title(&self) -> &str {
        self.definition.title.as_deref().unwrap_or_else(|| self.name())
    }

    /// Name of the engine.
    pub fn engine(&self) -> &str {
        &self.definition.engine
    }

    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.definition.workload
    }

    /// Whether the user wrote a budget into it, which is then a limit; a preset's is a goal.
    pub fn has_own_budget(&self) -> bool {
        !self.is_preset && self.definition.design.budget_s.is_some()
    }

    /// Name of the external arm that comes first under a seed; `None` in a study without such arms.
    pub fn first_arm(&self, seed: u64) -> Option<&str> {
        let arms = &self.definition.external.as_ref()?.arms;
        let first = external::order(arms.len(), 1, seed).first().copied()?;
        arms.get(first).map(String::as_str)
    }

    /// The file's seed.
    pub fn seed(&self) -> Option<u64> {
        self.definition.seed
    }
}
