//! `threadwise smt`: switches SMT off and on.

mod args;
mod shown;

pub use args::{SmtAction, SmtArgs, SmtStatusArgs};

use crate::commands::stop_flag_without_thread;
use crate::error::AppError;
use crate::output;
use args::SmtOffArgs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_machine::CpuSet;
use threadwise_process::watchdog::Start;
use threadwise_process::{find, state};
use threadwise_smt::left::{self, Holder};
use threadwise_smt::{Arm, Facts, Held, Kernel, Live, Roots, Smt, SmtError, Status, refuse, watchdog};

/// The subcommand.
pub fn smt(args: &SmtArgs) -> Result<(), AppError> {
    match &args.action {
        SmtAction::Status(args) => status(args),
        SmtAction::Off(args) => switch(&|facts| arm_of_off(args, facts), args.yes),
        SmtAction::On(args) => switch(&|_| Arm::smt(Smt::On), args.yes),
    }
}

/// The watchdog of a journal.
///
/// # Errors
/// Something could not be restored.
pub fn watch(journal: &Path, stdin: &mut dyn Read) -> Result<(), AppError> {
    watchdog::watch(&Live::new(), journal, stdin).map_err(app_error)
}

/// Restores what a journal has; says what.
///
/// # Errors
/// Something could not be restored.
pub fn put_back(journal: &Path) -> Result<String, AppError> {
    let done = left::put_back(&Live::new(), journal).map_err(app_error)?;
    match done.failed.is_empty() {
        true => Ok(done.to_string()),
        false => Err(AppError::failed(SmtError::NotRestored(done.failed))),
    }
}

fn app_error(error: SmtError) -> AppError {
    match error {
        SmtError::Refused(_) | SmtError::InUse { .. } | SmtError::Switched { .. } => AppError::refused(error),
        error => AppError::failed(error),
    }
}

/// This program as the watchdog of a machine that is switched.
pub fn watchdog_start() -> Start {
    Start::new("/proc/self/exe", ["watchdog", "machine"])
}

/// The logical CPUs that this process's control group allows.
pub fn cpuset() -> Option<CpuSet> {
    find::allowed_cpus(std::process::id())
}

fn status(args: &SmtStatusArgs) -> Result<(), AppError> {
    let is_live = args.root == Path::new("/");
    let roots = Roots::below(&args.root);
    if !roots.sys.join("devices/system/cpu").is_dir() {
        let path = roots.sys.join("devices/system/cpu");
        return Err(AppError::Input(format!("{} does not exist: is sysfs mounted?", path.display())));
    }
    // A recorded machine has no journals, and those here are not about it.
    let journals = match state::folder() {
        Ok(folder) if is_live => left::found(&folder).map_err(AppError::failed)?,
        _ => Vec::new(),
    };
    let cpuset = is_live.then(cpuset).flatten();
    let status = Status::read(&roots, cpuset, &journals).map_err(AppError::failed)?;
    output::print(&if args.json { shown::json(&status) } else { shown::text(&status) })
}

fn arm_of_off(args: &SmtOffArgs, facts: &Facts) -> Arm {
    match args.offline {
        false => Arm::smt(Smt::Off),
        true => {
            let keep = args.cpus.clone().unwrap_or_else(|| facts.first_of_cores());
            Arm::smt(Smt::Offline { keep })
        }
    }
}

/// Switches permanently.
fn switch(arm: &dyn Fn(&Facts) -> Arm, yes: bool) -> Result<(), AppError> {
    let (live, folder) = (Live::new(), state::folder().map_err(AppError::Input)?);
    let kept = left::found(&folder).map_err(AppError::failed)?;
    let kept = kept.into_iter().find(|found| found.holder == Holder::Kept);
    let facts = Facts::read(live.roots(), cpuset()).map_err(|error| app_error(error.into()))?;
    let wanted = arm(&facts);
    let word = match wanted.smt {
        Some(Smt::Off) => Some("off"),
        Some(Smt::On) if kept.is_none() => Some("on"),
        _ => None,
    };
    if word.is_some() && word == facts.control.as_deref() {
        let how = if kept.is_some() { "; to restore the earlier state: threadwise restore" } else { "" };
        return output::print(&format!("{wanted} already; nothing was changed{how}.\n"));
    }
    // An earlier switch hides the effect of this one, which is computed after restoring.
    if kept.is_none() {
        refuse::check(live.roots(), &facts, &wanted).map_err(AppError::Refused)?;
    }
    confirm(&question(&wanted, &facts), yes)?;
    let stop = stop_flag_without_thread()?;
    let start = watchdog_start();
    let mut held = match &kept {
        Some(found) => Held::take_over(&live, &found.path, &cpuset, Some(&start)),
        None => Held::begin(&live, &folder, cpuset(), Some(&start)),
    }
    .map_err(app_error)?;
    let wanted = arm(held.facts());
    match held.apply(&wanted) {
        Ok(_) if !stop.load(Ordering::Relaxed) => {
            held.keep().map_err(app_error)?;
            output::print(&format!("{wanted}. To restore everything: threadwise restore\n"))
        }
        Ok(_) => give_up(held, &stop, None),
        Err(error) if kept.is_none() => give_up(held, &stop, Some(app_error(error))),
        Err(error) => {
            let why = format!("{error}; the earlier switch has been restored");
            give_up(held, &stop, Some(AppError::Failed(why)))
        }
    }
}

/// Restores everything after an error or a signal.
fn give_up(held: Held<'_>, stop: &AtomicBool, error: Option<AppError>) -> Result<(), AppError> {
    let done = held.restore().map_err(app_error)?;
    match error {
        Some(error) => Err(error),
        None if !done.failed.is_empty() => Err(AppError::failed(SmtError::NotRestored(done.failed))),
        None if stop.load(Ordering::Relaxed) => {
            Err(AppError::Interrupted("stopped; everything is restored".to_owned()))
        }
        None => Ok(()),
    }
}

/// What will be done, in words.
fn question(arm: &Arm, facts: &Facts) -> String {
    let (gone, perhaps) = match &arm.smt {
        Some(Smt::Off) => (facts.siblings_of(&facts.first_of_cores()), facts.perhaps_second()),
        Some(Smt::Offline { keep }) => (facts.siblings_of(keep), CpuSet::new()),
        _ => <(CpuSet, CpuSet)>::default(),
    };
    let bound = facts.first.tasks.values().filter(|mask| mask.is_subset(&gone)).count();
    let mut text = format!("{arm}, for all users of this machine, until threadwise restore");
    if !gone.is_empty() {
        text.push_str(&format!("; logical CPUs {gone} go offline"));
    }
    if !perhaps.is_empty() {
        text.push_str(&format!(
            ", and those of {perhaps} that are second threads, whose first ones are offline"
        ));
    }
    if bound > 0 {
        text.push_str(&format!("; {bound} threads that are bound to them alone will run elsewhere"));
    }
    text
}

/// Asks for confirmation on a terminal.
///
/// # Errors
/// There is no terminal, or the answer was no.
pub fn confirm(question: &str, yes: bool) -> Result<(), AppError> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(AppError::Refused(format!("{question}: there is no terminal to ask on; give --yes")));
    }
    output::tell(&format!("{question}. Continue? [y/N]"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(AppError::failed)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(AppError::Refused("not confirmed; nothing was changed".to_owned())),
    }
}
