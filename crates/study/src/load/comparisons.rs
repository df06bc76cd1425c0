//! What is compared: each treatment with its baseline, known pairs of placements, sweep steps, and the file's own
//! comparisons.

use toml::Spanned;

use super::error::LoadError;
use super::file::StudyFile;
use super::raw::RawComparison;
use super::seat::{Group, Seat};
use super::sweep::{Line, Point, Sweep};
use crate::{Comparison, Role};

/// Comparisons that any study gets when both sides exist with equal numbers of sessions: kind, placement on top,
/// placement below.
const PAIRS: [(&str, &str, &str); 3] = [
    ("smt-yield", "same-core", "one-cpu"),
    ("cores", "same-package", "same-core"),
    ("packages", "cross-package", "same-package"),
];

/// Names below the line: A and A′ for the baseline, otherwise one treatment.
pub(super) fn below(name: &str, group: &Group, suffix: &str) -> Vec<String> {
    let alone = &group.seats[0].name;
    if name == alone {
        return vec![format!("{alone}{suffix}"), format!("{}{suffix}", group.seats[1].name)];
    }
    vec![format!("{name}{suffix}")]
}

/// Every treatment against its group's baseline.
pub(super) fn against_baseline(group: &Group, suffix: &str) -> Vec<Comparison> {
    let alone = &group.seats[0].name;
    let compared = group.seats.iter().filter(|seat| seat.role == Role::Compared);
    let against = |seat: &Seat| Comparison {
        name: format!("{}{suffix} : {alone}", seat.name),
        treatment: format!("{}{suffix}", seat.name),
        baseline: below(alone, group, suffix),
        kind: "baseline".to_owned(),
    };
    compared.map(against).collect()
}

/// The comparisons of [`PAIRS`] that a group allows.
pub(super) fn pairs(group: &Group, suffix: &str) -> Vec<Comparison> {
    // With two memory policies, placement and policy would both differ.
    let first = &group.seats[0];
    let is_alike = |seat: &Seat| seat.memory == first.memory && seat.service == first.service;
    let find = |placement: &str| {
        group
            .seats
            .iter()
            .find(|seat| seat.role == Role::Compared && seat.placement == placement && is_alike(seat))
    };
    let pair = |(kind, top, under): (&str, &str, &str)| {
        let (top, under) = (find(top)?, find(under)?);
        (top.sessions == under.sessions).then(|| Comparison {
            name: format!("{kind}{suffix}"),
            treatment: format!("{}{suffix}", top.name),
            baseline: below(&under.name, group, suffix),
            kind: kind.to_owned(),
        })
    };
    PAIRS.into_iter().filter_map(pair).collect()
}

/// Each sweep point against the one before it, in every order; the first step is already a comparison with the
/// baseline. Also what more sessions than cores add in the end, where that is not a step.
pub(super) fn steps(sweep: &Sweep, group: &Group, suffix: &str) -> Vec<Comparison> {
    let mut all: Vec<Comparison> = Vec::new();
    for line in &sweep.lines {
        let order = line.order.map_or(String::new(), |order| format!("{order} "));
        let against = |kind: &str, (fewer, under): &Point, (more, top): &Point| Comparison {
            name: format!("{kind} {order}{fewer}-{more}{suffix}"),
            treatment: format!("{top}{suffix}"),
            baseline: below(under, group, suffix),
            kind: kind.to_owned(),
        };
        let steps = line.points.windows(2).map(|pair| against("sweep-step", &pair[0], &pair[1]));
        let beyond = beyond_cores(sweep, line).map(|(cores, last)| against("beyond-cores", cores, last));
        for comparison in steps.chain(beyond) {
            let is_first = comparison.baseline.first() == Some(&format!("{}{suffix}", group.seats[0].name));
            let is_there = all.iter().any(|other| {
                other.treatment == comparison.treatment && other.baseline == comparison.baseline
            });
            if !is_first && !is_there {
                all.push(comparison);
            }
        }
    }
    all
}

/// The point at the number of cores, and the last one beyond it in which no two sessions share a logical CPU; without
/// SMT the last of all.
fn beyond_cores<'a>(sweep: &Sweep, line: &'a Line) -> Option<(&'a Point, &'a Point)> {
    let at = line.points.iter().find(|(sessions, _)| *sessions == sweep.cores)?;
    let beyond = || line.points.iter().filter(|(sessions, _)| *sessions > sweep.cores);
    let last = beyond().rfind(|(sessions, _)| *sessions <= sweep.allowed).or_else(|| beyond().next_back())?;
    Some((at, last))
}

/// The file's own comparisons, where both sides exist. One of the known pairs takes the file's name, and keeps its kind
/// if the file has none.
pub(super) fn own_comparisons(
    named: &mut Vec<Comparison>,
    file: &StudyFile,
    group: &Group,
    suffix: &str,
) -> Result<(), LoadError> {
    let is_there = |name: &str| group.seats.iter().any(|seat| seat.name == name);
    for raw in &file.raw.comparisons {
        let here =
            |name: &'_ Spanned<String>| group.aliases.get(name.get_ref()).unwrap_or(name.get_ref()).clone();
        let (top, under) = (here(&raw.treatment), here(&raw.baseline));
        if !is_there(&top) || !is_there(&under) || top == under {
            continue;
        }
        let comparison = Comparison {
            name: format!("{}{suffix}", raw.name.get_ref()),
            treatment: format!("{top}{suffix}"),
            baseline: below(&under, group, suffix),
            kind: raw.kind.clone().unwrap_or_else(|| NAMED.to_owned()),
        };
        add(named, comparison, file, raw)?;
    }
    Ok(())
}

/// Default kind of a file's comparison.
pub(super) const NAMED: &str = "named";

/// Adds a comparison of the file, or gives its name and kind to the known pair with the same sides.
///
/// # Errors
/// Another comparison has the name.
pub(super) fn add(
    named: &mut Vec<Comparison>,
    comparison: Comparison,
    file: &StudyFile,
    raw: &RawComparison,
) -> Result<(), LoadError> {
    // A sweep step keeps its kind: its chart line would have a gap.
    let is_same = |other: &Comparison| {
        other.treatment == comparison.treatment
            && other.baseline == comparison.baseline
            && PAIRS.iter().any(|(kind, ..)| *kind == other.kind)
    };
    let same = named.iter().position(is_same);
    let is_taken = |(at, other): (usize, &Comparison)| other.name == comparison.name && Some(at) != same;
    if named.iter().enumerate().any(is_taken) {
        let message =
            format!("comparison '{}' has the name of a built-in one; rename it", raw.name.get_ref());
        return Err(file.source.at(raw.name.span(), message));
    }
    match same {
        None => named.push(comparison),
        Some(at) => {
            named[at].name = comparison.name;
            if comparison.kind != NAMED {
                named[at].kind = comparison.kind;
            }
        }
    }
    Ok(())
}
