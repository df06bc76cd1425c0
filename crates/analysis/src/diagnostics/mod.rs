//! Questions that are put to the observations of every study beside its own: whether what was measured can be trusted, and
//! what else is in it. A question is a row of `DIAGNOSTICS` and a file: how its observations are taken, its family, what
//! is said of the answer and from when on.

pub mod clock;
mod found;
pub mod halves;
pub(crate) mod neighbours;
pub mod order;
pub(crate) mod row;
pub mod settling;

pub use found::Found;

use crate::kinds::indexes::LOCK_GAINS;
use crate::{Facts, Finding};
use row::{Case, Diagnostic};
use threadwise_document::Prose;

/// All of them, in the order in which a verdict and the method section speak of them.
const DIAGNOSTICS: [Diagnostic; 6] =
    [clock::CLOCK, order::CARRY_OVER, halves::HALVES, settling::SETTLING, LOCK_GAINS, neighbours::NEIGHBOURS];

/// Answers to all questions that a study leaves to ask.
pub(crate) fn ask(case: &Case<'_>) -> Vec<Found> {
    let answer = |one: &Diagnostic| Some(Found { question: one.name, ..(one.ask)(case)? });
    DIAGNOSTICS.iter().filter_map(answer).collect()
}

/// What the verdict says of the answers.
pub(crate) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    said(facts, |one, found| (one.finding)(facts, found))
}

/// What the method section says of the answers.
pub(crate) fn method(facts: &Facts<'_>) -> Vec<Prose> {
    said(facts, |one, found| (one.method)(facts, found))
}

fn said<T>(facts: &Facts<'_>, say: impl Fn(&Diagnostic, &Found) -> Option<T>) -> Vec<T> {
    let answered = |one: &Diagnostic| say(one, facts.analysis.found(one.name)?);
    DIAGNOSTICS.iter().filter_map(answered).collect()
}
