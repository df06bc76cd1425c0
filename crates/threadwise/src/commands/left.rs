//! What was left bound or switched by processes that were killed, before any other work: commands that run something
//! put it back, and those that only read say so.

use crate::cli::{Command, DoctorArgs};
use crate::commands::engine::EngineAction;
use crate::commands::fleet::args::FleetAction;
use crate::commands::smt::{self, SmtAction};
use crate::error::AppError;
use crate::output;
use std::path::PathBuf;
use threadwise_process::journal::{self, PutBack};
use threadwise_process::state;

/// How many failures are shown.
const SHOWN: usize = 3;

/// Before a command: restores or says what is left, on standard error. Whatever comes of it, the command
/// goes on, since it need not have to do with the processes concerned.
pub fn before(command: &Command) {
    // Without a place for a state folder nothing was ever bound.
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
            // They say more themselves.
            SmtAction::Status(_) | SmtAction::Restore => {}
        },
        Command::Doctor(DoctorArgs { restore: true, .. }) => {}
        Command::Completions(_) | Command::Man => {}
        // Processes of a study that is running.
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

/// Says which servers still have a setting of a killed study: putting that back takes a login there.
fn show_servers() {
    match state::lasting_folder().map(|folder| journal::left_lasting(&folder)) {
        Ok(Ok(said)) => said.iter().for_each(|line| output::tell(&format!("threadwise: {line}"))),
        Ok(Err(error)) => output::tell(&format!("threadwise: {error}")),
        // Without a place for it nothing was ever changed.
        Err(_) => {}
    }
}

fn show(folder: PathBuf) {
    show_servers();
    match smt::is_left(&folder) {
        Ok(false) => {}
        Ok(true) => output::tell(
            "threadwise: SMT, logical CPUs or clocks are as a killed process left them; to put that back: threadwise smt restore",
        ),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
    match journal::left(&folder) {
        Ok(bound) if bound.is_empty() => {}
        Ok(bound) => output::tell(&format!(
            "threadwise: {bound} left bound by a study that was killed; to put that back: threadwise doctor --restore"
        )),
        Err(error) => output::tell(&format!("threadwise: {error}")),
    }
}

/// `doctor --restore`: only that.
///
/// # Errors
/// Something could not be put back.
pub fn restore_only() -> Result<(), AppError> {
    let folder = state::folder().map_err(AppError::Input)?;
    let switched = smt::put_left_back(&folder)?;
    let done = journal::put_left_back(&folder).map_err(AppError::failed)?;
    let said = [switched, lines(&done)].concat();
    match done.failed.is_empty() {
        true if said.is_empty() => {
            output::print("Nothing is left bound or switched by a process that was killed.\n")
        }
        true => output::print(&format!("{}\n", said.join("\n"))),
        false => Err(AppError::Failed(said.join("; "))),
    }
}

fn lines(done: &PutBack) -> Vec<String> {
    let mut lines = Vec::new();
    if !done.bound.is_empty() {
        lines.push(format!("put back: {}, left bound by a study that was killed", done.bound));
    }
    let more = done.failed.len().saturating_sub(SHOWN);
    lines.extend(done.failed.iter().take(SHOWN).map(|why| format!("not put back: {why}")));
    lines.extend((more > 0).then(|| format!("not put back: {more} more")));
    lines
}
