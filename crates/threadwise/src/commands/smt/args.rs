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
  threadwise smt restore                    everything is as it was before the first change

Before anything is changed, the state of all logical CPUs, clocks, interrupts, control groups and
tasks is written into a journal. When the program is killed on the way, a watchdog puts everything
back; when that was killed too, `threadwise smt restore` does. docs/SMT.md has what is changed and how
it is put back.")]
pub struct SmtArgs {
    /// What to do
    #[command(subcommand)]
    pub action: SmtAction,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum SmtAction {
    /// Say what SMT, logical CPUs and clocks are now, and what can be switched here
    Status(SmtStatusArgs),
    /// Switch SMT off until `threadwise smt restore` or the next start of the machine
    Off(SmtOffArgs),
    /// Switch SMT on until `threadwise smt restore` or the next start of the machine
    On(SmtOnArgs),
    /// Put back everything as it was before the first change
    Restore,
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
    /// With --offline: logical CPUs that stay, and whose siblings go offline [default: the first of each core]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list, requires = "offline")]
    pub cpus: Option<CpuSet>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `smt on`.
#[derive(Debug, Args)]
pub struct SmtOnArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `smt-watchdog`.
#[derive(Debug, Args)]
pub struct SmtWatchdogArgs {
    /// The journal
    #[arg(value_name = "JOURNAL")]
    pub journal: PathBuf,
}
