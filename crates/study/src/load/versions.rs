//! Two versions of a program in one study, compared placement by placement.
//!
//! They are in one group, not one group each as levels of a factor, so that there is one baseline with its twin and a
//! block has one run of each version and placement, plus one. A comparison is between versions on one placement, or
//! between placements of the first version; never both at once.

use super::candidate::Candidate;
use super::check::{level_fault, study_wide};
use super::factors;
use super::source::{LoadError, StudyFile};
use crate::version::NAMES;
use crate::{Instance, Options, Role};

/// The candidates of the command line's placements for each version; the first version on the first placement is the
/// baseline.
pub(super) fn candidates(versions: &[Options; 2], placed: Vec<Candidate>) -> Vec<Candidate> {
    let is_one = placed.len() == 1;
    let mut candidates: Vec<Candidate> = Vec::new();
    for candidate in placed {
        for (name, settings) in NAMES.into_iter().zip(versions) {
            let whole = if is_one { name.to_owned() } else { format!("{name} {}", candidate.name) };
            let of_version = Candidate {
                name: whole,
                set: factors::options(settings),
                instance: Instance::of(settings),
                version: Some(name),
                ..candidate.clone()
            };
            if candidates.is_empty() {
                let baseline = Candidate { role: Role::Baseline, ..of_version };
                candidates.extend([baseline.clone(), baseline.twin()]);
            } else {
                candidates.push(of_version);
            }
        }
    }
    candidates
}

/// Checks what versions do not allow.
///
/// # Errors
/// An invalid setting, equal versions, or a study with treatments beside its placements.
pub(super) fn check(file: &StudyFile, versions: &[Options; 2]) -> Result<(), LoadError> {
    let definition = &file.definition;
    let has_others = definition.section().is_some() || definition.external.is_some();
    let why = format!(
        "study {} has treatments beside placements: compare two levels there with --factor of threadwise run",
        file.name()
    );
    LoadError::option_if(has_others, "ab", why)?;
    for (name, settings) in NAMES.into_iter().zip(versions) {
        for (key, value) in settings {
            let fault = study_wide(file.workload(), key)
                .or_else(|| level_fault(file.workload(), key, value))
                .or_else(|| {
                    definition.factors.contains_key(key).then(|| "it is a factor of this study".to_owned())
                });
            if let Some(why) = fault {
                let option = format!("--{} {key}={value}", name.to_lowercase());
                return Err(LoadError::option(option, why));
            }
        }
    }
    let why = "both versions are the same: there is nothing to compare";
    LoadError::option_if(versions[0] == versions[1], "ab", why)
}
