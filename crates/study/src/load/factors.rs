//! Factors: the levels of a study, which of them are options of the workload, and which are arms.

use std::collections::BTreeMap;

use threadwise_machine::{Draw, Topology, placement};

use super::candidate::{Candidate, Group};
use super::check::levels_fault;
use super::overrides::Overrides;
use super::source::{LoadError, StudyFile};
use crate::arm::FACTORS;
use crate::instance::{self, CACHE, DEVICE_FACTOR, ENGINE_FACTOR};
use crate::plan::first_threads::has_siblings;
use crate::{Arm, ComparisonKind, OptionValue, Options, Role, SmtWay};

/// Levels by factor: the command line's if given, otherwise the file's.
///
/// # Errors
/// An invalid or duplicate level of the command line.
pub(super) fn factors(
    file: &StudyFile,
    overrides: &Overrides,
) -> Result<BTreeMap<String, Vec<OptionValue>>, LoadError> {
    let mut factors = file.definition.factors.clone();
    for (factor, levels) in &mut factors {
        if let Some(only) = overrides.options.get(factor) {
            *levels = vec![only.clone()];
        }
    }
    for (factor, levels) in &overrides.factors {
        let is_arm = FACTORS.contains(&factor.as_str());
        let option = if is_arm { format!("--{factor}") } else { format!("--factor {factor}") };
        if let Some((_, why)) = levels_fault(file.workload(), factor, levels) {
            return Err(LoadError::option(option, why));
        }
        factors.insert(factor.clone(), levels.clone());
    }
    Ok(factors)
}

/// Levels that are options of the workload.
pub(super) fn options(levels: &Options) -> Options {
    let is_option = |factor: &String| !FACTORS.contains(&factor.as_str()) && !instance::is_factor(factor);
    levels.iter().filter(|(factor, _)| is_option(factor)).map(|(f, l)| (f.clone(), l.clone())).collect()
}

/// Kind of the comparisons of a factor whose levels are all compared with the first; `None` for other factors.
pub(super) fn kind(factor: &str) -> Option<ComparisonKind> {
    match factor {
        "smt" => Some(ComparisonKind::SmtWay),
        "turbo" => Some(ComparisonKind::Turbo),
        "governor" => Some(ComparisonKind::Governor),
        CACHE | DEVICE_FACTOR => Some(ComparisonKind::Instance),
        _ if factor.starts_with(ENGINE_FACTOR) => Some(ComparisonKind::Instance),
        _ => None,
    }
}

/// The arm of checked levels.
pub(super) fn arm(levels: &Options) -> Arm {
    let mut arm = Arm::default();
    for (factor, level) in levels.iter().filter(|(factor, _)| FACTORS.contains(&factor.as_str())) {
        // Invalid levels were refused before.
        let _ = arm.set(factor, &level.to_string());
    }
    arm
}

/// Removes candidates that need both threads of a core from groups without SMT, and lists them. Returns their names.
pub(super) fn leave_out_siblings(
    groups: &mut [Group],
    topology: &Topology,
    left_out: &mut Vec<String>,
) -> Vec<String> {
    let mut both_threads: Vec<String> = Vec::new();
    for group in groups.iter_mut().filter(|group| group.arm.smt != SmtWay::Mask) {
        let way = group.arm.smt.word();
        let gone =
            |candidate: &Candidate| candidate.role == Role::Compared && uses_siblings(candidate, topology);
        for candidate in group.candidates.iter().filter(|candidate| gone(candidate)) {
            let line = format!("{} with smt={way}: it needs both threads of a core", candidate.name);
            if !left_out.contains(&line) {
                left_out.push(line);
            }
            if !both_threads.contains(&candidate.name) {
                both_threads.push(candidate.name.clone());
            }
        }
        group.candidates.retain(|candidate| !gone(candidate));
    }
    both_threads
}

fn uses_siblings(candidate: &Candidate, topology: &Topology) -> bool {
    let Candidate { placement, sessions, pin, .. } = candidate;
    placement::resolve(placement, topology, &Draw::identity(topology), *sessions, *pin)
        .is_ok_and(|found| has_siblings(topology, &found.set()))
}
