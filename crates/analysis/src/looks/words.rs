//! Words for states.

use super::states::State;
use serde::Serializer;
use threadwise_study::{Moment, Study};

/// What the measured windows of a study are called: `runs` for whole commands and work lists, else `slices`.
pub fn windows(study: &Study) -> &'static str {
    if study.runs_whole() { "runs" } else { "slices" }
}

/// Its word in JSON, one of those of `threadwise watch`: `alone`, `one-core`, `neighbour`, `away`, `unknown`.
pub fn word(state: State) -> &'static str {
    match state {
        State::Clear => "alone",
        State::SameCore => "one-core",
        State::Neighbour => "neighbour",
        State::Away => "away",
        State::Unknown => "unknown",
    }
}

/// Its name in tables, charts and legends.
pub fn name(state: State) -> &'static str {
    match state {
        State::Clear => "alone",
        State::SameCore => "one core",
        State::Neighbour => "neighbour",
        State::Away => "away",
        State::Unknown => "unknown",
    }
}

/// Its meaning for the logical CPUs of a treatment, in a legend.
pub fn meaning(state: State) -> &'static str {
    match state {
        State::Clear => "each had its core to itself",
        State::SameCore => "two or more were on one core",
        State::Neighbour => "another program or guest was on a sibling of one or more",
        State::Away => "one did not run in time: stacked on another, or preempted",
        State::Unknown => "the figures do not show it, or contradict each other",
    }
}

/// For serde: its word.
///
/// # Errors
/// The serializer's.
pub(super) fn serialize_word<S: Serializer>(state: &State, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word(*state))
}

/// For serde: when a look was taken.
///
/// # Errors
/// The serializer's.
pub(super) fn serialize_moment<S: Serializer>(moment: &Moment, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(moment.word())
}
