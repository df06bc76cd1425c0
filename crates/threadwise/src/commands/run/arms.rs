//! Arms of a study: whether this machine can be switched into them, and the confirmation.

use super::fault::runner_error;
use crate::cli::RunArgs;
use crate::commands::smt;
use crate::error::AppError;
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_process::state;
use threadwise_runner::{Switching, switch};
use threadwise_smt::Roots;
use threadwise_study::arm::FACTORS;
use threadwise_study::{OptionValue, Study};

/// Levels of arm factors on the command line, by factor.
pub fn levels(args: &RunArgs) -> BTreeMap<String, Vec<OptionValue>> {
    let texts = |levels: &Vec<String>| levels.iter().cloned().map(OptionValue::Text).collect();
    let given = FACTORS.into_iter().zip([&args.smt, &args.turbo, &args.governor]);
    given.filter_map(|(factor, levels)| Some((factor.to_owned(), levels.as_ref().map(texts)?))).collect()
}

/// The plan's lines about arms.
pub fn remark(study: &Study) -> Option<String> {
    study.switches().then(|| what(study))
}

/// Checks for a plan that the machine can be switched.
///
/// # Errors
/// It cannot.
pub fn check(study: &Study, topology: &Topology) -> Result<(), AppError> {
    if !study.switches() {
        return Ok(());
    }
    switch::check(study, topology, &Roots::live(), smt::cpuset()).map_err(|error| runner_error(&error))
}

/// Checks that the machine can be switched, and asks.
///
/// # Errors
/// It cannot, or the user did not confirm; nothing was changed.
pub fn confirm(study: &Study, topology: &Topology, yes: bool) -> Result<(), AppError> {
    check(study, topology)?;
    if study.switches() { smt::confirm(&what(study), yes) } else { Ok(()) }
}

fn what(study: &Study) -> String {
    let arms: Vec<String> = study.arms().iter().map(ToString::to_string).collect();
    format!(
        "The machine is switched inside each block, for all its users, between: {}. At the end everything is restored",
        arms.join("; ")
    )
}

/// The switch for the runner.
///
/// # Errors
/// The journal has no folder.
pub fn switching(study: &Study) -> Result<Option<Switching>, AppError> {
    if !study.switches() {
        return Ok(None);
    }
    let folder = state::folder().map_err(AppError::Input)?;
    Ok(Some(Switching { watchdog: smt::watchdog_start(), folder, cpuset: smt::cpuset() }))
}
