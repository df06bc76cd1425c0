//! What killed processes left bound or switched, before any other work: commands that run something restore it, others
//! only report it.

use crate::cli::{Command, DoctorArgs};
use crate::commands::engine::EngineAction;
use crate::commands::fleet::args::FleetAction;
use crate::commands::smt::{self, SmtAction};
use crate::error::AppError;
use crate::output;
use std::path::PathBuf;
use threadwise_process::journal::{self, PutBack};
use threadwise_process::state;

/// Maximum failures shown.
const SHOWN: usize = 3;

/// Before a command: restores or reports what is left, on standard error. The command continues in any case, since it
/// may be unrelated to these processes.
pub fn before(command: &Command) {
    // Without a state folder nothing was ever bound.
    let Ok(folder) = state::folder() else { return };
    match command {
        Command::Run(args) if !args.measure.plan => restore(folder),
        Command::Pool(args) if !args.measure.plan => restore(folder),
        Command::Maxdop(args) if !args.measure.plan => restore(folder),
        Command::Bind(args) if !args.measure.plan => restore(folder),
        Command::Ab(args) if !args.measure.plan => restore(folder),
        Command::Reload(args) if !args.dry_run => restore(folder),
        Command::Engine(args) if matches!(args.action, EngineAction::Add(_)) => restore(folder),
        Command::Probe(_) => restore(folder),
        Command::Fleet(args) if matches!(args.action, FleetAction::Cell(_)) => restore(folder),
        Command::Smt(args) => match args.action {
            SmtAction::Off(_) | SmtAction::On(_) => restore(folder),
            // These commands report it themselves.
            SmtAction::Status(_) | SmtAction::Restore => {}
        },
        Command::Doctor(DoctorArgs { restore: true, .. }) => {}
        Command::Completions(_) | Command::Man => {}
        // The processes belong to a running study.
        Command::Worker(_)
        | Command::Janitor(_)
        | Command::ReloadWatchdog(_)
        | Command::ReloadAsOwner
        | Command::SmtWatchdog(_)
        | Command::WorklistRun(_)
        | Command::WorklistSqlite(_) => {}
        _ => show(folder),
    }
}

fn restore(folder: PathBuf) {
    show_servers();
    // First, since masks may need logical CPUs that are offline.
    match smt::put_left_back(&folder) {
        Ok(done) => done.iter().for_each(|line| output::tell(&format!("threadwise: {line}"))),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
    match journal::put_left_back(&folder) {
        Ok(done) => lines(&done).iter().for_each(|line| output::tell(&format!("threadwise: {line}"))),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
}

/// Reports servers that still have a setting of a killed study: restoring it needs a login there.
fn show_servers() {
    match state::lasting_folder().map(|folder| journal::left_lasting(&folder)) {
        Ok(Ok(said)) => said.iter().for_each(|line| output::tell(&format!("threadwise: {line}"))),
        Ok(Err(error)) => output::tell(&format!("threadwise: {error}")),
        // Without a state folder nothing was ever changed.
        Err(_) => {}
    }
}

fn show(folder: PathBuf) {
    show_servers();
    match smt::is_left(&folder) {
        Ok(false) => {}
        Ok(true) => output::tell(
            "threadwise: SMT, logical CPUs or clocks are as a killed process left them; to restore them: threadwise smt restore",
        ),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
    match journal::left(&folder) {
        Ok(bound) if bound.is_empty() => {}
        Ok(bound) => output::tell(&format!(
            "threadwise: {bound} left bound by a killed study; to unbind: threadwise doctor --restore"
        )),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
}

/// `doctor --restore`.
///
/// # Errors
/// Something could not be restored.
pub fn restore_only() -> Result<(), AppError> {
    let folder = state::folder().map_err(AppError::Input)?;
    let switched = smt::put_left_back(&folder)?;
    let done = journal::put_left_back(&folder).map_err(AppError::failed)?;
    let said = [switched, lines(&done)].concat();
    match done.failed.is_empty() {
        true if said.is_empty() => output::print("Killed processes left nothing bound or switched.\n"),
        true => output::print(&format!("{}\n", said.join("\n"))),
        false => Err(AppError::Failed(said.join("; "))),
    }
}

fn lines(done: &PutBack) -> Vec<String> {
    let mut lines = Vec::new();
    if !done.bound.is_empty() {
        lines.push(format!("restored: {}, left bound by a killed study", done.bound));
    }
    let more = done.failed.len().saturating_sub(SHOWN);
    lines.extend(done.failed.iter().take(SHOWN).map(|why| format!("not restored: {why}")));
    lines.extend((more > 0).then(|| format!("not restored: {more} more")));
    lines
}
