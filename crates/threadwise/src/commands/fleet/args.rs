//! Arguments of `threadwise fleet`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `fleet`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise fleet plan fleet.toml -o fleet     what will run where, and the files for it
  threadwise fleet submit fleet                 submit missing cells; never twice
  threadwise fleet status fleet
  threadwise fleet collect fleet                fetch results, and check them
  threadwise fleet report fleet --html fleet.html
  threadwise fleet report n1=a.threadwise n2=b.threadwise n3=c.threadwise     results from anywhere

docs/FLEETS.md has fleet.toml, and what each engine needs.

All options of a step: threadwise fleet STEP --help-all")]
pub struct FleetArgs {
    /// The step.
    #[command(subcommand)]
    pub action: FleetAction,
}

/// Steps of a fleet.
#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// Read fleet.toml, and write and show the plan; nothing is started
    ///
    /// It draws the order, and writes a folder with all files for the other steps.
    Plan(PlanArgs),
    /// Submit missing cells
    ///
    /// Missing cells were never submitted, were lost or stopped, were refused, or failed.
    Submit(FolderArgs),
    /// Show the state of each cell
    Status(StatusArgs),
    /// Fetch results if folders are not shared, and check all of them
    Collect(FolderArgs),
    /// Judge the machines of each kind, and compare kinds
    Report(FleetReportArgs),
    /// Measure one cell on this machine (started by the engine)
    Cell(CellArgs),
}

/// Arguments of `fleet plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The fleet (docs/FLEETS.md)
    #[arg(value_name = "fleet.toml")]
    pub file: PathBuf,
    /// Folder to create for the plan
    ///
    /// If the engine uses a shared folder, all nodes must see it at this path. A folder with the same plan is
    /// completed.
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub output: PathBuf,
}

/// Arguments of `fleet submit` and `collect`.
#[derive(Debug, Args)]
pub struct FolderArgs {
    /// Folder that `fleet plan` created
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Arguments of `fleet status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Folder that `fleet plan` created
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print it as JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `fleet report`.
#[derive(Debug, Args)]
pub struct FleetReportArgs {
    /// Folder that `fleet plan` created, or result files of one study
    ///
    /// NAME=FILE gives the machine that a file was measured on; a FILE alone counts as a machine of its own.
    #[arg(value_name = "DIR|[NAME=]FILE", required = true)]
    pub sources: Vec<String>,
    /// Write the self-contained HTML report to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Print everything: findings and tables
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print the report as JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `fleet cell`.
#[derive(Debug, Args)]
pub struct CellArgs {
    /// The fleet's folder, as this machine sees it
    #[arg(long, value_name = "DIR", help_heading = "What is measured")]
    pub dir: PathBuf,
    /// The cell of the plan
    #[arg(long, value_name = "MACHINE.REPEAT", help_heading = "What is measured")]
    pub cell: String,
    /// The engine's job id, for the record
    #[arg(long, value_name = "ID", help_heading = "For the record")]
    pub job: Option<String>,
    /// The engine's name for this machine, for the record
    #[arg(long, value_name = "NAME", help_heading = "For the record")]
    pub node: Option<String>,
}
