//! A study definition as it was read.

use super::error::Source;
use super::raw::RawStudy;

/// A study definition that was read and checked, not yet bound to a machine.
#[derive(Debug, Clone)]
pub struct StudyFile {
    pub(super) source: Source,
    pub(super) is_preset: bool,
    pub(super) raw: RawStudy,
}

impl StudyFile {
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
}
