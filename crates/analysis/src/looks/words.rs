//! Words for states.

use super::states::LookState;
use serde::Serializer;
use threadwise_study::{Moment, Study};

/// What the measured windows of a study are called: `runs` for whole commands and work lists, else `slices`.
pub fn windows(study: &Study) -> &'static str {
    if study.runs_whole() { "runs" } else { "slices" }
}

/// Its word in JSON, one of those of `threadwise watch`: `alone`, `one-core`, `neighbour`, `away`, `unknown`.
pub fn word(state: LookState) -> &'static str {
    match state {
        LookState::Clear => "alone",
        LookState::SameCore => "one-core",
        LookState::Neighbour => "neighbour",
        LookState::Away => "away",
        LookState::Unknown => "unknown",
    }
}

/// Its name in tables, charts and legends.
pub fn name(state: LookState) -> &'static str {
    match state {
        LookState::Clear => "alone",
        LookState::SameCore => "one core",
        LookState::Neighbour => "neighbour",
        LookState::Away => "away",
        LookState::Unknown => "unknown",
    }
}

/// Its meaning for the logical CPUs of a treatment, in a legend.
pub fn meaning(state: LookState) -> &'static str {
    match state {
        LookState::Clear => "each had its core to itself",
        LookState::SameCore => "two or more were on one core",
        LookState::Neighbour => "another program or guest was on a sibling of one or more",
        LookState::Away => "one did not run in time: stacked on another, or preempted",
        LookState::Unknown => "the figures do not show it, or contradict each other",
    }
}

/// For serde: its word.
///
/// # Errors
/// The serializer's.
pub(super) fn serialize_word<S: Serializer>(state: &LookState, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word(*state))
}

/// For serde: when a look was taken.
///
/// # Errors
/// The serializer's.
pub(super) fn serialize_moment<S: Serializer>(moment: &Moment, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(moment.word())
}
