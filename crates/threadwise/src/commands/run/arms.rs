//! Arms of a study: whether this machine can be switched into them, and asking before it is.

use super::fault::runner_error;
use crate::cli::RunArgs;
use crate::commands::smt;
use crate::error::AppError;
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_process::state;
use threadwise_runner::{Switching, Worker, switch};
use threadwise_smt::Roots;
use threadwise_study::arm::FACTORS;
use threadwise_study::{OptionValue, Study};

/// Levels of arm factors on the command line, by factor.
pub fn levels(args: &RunArgs) -> BTreeMap<String, Vec<OptionValue>> {
    let texts = |levels: &Vec<String>| levels.iter().cloned().map(OptionValue::Text).collect();
    let given = FACTORS.into_iter().zip([&args.smt, &args.turbo, &args.governor]);
    given.filter_map(|(factor, levels)| Some((factor.to_owned(), levels.as_ref().map(texts)?))).collect()
}

/// What the plan says of arms.
pub fn remark(study: &Study) -> Option<String> {
    study.switches().then(|| what(study))
}

/// Checks that the machine can be switched; a plan that it cannot follow is none.
///
/// # Errors
/// It cannot be.
pub fn check(study: &Study, topology: &Topology) -> Result<(), AppError> {
    if !study.switches() {
        return Ok(());
    }
    switch::check(study, topology, &Roots::live(), smt::cpuset()).map_err(|error| runner_error(&error))
}

/// Checks that the machine can be switched, and asks.
///
/// # Errors
/// It cannot be, or nobody confirmed it; nothing was changed.
pub fn confirm(study: &Study, topology: &Topology, yes: bool) -> Result<(), AppError> {
    check(study, topology)?;
    if study.switches() { smt::confirm(&what(study), yes) } else { Ok(()) }
}

fn what(study: &Study) -> String {
    let arms: Vec<String> = study.arms().iter().map(ToString::to_string).collect();
    format!(
        "The machine is switched inside each block, for everybody on it, between: {}. At the end everything is put back",
        arms.join("; ")
    )
}

/// How the runner switches.
///
/// # Errors
/// There is no place for the journal.
pub fn switching(study: &Study) -> Result<Option<Switching>, AppError> {
    if !study.switches() {
        return Ok(None);
    }
    let watchdog = Worker {
        program: "/proc/self/exe".into(),
        args: vec!["smt-watchdog".to_owned()],
        environment: Vec::new(),
        withheld: Vec::new(),
    };
    let folder = state::folder().map_err(AppError::Input)?;
    Ok(Some(Switching { watchdog, folder, cpuset: smt::cpuset() }))
}
