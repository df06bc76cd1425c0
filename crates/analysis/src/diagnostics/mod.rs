//! Diagnostic questions that every study is asked besides its own: whether the measurement can be trusted, and what
//! else is in it. A question is a row of `DIAGNOSTICS` and a file with its observations, its family, what is said of
//! the answer and from which result on.

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

/// All diagnostics, in the order of the verdict and the method section.
const DIAGNOSTICS: [Diagnostic; 6] =
    [clock::CLOCK, order::CARRY_OVER, halves::HALVES, settling::SETTLING, LOCK_GAINS, neighbours::NEIGHBOURS];

/// Answers to all questions that apply to a study.
pub(crate) fn ask(case: &Case<'_>) -> Vec<Found> {
    let answer = |one: &Diagnostic| Some(Found { question: one.name, ..(one.ask)(case)? });
    DIAGNOSTICS.iter().filter_map(answer).collect()
}

/// The answers in the verdict.
pub(crate) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    said(facts, |one, found| (one.finding)(facts, found))
}

/// The answers in the method section.
pub(crate) fn method(facts: &Facts<'_>) -> Vec<Prose> {
    said(facts, |one, found| (one.method)(facts, found))
}

fn said<T>(facts: &Facts<'_>, say: impl Fn(&Diagnostic, &Found) -> Option<T>) -> Vec<T> {
    let answered = |one: &Diagnostic| say(one, facts.analysis.found(one.name)?);
    DIAGNOSTICS.iter().filter_map(answered).collect()
}
