//! Factors that are arms: which treatments each level allows, and comparisons between levels of arms and instances.

use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{Draw, Placement, Topology};

use super::factors;
use super::seat::{Group, Seat, short_label};
use crate::arm::FACTORS;
use crate::plan::first_threads::has_siblings;
use crate::{Arm, Comparison, Options, Role, SmtWay};

/// Kind of the comparison of both threads of a core with SMT taken away.
const BOTH_THREADS: &str = "smt-off";

/// Pairs of placements: both threads, and one thread, of the same cores.
const BOTH_AND_ONE: [(&str, &str); 2] = [("all", "no-smt"), ("same-core", "1c1t")];

/// The arm of checked levels.
pub(super) fn of(levels: &Options) -> Arm {
    let mut arm = Arm::default();
    for (factor, level) in levels.iter().filter(|(factor, _)| FACTORS.contains(&factor.as_str())) {
        // Invalid levels were refused before.
        let _ = arm.set(factor, &level.to_string());
    }
    arm
}

/// Removes seats that need both threads of a core from groups without SMT, and lists them. Returns their names.
pub(super) fn fit(groups: &mut [Group], topology: &Topology, left_out: &mut Vec<String>) -> Vec<String> {
    let mut both_threads: Vec<String> = Vec::new();
    for group in groups.iter_mut().filter(|group| group.arm.smt != SmtWay::Mask) {
        let way = group.arm.smt.word();
        let gone = |seat: &Seat| seat.role == Role::Compared && uses_siblings(seat, topology);
        for seat in group.seats.iter().filter(|seat| gone(seat)) {
            let line = format!("{} with smt={way}: it needs both threads of a core", seat.name);
            if !left_out.contains(&line) {
                left_out.push(line);
            }
            if !both_threads.contains(&seat.name) {
                both_threads.push(seat.name.clone());
            }
        }
        group.seats.retain(|seat| !gone(seat));
    }
    both_threads
}

fn uses_siblings(seat: &Seat, topology: &Topology) -> bool {
    let draw = Draw::identity(topology);
    let resolved = |text: &str| -> Option<Resolved> {
        let parsed: Placement = text.parse().ok()?;
        placement::resolve(&parsed, topology, &draw, seat.sessions, seat.pin).ok()
    };
    resolved(&seat.placement).is_some_and(|found| has_siblings(topology, &found.set()))
}

/// Compares every seat under each level of an arm or instance with itself under the first level, the other levels being
/// the same; and both threads of a core with one with SMT taken away.
pub(super) fn comparisons(
    groups: &[Group],
    both_threads: &[String],
    suffix: &dyn Fn(&Group) -> String,
) -> Vec<Comparison> {
    let mut found = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (factor, kind) in group.levels.keys().filter_map(|factor| Some((factor, factors::kind(factor)?)))
        {
            let others = |one: &Group| {
                one.levels
                    .iter()
                    .filter(|(name, _)| *name != factor)
                    .map(|(n, l)| (n.clone(), l.clone()))
                    .collect::<Options>()
            };
            let first = groups[..at].iter().find(|first| others(first) == others(group));
            let Some(first) = first else { continue };
            let level = short_label(first, factor, groups).unwrap_or_default();
            let is_there =
                |seat: &&Seat| seat.role != Role::BaselineTwin && named(first, &seat.name).is_some();
            found.extend(group.seats.iter().filter(is_there).map(|seat| Comparison {
                name: format!("{}{} : {factor}={level}", seat.name, suffix(group)),
                treatment: format!("{}{}", seat.name, suffix(group)),
                baseline: below(seat, first, &suffix(first)),
                kind: kind.to_owned(),
            }));
            if factor == "smt" {
                found.extend(against_one_thread(first, group, both_threads, suffix));
            }
        }
    }
    found
}

fn against_one_thread(
    with_smt: &Group,
    without: &Group,
    both_threads: &[String],
    suffix: &dyn Fn(&Group) -> String,
) -> Vec<Comparison> {
    let both = with_smt.seats.iter().filter(|seat| both_threads.contains(&seat.name));
    let against = |both: &Seat| {
        let placement = BOTH_AND_ONE.iter().find(|(two, _)| *two == both.placement.trim())?.1;
        let one = without.seats.iter().find(|seat| {
            seat.role != Role::BaselineTwin && seat.placement.trim() == placement && seat.set == both.set
        })?;
        let top = format!("{}{}", both.name, suffix(with_smt));
        Some(Comparison {
            name: format!("{top} : {}{}", one.name, suffix(without)),
            treatment: top,
            baseline: below(one, without, &suffix(without)),
            kind: BOTH_THREADS.to_owned(),
        })
    };
    both.filter_map(against).collect()
}

fn named<'a>(group: &'a Group, name: &str) -> Option<&'a Seat> {
    group.seats.iter().find(|seat| seat.name == name)
}

/// Names of a seat in a group: for a baseline, A and A′.
fn below(seat: &Seat, group: &Group, suffix: &str) -> Vec<String> {
    let twin = group.seats.iter().find(|twin| twin.role == Role::BaselineTwin);
    let names = [Some(&seat.name), twin.filter(|_| seat.role == Role::Baseline).map(|twin| &twin.name)];
    names.into_iter().flatten().map(|name| format!("{name}{suffix}")).collect()
}
