//! What to do: an answer, what it rests on, and lines to paste.

use crate::Prose;
use serde::Serialize;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// What it is about: `sessions`, `smt`, `dop`, `jobs`, `placement`, `service`, `memory`, `pin`, `cost`.
    pub about: &'static str,
    /// The answer in one sentence or two, figures with their intervals.
    #[serde(rename = "text")]
    pub line: Prose,
    /// Whether the data decide it; else it has a best guess at the most.
    #[serde(rename = "decided")]
    pub is_decided: bool,
    /// Lines that put it into effect; none where nothing has to be changed.
    pub paste: Vec<Paste>,
    /// Names of the treatments that it rests on.
    pub evidence: Vec<String>,
}

/// A line to paste.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paste {
    /// Where it goes: `postgresql.conf`, `shell`, `systemd unit`.
    pub place: String,
    /// The line, as it stands there.
    #[serde(rename = "line")]
    pub text: String,
}
