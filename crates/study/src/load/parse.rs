//! Reading and checking a study definition.

use super::check;
use super::error::{LoadError, Source};
use super::file::StudyFile;
use super::raw;
use crate::presets;

impl StudyFile {
    /// Reads and checks a study definition. Errors show `source_name`.
    ///
    /// # Errors
    /// The first error, as `FILE:LINE:COLUMN: what, and what is allowed`.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, LoadError> {
        let source = Source { name: source_name.to_owned(), text: text.to_owned() };
        let raw = raw::read(&source)?;
        check::check(&raw, &source)?;
        Ok(Self { source, is_preset: false, raw })
    }

    /// Reads a preset. Its budget is raised if 8 blocks do not fit; a user's file is refused then.
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
}
