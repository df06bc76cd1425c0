//! Arguments of `smt`.

use clap::{Args, Subcommand};
use std::path::PathBuf;
use threadwise_machine::CpuSet;

/// Arguments of `smt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise smt status
  threadwise smt off                        all of the machine, by smt/control; as root
  threadwise smt off --offline --cpus 2,3   the siblings of two logical CPUs alone
  threadwise restore                        restore the state before the first change

Before a change, the state of all logical CPUs, clocks, interrupts, control groups and tasks is written
to a journal. If the program is killed during the change, a watchdog restores everything; if the watchdog
is killed too, `threadwise restore` does. docs/SMT.md describes what is changed and how it is
restored.")]
pub struct SmtArgs {
    /// The command
    #[command(subcommand)]
    pub action: SmtAction,
}

/// Commands of `smt`.
#[derive(Debug, Subcommand)]
pub enum SmtAction {
    /// Show SMT, logical CPUs and clocks, and what can be switched here
    Status(SmtStatusArgs),
    /// Switch SMT off until `threadwise restore` or the next boot
    Off(SmtOffArgs),
    /// Switch SMT on until `threadwise restore` or the next boot
    On(SmtOnArgs),
}

/// Arguments of `smt status`.
#[derive(Debug, Args)]
pub struct SmtStatusArgs {
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Root of the proc and sys folders to read
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

/// Arguments of `smt off`.
#[derive(Debug, Args)]
pub struct SmtOffArgs {
    /// Take siblings offline one by one, by cpuN/online, instead of all by smt/control
    #[arg(long)]
    pub offline: bool,
    /// With --offline: logical CPUs to keep online, whose siblings go offline [default: the first of each core]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list, requires = "offline")]
    pub cpus: Option<CpuSet>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `smt on`.
#[derive(Debug, Args)]
pub struct SmtOnArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}
