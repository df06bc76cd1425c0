//! `threadwise fleet`: the same study on many machines, placed by an engine that users already have.

pub mod args;
mod cell;
mod collect;
mod faults;
mod fit;
mod gather;
mod plan;
mod report;
mod status;
mod submit;

use crate::error::AppError;
use args::{FleetAction, FleetArgs};

/// Runs one of its steps.
pub fn fleet(args: &FleetArgs) -> Result<(), AppError> {
    match &args.action {
        FleetAction::Plan(args) => plan::plan(args),
        FleetAction::Submit(args) => submit::submit(args),
        FleetAction::Status(args) => status::status(args),
        FleetAction::Collect(args) => collect::collect(args),
        FleetAction::Report(args) => report::report(args),
        FleetAction::Cell(args) => cell::cell(args),
    }
}
