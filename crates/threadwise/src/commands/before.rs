//! What a command does first about what killed processes have left changed ([`restore`]).

use super::restore;
use crate::cli::Command;
use crate::commands::engine::EngineAction;
use crate::commands::fleet::args::FleetAction;
use crate::commands::smt::SmtAction;

/// What a command does about what is left.
enum Before {
    PutBack,
    Report,
    /// It does or reports it itself, its output is for programs, or it is a process of a running study.
    Nothing,
}

impl Before {
    fn of(command: &Command) -> Self {
        let unless = |is_so: bool| if is_so { Self::Report } else { Self::PutBack };
        match command {
            Command::Run(args) => unless(args.measure.plan),
            Command::Pool(args) => unless(args.measure.plan),
            Command::Maxdop(args) => unless(args.measure.plan),
            Command::Bind(args) => unless(args.measure.plan),
            Command::Ab(args) => unless(args.measure.plan),
            Command::Reload(args) => unless(args.dry_run),
            Command::Engine(args) => unless(!matches!(args.action, EngineAction::Add(_))),
            Command::Fleet(args) => unless(!matches!(args.action, FleetAction::Cell(_))),
            Command::Probe(_) => Self::PutBack,
            Command::Smt(args) => match args.action {
                SmtAction::Off(_) | SmtAction::On(_) => Self::PutBack,
                SmtAction::Status(_) => Self::Nothing,
            },
            Command::Restore(_)
            | Command::Completions(_)
            | Command::Man
            | Command::Worker(_)
            | Command::Watchdog(_)
            | Command::ReloadAsOwner
            | Command::WorklistRun(_)
            | Command::WorklistSqlite(_) => Self::Nothing,
            _ => Self::Report,
        }
    }
}

/// Before a command: puts back or reports what is left.
pub fn before(command: &Command) {
    match Before::of(command) {
        Before::PutBack => restore::see_to_it(true),
        Before::Report => restore::see_to_it(false),
        Before::Nothing => {}
    }
}
