//! Treatments before their factor levels are known, and combinations of levels.

use std::collections::BTreeMap;

use threadwise_machine::placement::{self, Expression, Name, Resolved, Service};
use threadwise_machine::{CpuSet, Draw, Memory, Pin, Placement, PlacementError, Topology};

use crate::instance::short_labels;
use crate::{Arm, Instance, OptionValue, Options, Role};

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
    /// Its instance of the engine, above the group's.
    pub instance: Instance,
    /// Which of two versions it is.
    pub version: Option<&'static str>,
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
    /// Treatments that equal another one on this machine, and its name: their comparisons become its.
    pub aliases: BTreeMap<String, String>,
    /// Whether the sweep runs under these levels.
    pub has_sweep: bool,
}

/// Whether two treatments put equal sessions on the same logical CPUs in every draw checked.
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
        && one.instance == other.instance
        && draws.iter().all(|draw| {
            let found = occupied(one, draw);
            found.is_some() && found == occupied(other, draw)
        })
}

/// Default sessions of a placement: one per logical CPU, and two for `one-cpu`.
pub(crate) fn default_sessions(text: &str, topology: &Topology) -> Result<u32, PlacementError> {
    let parsed: Placement = text.parse()?;
    let found = placement::resolve(&parsed, topology, &Draw::identity(topology), 1, Pin::Each)?;
    let is_one_cpu = parsed.expression == Expression::Named(Name::OneCpu);
    Ok(if is_one_cpu { 2 } else { found.cpus.len() as u32 })
}

/// Factors that have more than one level.
pub(super) fn varying(groups: &[Group]) -> Vec<&String> {
    let varies = |factor: &&String| {
        groups.iter().any(|group| group.levels.get(*factor) != groups[0].levels.get(*factor))
    };
    groups.first().map(|first| first.levels.keys().filter(varies).collect()).unwrap_or_default()
}

/// The label of a group's level, shortened to what distinguishes the group.
pub(super) fn short_label(group: &Group, factor: &str, groups: &[Group]) -> Option<String> {
    let label = group.labels.get(factor)?.as_str();
    let mut levels: Vec<&str> =
        groups.iter().filter_map(|one| one.labels.get(factor)).map(String::as_str).collect();
    levels.sort_unstable();
    levels.dedup();
    let at = levels.iter().position(|level| *level == label)?;
    short_labels(&levels).into_iter().nth(at)
}

/// What distinguishes a group's names: the level alone if its word is clear enough.
pub(super) fn suffix(group: &Group, groups: &[Group]) -> String {
    let part = |factor: &&String| {
        let label = &short_label(group, factor, groups)?;
        let is_word = *factor != "turbo" && matches!(group.levels.get(*factor), Some(OptionValue::Text(_)));
        Some(if is_word { label.clone() } else { format!("{factor}={label}") })
    };
    let parts: Vec<String> = varying(groups).iter().filter_map(part).collect();
    if parts.is_empty() { String::new() } else { format!("/{}", parts.join(",")) }
}
