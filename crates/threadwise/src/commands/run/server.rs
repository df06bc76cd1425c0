//! A server that a study of commands binds: its checks, and how it is shown, before anything runs.

use crate::error::AppError;
use std::collections::BTreeSet;
use threadwise_engine::engines::command::pin_server;
use threadwise_machine::text::escaped;
use threadwise_machine::{CpuSet, Topology};
use threadwise_process::journal;
use threadwise_study::command::CommandOptions;
use threadwise_study::{Study, Treatment, Workload, plan_block};

/// Whether a study has such a server.
pub fn is_there(study: &Study) -> bool {
    study.workload == Workload::Command
        && study.treatments.iter().any(|treatment| options(treatment).is_some())
}

/// What is bound, one line a server. Empty without a server.
///
/// # Errors
/// The journal of masks has no folder; the server does not exist, must not be bound, is bound by another study, or may
/// not use the logical CPUs of the first block.
pub fn remarks(study: &Study, topology: &Topology, is_plan: bool) -> Result<Vec<String>, AppError> {
    if !is_there(study) {
        return Ok(Vec::new());
    }
    let journal = journal::new_path().map_err(no_journal)?;
    if !is_plan {
        journal::check_folder(&journal).map_err(no_journal)?;
    }
    let plan = plan_block(study, topology, 0).map_err(AppError::refused)?;
    let mut found = BTreeSet::new();
    for (treatment, placement) in study.treatments.iter().zip(&plan.placements) {
        let Some(name) = options(treatment).and_then(|options| options.pin_server) else { continue };
        let server = pin_server::find(&name).map_err(AppError::input)?;
        journal::expect_unbound(&journal, &server)
            .map_err(|why| AppError::Input(format!("the server of {name}: {why}")))?;
        let cpus: CpuSet = placement.set();
        pin_server::expect_allowed(&server, &cpus).map_err(AppError::refused)?;
        found.insert(format!(
            "Server of {name}: {} will be bound to each treatment's logical CPUs for its runs, and restored \
             after each",
            server.described()
        ));
    }
    // A process chooses its own name.
    Ok(found.iter().map(|line| escaped(line)).collect())
}

/// Without a journal, processes of others are not bound.
fn no_journal(why: impl std::fmt::Display) -> AppError {
    AppError::Input(format!("--pin-server needs a folder for its journal of masks: {why}"))
}

fn options(treatment: &Treatment) -> Option<CommandOptions> {
    CommandOptions::read(&treatment.options).ok().filter(|options| options.pin_server.is_some())
}
