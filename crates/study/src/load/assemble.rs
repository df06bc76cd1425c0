//! Builds the treatments and comparisons of a study from its groups: names, levels and sides.

use std::collections::BTreeMap;

use threadwise_machine::{Memory, Topology};

use super::dop::{self, Point};
use super::error::LoadError;
use super::file::StudyFile;
use super::jobs;
use super::overrides::Overrides;
use super::quota::{self, Reached};
use super::seat::{Group, Seat, suffix, varying};
use super::sweep::Sweep;
use super::{asked, comparisons, versions};
use crate::instance::{DEVICE_FACTOR, ENGINE_FACTOR};
use crate::{Instance, Study, Treatment, version};

/// Maximum number of treatments of a study: more workers would not fit a machine.
pub const MAX_TREATMENTS: usize = 500;

/// Sources of comparisons.
pub(super) struct Parts<'a> {
    pub sweep: Option<&'a Sweep>,
    pub dops: &'a [Point],
    pub jobs: &'a [jobs::Point],
    pub reached: Option<&'a Reached<'a>>,
}

/// Treatments and comparisons of all groups.
///
/// # Errors
/// A duplicate name of treatments or comparisons, or too many treatments.
pub(super) fn assemble(
    study: &mut Study,
    groups: &[Group],
    parts: &Parts<'_>,
    file: &StudyFile,
    (topology, overrides): (&Topology, &Overrides),
) -> Result<(), LoadError> {
    let varying = varying(groups);
    let has_placements = overrides.placements.is_some() && file.raw.dop.is_none() && file.raw.jobs.is_none();
    let mut named = Vec::new();
    for group in groups {
        let suffix = suffix(group, groups);
        let label = |factor: &&String| Some(format!("{factor}={}", group.labels.get(*factor)?));
        let name: Vec<String> = varying.iter().filter_map(label).collect();
        for seat in &group.seats {
            study.treatments.push(Treatment {
                name: format!("{}{suffix}", seat.name),
                group: name.join(","),
                role: seat.role,
                placement: seat.placement.clone(),
                sessions: seat.sessions,
                pin: seat.pin,
                memory: seat.memory.clone(),
                service: seat.service.clone(),
                arm: group.arm.clone(),
                instance: Instance::of(&group.levels).with(&seat.instance),
                options: group.options.clone().into_iter().chain(seat.set.clone()).collect(),
                factors: factors(group, seat),
            });
        }
        if overrides.versions.is_some() {
            study.comparisons.extend(versions::comparisons(group, &suffix));
            continue;
        }
        study.comparisons.extend(comparisons::against_baseline(group, &suffix));
        named.extend(comparisons::pairs(group, &suffix));
        if let Some(sweep) = parts.sweep.filter(|_| group.has_sweep) {
            named.extend(comparisons::steps(sweep, group, &suffix));
        }
        if let Some(reached) = parts.reached {
            named.extend(quota::comparisons(reached, group, &suffix));
        }
        named.extend(dop::comparisons(parts.dops, &group.seats, &suffix));
        named.extend(jobs::comparisons(parts.jobs, &group.seats, &suffix));
        if has_placements {
            let dropped = asked::kept(&mut named, file, topology, group, &suffix)?;
            // Equal in every group.
            study.left_out.extend(
                dropped.into_iter().filter(|line| !study.left_out.contains(line)).collect::<Vec<_>>(),
            );
        } else {
            comparisons::own_comparisons(&mut named, file, group, &suffix)?;
        }
    }
    study.comparisons.extend(named);
    unique(study, file)
}

/// The levels of a treatment as tables show them: its group's, and its memory policy if it has one.
fn factors(group: &Group, seat: &Seat) -> BTreeMap<String, String> {
    let mut factors = group.labels.clone();
    if seat.memory != Memory::Local {
        factors.entry("memory".to_owned()).or_insert_with(|| seat.memory.to_string());
    }
    factors.extend(seat.set.iter().map(|(key, value)| (key.clone(), value.to_string())));
    let instance = seat.instance.options.iter();
    factors.extend(instance.map(|(key, value)| (format!("{ENGINE_FACTOR}{key}"), value.to_string())));
    factors.extend(seat.instance.device.clone().map(|folder| (DEVICE_FACTOR.to_owned(), folder)));
    factors.extend(seat.version.map(|name| (version::FACTOR.to_owned(), name.to_owned())));
    if let Some(service) = &seat.service {
        factors.entry("service".to_owned()).or_insert_with(|| service.to_string());
    }
    factors
}

pub(super) fn too_many(file: &StudyFile) -> LoadError {
    let message = format!("more than {MAX_TREATMENTS} treatments; remove factors, levels or sweep points");
    file.source.at(0..0, message)
}

fn unique(study: &Study, file: &StudyFile) -> Result<(), LoadError> {
    if study.treatments.len() > MAX_TREATMENTS {
        return Err(too_many(file));
    }
    let mut names: Vec<&str> = study.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(file.source.at(0..0, format!("two treatments are called '{}'; rename one", pair[0])))
        }
        None => Ok(()),
    }
}
