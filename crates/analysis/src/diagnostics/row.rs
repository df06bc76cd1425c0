//! A diagnostic question that every study is asked.

use super::found::Found;
use crate::estimate::{Observed, Rule};
use crate::looks::states::LookedAt;
use crate::setting::Setting;
use crate::{Direction, Facts, Finding};
use threadwise_document::Prose;
use threadwise_study::{Run, Study};

/// A question.
pub(crate) struct Diagnostic {
    pub name: &'static str,
    /// Its answer; `None` if it does not apply to the study.
    pub ask: fn(&Case<'_>) -> Option<Found>,
    /// Its line in the verdict, before how far to trust the rest; `None` if nothing is shown.
    pub finding: fn(&Facts<'_>, &Found) -> Option<Finding>,
    /// Its paragraph in the method section, whatever the result.
    pub method: fn(&Facts<'_>, &Found) -> Option<Prose>,
}

impl Diagnostic {
    /// A diagnostic that neither shows.
    pub const fn new(name: &'static str, ask: fn(&Case<'_>) -> Option<Found>) -> Self {
        Self { name, ask, finding: |_, _| None, method: |_, _| None }
    }
}

/// The observations of a study.
pub(crate) struct Case<'a> {
    pub setting: Setting<'a>,
    pub observed: &'a Observed,
    /// The list that `observed` was made from.
    pub runs: &'a [Run],
    /// Their slices with the looks around them, in order of time.
    pub slices: &'a [LookedAt<'a>],
}

impl Case<'_> {
    pub fn study(&self) -> &Study {
        self.setting.study
    }

    /// How families are judged; diagnostics ignore `direction`.
    pub fn rule(&self) -> Rule {
        Rule { margin: self.study().design.margin, alpha: self.setting.alpha, direction: Direction::Neither }
    }
}
