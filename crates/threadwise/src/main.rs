//! `threadwise`: what hyper-threads, cores and sockets do to your database.
//!
//! The binary parses the command line, calls one function per subcommand, and is the only place that prints errors.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod commands;
mod engines;
mod error;
mod input;
mod opened;
mod output;
mod prices;
mod progress;
mod suggest;
mod usage;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let args: Vec<String> =
                std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
            return usage::usage(&error, &args);
        }
    };
    let limit = commands::bear_limit_of_file_sizes();
    commands::before::before(&cli.command);
    let result = match &cli.command {
        Command::Run(args) => commands::run::run(args),
        Command::Pool(args) => commands::questions::pool(args),
        Command::Maxdop(args) => commands::questions::maxdop(args),
        Command::Bind(args) => commands::questions::bind(args),
        Command::Ab(args) => commands::questions::ab(args),
        Command::Report(args) => commands::report::report(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::Card(args) => commands::card::card(args),
        Command::Gallery(args) => commands::card::gallery(args),
        Command::Fit(args) => commands::fit::fit(args),
        Command::Fleet(args) => commands::fleet::fleet(args),
        Command::Published(args) => commands::published::published(args),
        Command::Topology(args) => commands::topology::topology(args),
        Command::Probe(args) => commands::probe::probe(args),
        Command::Neighbours(args) => commands::neighbours::neighbours(args),
        Command::Watch(args) => commands::watch::watch(args),
        Command::Headroom(args) => commands::headroom::headroom(args),
        Command::Observe(args) => commands::observe::observe(args),
        Command::Check(args) => commands::check::check(args),
        Command::Doctor(args) => commands::doctor::doctor(args),
        Command::Smt(args) => commands::smt::smt(args),
        Command::Engine(args) => commands::engine::engine_command(args),
        Command::Reload(args) => commands::reload::reload(args),
        Command::List(args) => commands::list::list(args),
        Command::Export(args) => commands::export::export(args),
        Command::Completions(args) => commands::completions::completions(args),
        Command::Man => commands::completions::man(),
        Command::Worker(args) => commands::worker::worker(args),
        Command::Restore(args) => commands::restore::restore(args),
        Command::Watchdog(args) => commands::restore::watchdog(args),
        Command::ReloadAsOwner => commands::reload::as_owner(),
        Command::WorklistRun(args) => commands::worklist::run(args),
        Command::WorklistSqlite(args) => commands::worklist::sqlite(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_silent() {
                let advice = commands::advice_on_file_sizes(&limit, &error.to_string());
                output::tell(&format!("threadwise: {error}{advice}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}
