//! Two versions of a program in one study, compared placement by placement.
//!
//! They are in one group, not one group each as levels of a factor, so that there is one baseline with its twin and a
//! block has one run of each version and placement, plus one. A comparison is between versions on one placement, or
//! between placements of the first version; never both at once.

use super::check::{level_fault, study_wide};
use super::error::LoadError;
use super::factors;
use super::file::StudyFile;
use super::seat::{Group, Seat};
use crate::version::{KIND, NAMES};
use crate::{Comparison, Instance, Options, Role};

/// The seats of the command line's placements for each version; the first version on the first placement is the
/// baseline.
pub(super) fn seats(versions: &[Options; 2], placed: Vec<Seat>) -> Vec<Seat> {
    let is_one = placed.len() == 1;
    let mut seats: Vec<Seat> = Vec::new();
    for seat in placed {
        for (name, settings) in NAMES.into_iter().zip(versions) {
            let whole = if is_one { name.to_owned() } else { format!("{name} {}", seat.name) };
            let of_version = Seat {
                name: whole,
                set: factors::options(settings),
                instance: Instance::of(settings),
                version: Some(name),
                ..seat.clone()
            };
            if seats.is_empty() {
                let twin = Seat {
                    name: format!("{}'", of_version.name),
                    role: Role::BaselineTwin,
                    ..of_version.clone()
                };
                seats.extend([Seat { role: Role::Baseline, ..of_version }, twin]);
            } else {
                seats.push(of_version);
            }
        }
    }
    seats
}

/// Checks what versions do not allow.
///
/// # Errors
/// An invalid setting, equal versions, or a study with treatments beside its placements.
pub(super) fn check(file: &StudyFile, versions: &[Options; 2]) -> Result<(), LoadError> {
    let raw = &file.raw;
    if raw.dop.is_some() || raw.jobs.is_some() || raw.external.is_some() {
        let why = format!(
            "study {} has treatments beside placements: compare two levels there with --factor of threadwise run",
            file.name()
        );
        return Err(LoadError::Override { option: "ab".to_owned(), why });
    }
    for (name, settings) in NAMES.into_iter().zip(versions) {
        for (key, value) in settings {
            let fault = study_wide(raw, key)
                .or_else(|| level_fault(raw.workload.get_ref(), key, value))
                .or_else(|| raw.factors.contains_key(key).then(|| "it is a factor of this study".to_owned()));
            if let Some(why) = fault {
                let option = format!("--{} {key}={value}", name.to_lowercase());
                return Err(LoadError::Override { option, why });
            }
        }
    }
    if versions[0] == versions[1] {
        let why = "both versions are the same: there is nothing to compare".to_owned();
        return Err(LoadError::Override { option: "ab".to_owned(), why });
    }
    Ok(())
}

/// The comparisons of a group with versions: the second over the first on each placement, then every placement of the
/// first over the first placement.
pub(super) fn comparisons(group: &Group, suffix: &str) -> Vec<Comparison> {
    let seats_of = |version: &str| -> Vec<&Seat> {
        let seats = group.seats.iter().filter(|seat| seat.role != Role::BaselineTwin);
        seats.filter(|seat| seat.version == Some(version)).collect()
    };
    let (first, second) = (seats_of(NAMES[0]), seats_of(NAMES[1]));
    let comparison = |top: &Seat, below: &Seat, kind: &str| Comparison {
        name: format!("{}{suffix} : {}", top.name, below.name),
        treatment: format!("{}{suffix}", top.name),
        baseline: super::comparisons::below(&below.name, group, suffix),
        kind: kind.to_owned(),
    };
    // All studies use this name for comparisons with the baseline.
    let kind = |at: usize| if at == 0 { "baseline" } else { KIND };
    let over =
        second.iter().zip(&first).enumerate().map(|(at, (top, below))| comparison(top, below, kind(at)));
    let places = first.iter().skip(1).map(|top| comparison(top, first[0], "baseline"));
    over.chain(places).collect()
}
