//! Factors: the levels of a study, and which of them are options of the workload.

use std::collections::BTreeMap;

use super::check::{level_fault, study_wide};
use super::error::LoadError;
use super::file::StudyFile;
use super::overrides::Overrides;
use super::raw::option_value;
use crate::arm::FACTORS;
use crate::instance::{self, CACHE, DEVICE_FACTOR, ENGINE_FACTOR};
use crate::{OptionValue, Options};

/// Levels by factor: the command line's if given, otherwise the file's.
///
/// # Errors
/// An invalid or duplicate level of the command line.
pub(super) fn factors(
    file: &StudyFile,
    overrides: &Overrides,
) -> Result<BTreeMap<String, Vec<OptionValue>>, LoadError> {
    let mut factors: BTreeMap<String, Vec<OptionValue>> = BTreeMap::new();
    for (factor, levels) in &file.raw.factors {
        let levels = match overrides.options.get(factor) {
            Some(only) => vec![only.clone()],
            None => levels.get_ref().iter().filter_map(|level| option_value(level.get_ref())).collect(),
        };
        factors.insert(factor.clone(), levels);
    }
    for (factor, levels) in &overrides.factors {
        let is_arm = FACTORS.contains(&factor.as_str());
        let option = if is_arm { format!("--{factor}") } else { format!("--factor {factor}") };
        asked(file, factor, levels).map_err(|why| LoadError::Override { option, why })?;
        factors.insert(factor.clone(), levels.clone());
    }
    Ok(factors)
}

/// Checks levels of the command line.
fn asked(file: &StudyFile, factor: &str, levels: &[OptionValue]) -> Result<(), String> {
    if levels.is_empty() {
        return Err("no level is given".to_owned());
    }
    if let Some(why) = study_wide(&file.raw, factor) {
        return Err(why);
    }
    for (at, level) in levels.iter().enumerate() {
        if let Some(why) = level_fault(file.raw.workload.get_ref(), factor, level) {
            return Err(why);
        }
        if levels[..at].contains(level) {
            return Err(format!("'{level}' appears twice"));
        }
    }
    Ok(())
}

/// Levels that are options of the workload.
pub(super) fn options(levels: &Options) -> Options {
    let is_option = |factor: &String| !FACTORS.contains(&factor.as_str()) && !instance::is_factor(factor);
    levels.iter().filter(|(factor, _)| is_option(factor)).map(|(f, l)| (f.clone(), l.clone())).collect()
}

/// Kind of the comparisons of a factor whose levels are all compared with the first: `smt-way`, the arm's name, or
/// `instance`. `None` for other factors.
pub(super) fn kind(factor: &str) -> Option<&str> {
    match factor {
        "smt" => Some("smt-way"),
        _ if FACTORS.contains(&factor) => Some(factor),
        CACHE | DEVICE_FACTOR => Some("instance"),
        _ if factor.starts_with(ENGINE_FACTOR) => Some("instance"),
        _ => None,
    }
}
