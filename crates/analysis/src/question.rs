//! A question that a report answers beside the one of its kind of workload: one file, and a row of
//! `questions::QUESTIONS`.

use crate::diagnostics::QuestionAnswer;
use crate::estimate::{Observed, Rule};
use crate::looks::states::LookedAt;
use crate::setting::Setting;
use crate::{Direction, Facts, Finding};
use threadwise_document::{Prose, Section};
use threadwise_study::{Run, Study};

/// A question. What it does not have is empty.
pub(crate) struct Question {
    /// Its name, and that of its estimates in JSON.
    pub name: &'static str,
    /// Its answer from the observations; `None` if it does not apply to the study.
    pub ask: fn(&Case<'_>) -> Option<QuestionAnswer>,
    /// Its lines in the verdict.
    pub findings: fn(&Facts<'_>) -> Vec<Finding>,
    /// Its paragraph in the method section, whatever the result.
    pub method: fn(&Facts<'_>) -> Option<Prose>,
    /// Its sections.
    pub sections: fn(&Facts<'_>) -> Vec<Section>,
}

impl Question {
    /// A question with nothing but its name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, ask: |_| None, findings: |_| Vec::new(), method: |_| None, sections: |_| Vec::new() }
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

    /// How families are judged; questions of every study ignore `direction`.
    pub fn rule(&self) -> Rule {
        Rule { margin: self.study().design.margin, alpha: self.setting.alpha, direction: Direction::Neither }
    }
}
