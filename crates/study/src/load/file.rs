//! A study definition as read.

use super::error::Source;
use super::raw::RawStudy;
use crate::Workload;
use crate::external;

/// A study definition, read and checked, not yet resolved for a machine.
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

    /// Title, one line.
    pub fn title(&self) -> &str {
        self.raw.title.as_deref().unwrap_or_else(|| self.name())
    }

    /// Name of the engine.
    pub fn engine(&self) -> &str {
        self.raw.engine.get_ref()
    }

    /// The workload.
    pub fn workload(&self) -> &Workload {
        self.raw.workload.get_ref()
    }

    /// Whether the user wrote a budget into it, which is then a limit; a preset's is a goal.
    pub fn has_own_budget(&self) -> bool {
        !self.is_preset && self.raw.design.budget_s.is_some()
    }

    /// Name of the external arm that comes first under a seed; `None` in a study without such arms.
    pub fn first_arm(&self, seed: u64) -> Option<&str> {
        let arms = self.raw.external.as_ref()?.arms.get_ref();
        let first = external::order(arms.len(), 1, seed).first().copied()?;
        arms.get(first).map(|arm| arm.get_ref().as_str())
    }

    /// The file's seed.
    pub fn seed(&self) -> Option<u64> {
        self.raw.seed
    }
}
