//! The machine as a picture: boxes in boxes, and where the sessions of a placement run.
//!
//! `groups` says which boxes a machine could have, `areas` puts them into each other, `place` gives them places. Two
//! renderers draw that: `boxes` for a terminal, `html` as SVG.

pub mod areas;
mod boxes;
pub mod groups;
pub mod place;
#[cfg(test)]
mod tests;

pub use boxes::boxes;

use crate::layout::CpuState;
use areas::Cell;
use std::collections::BTreeMap;
use std::fmt;
use threadwise_document::numbers::{counted, cpu_list};
use threadwise_machine::Resolved;

/// A placement on the machine that is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a> {
    /// Its text.
    pub placement: &'a str,
    /// Its logical CPUs and sessions.
    pub resolved: &'a Resolved,
}

impl Sessions<'_> {
    /// The sessions of each logical CPU, counted from 1.
    fn by_cpu(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut by_cpu: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (number, cpus) in (1..).zip(&self.resolved.sessions) {
            cpus.iter().for_each(|cpu| by_cpu.entry(cpu).or_default().push(number));
        }
        by_cpu
    }
}

impl fmt::Display for Sessions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { placement, resolved } = self;
        let sessions = counted(resolved.sessions.len(), "session");
        let cpus = resolved.set();
        let noun = if cpus.len() == 1 { "logical CPU" } else { "logical CPUs" };
        write!(formatter, "placement {placement}: {sessions} on {noun} {}", cpu_list(&cpus))
    }
}

/// What the drawing of a logical CPU says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It may be used.
    Allowed,
    /// Sessions run on it.
    Session,
    /// It is a sibling of a session's logical CPU, and no session runs on it.
    LeftOver,
    /// It is online, and excluded by a cpuset or an affinity mask.
    NotAllowed,
    /// It is offline.
    Offline,
}

impl Mark {
    /// The mark of a logical CPU.
    pub fn of(cell: &Cell) -> Self {
        match cell.state {
            _ if !cell.sessions.is_empty() => Self::Session,
            CpuState::NotAllowed => Self::NotAllowed,
            CpuState::Offline => Self::Offline,
            CpuState::Allowed if cell.is_left_over => Self::LeftOver,
            CpuState::Allowed => Self::Allowed,
        }
    }

    /// Its meaning.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Session => "s1: session 1",
            Self::LeftOver => "sibling left over, without a session",
            Self::NotAllowed => "not allowed",
            Self::Offline => "offline",
        }
    }
}
