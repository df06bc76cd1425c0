//! Treatments before their factor levels are known, and combinations of levels.

use std::collections::BTreeMap;

use threadwise_machine::placement::{self, Resolved, Service};
use threadwise_machine::{CpuSet, Draw, Memory, Pin, Placement, Topology};

use crate::{Arm, Options, Role};

/// A treatment before its factor levels are known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seat {
    pub name: String,
    pub placement: String,
    pub sessions: u32,
    pub pin: Pin,
    pub memory: Memory,
    pub service: Option<Service>,
    /// Options of its own, above the group's.
    pub set: Options,
    pub role: Role,
}

/// One combination of factor levels, and what runs under it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The levels by factor.
    pub levels: Options,
    /// The study's options with the levels set.
    pub options: Options,
    /// What the levels want of the machine.
    pub arm: Arm,
    /// The levels as tables show them.
    pub labels: BTreeMap<String, String>,
    /// Baseline, twin, treatments, sweep points.
    pub seats: Vec<Seat>,
    /// Treatments that are another one on this machine, and its name: comparisons of the first are its.
    pub aliases: BTreeMap<String, String>,
    /// Whether the sweep runs under these levels.
    pub has_sweep: bool,
}

/// Whether two treatments put as many sessions on the same logical CPUs in every draw looked at.
pub(super) fn is_same(one: &Seat, other: &Seat, topology: &Topology, draws: &[Draw]) -> bool {
    let occupied = |seat: &Seat, draw: &Draw| -> Option<Vec<CpuSet>> {
        let parsed: Placement = seat.placement.parse().ok()?;
        let Resolved { mut sessions, .. } =
            placement::resolve(&parsed, topology, draw, seat.sessions, seat.pin).ok()?;
        sessions.sort_unstable();
        Some(sessions)
    };
    one.sessions == other.sessions
        && one.memory == other.memory
        && one.service == other.service
        && one.set == other.set
        && draws.iter().all(|draw| {
            let found = occupied(one, draw);
            found.is_some() && found == occupied(other, draw)
        })
}
