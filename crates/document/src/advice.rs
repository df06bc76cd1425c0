//! Advice: an answer, its basis, and lines to paste.

use crate::Prose;
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Advice {
    /// Its subject: `sessions`, `smt`, `dop`, `jobs`, `placement`, `service`, `memory`, `pin`, `cost`.
    pub about: &'static str,
    /// The answer in one or two sentences, figures with their intervals.
    #[serde(rename = "text")]
    pub line: Prose,
    /// Whether the data decide it; otherwise it is at most a best guess.
    #[serde(rename = "decided")]
    pub is_decided: bool,
    /// Lines that put it into effect; none if nothing has to be changed.
    pub paste: Vec<Paste>,
    /// Names of the treatments that it is based on.
    pub evidence: Vec<String>,
}

/// A line to paste.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Paste {
    /// Where it goes: `postgresql.conf`, `shell`, `systemd unit`.
    pub place: String,
    /// The line itself.
    #[serde(rename = "line")]
    pub text: String,
}

impl Paste {
    /// A line and where it goes.
    pub fn new(place: &str, text: impl Into<String>) -> Self {
        Self { place: place.to_owned(), text: text.into() }
    }
}
