//! Arguments of `reload`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `reload`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise reload --engine sqlite shop.db
  threadwise reload --engine firebird --jobs 4 --page-size 16384 @list.txt
  threadwise reload --engine sqlite --originals remove --log night.log *.db
  threadwise reload --engine sqlite --dry-run *.db
  threadwise restore *.db                      after a kill or a power loss
  threadwise reload --engine sqlite --unseal shop.db.before-reload

Each database is held by its engine's own lock from before its backup until after the swap; a database
in use is skipped with the reason. If killed at any moment, every database is still under its name with
all committed rows. docs/RELOAD.md has the guarantees, their limits and examples.

Exit codes:
  0 all done   1 some were skipped or failed   2 bad input   3 the engine's tools are missing
  130 stopped by Ctrl-C; files in progress are finished or unchanged")]
pub struct ReloadArgs {
    /// Database files, or @LIST for a text file with one path a line
    #[arg(value_name = "FILE|@LIST", required = true)]
    pub files: Vec<PathBuf>,
    /// Engine of the files
    #[arg(long, value_enum, value_name = "NAME")]
    pub engine: ReloadEngine,
    /// Number of files at once
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// Order of files
    #[arg(long, value_enum, default_value = "largest")]
    pub order: ReloadOrder,
    /// Seed of --order shuffled [default: drawn]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// What to do with the originals: keep them beside the new files as NAME.before-reload, or remove them after the
    /// new one was opened under its name
    #[arg(long, value_enum, default_value = "keep")]
    pub originals: ReloadOriginals,
    /// Page size of the new files in bytes [default: each file's own]
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// How long to wait for other users of a file before it is skipped; 0s for not at all
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wait_s)]
    pub wait: f64,
    /// Engine option, such as bin=/opt/firebird/bin; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Log of finished files; the same command with the same log skips what is done and unchanged
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Show what would be done and what prevents it; change nothing. Only the run checks whether a file is damaged
    #[arg(long, conflicts_with = "unseal")]
    pub dry_run: bool,
    /// Make kept originals writable again; reload nothing
    #[arg(long, conflicts_with = "log")]
    pub unseal: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Engines of `reload`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ReloadEngine {
    /// VACUUM INTO, built in
    Sqlite,
    /// gbak, by Firebird's own programs
    Firebird,
}

impl ReloadEngine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => threadwise_reload::sqlite::NAME,
            Self::Firebird => threadwise_reload::firebird::NAME,
        }
    }
}

/// Orders of `reload`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ReloadOrder {
    /// As given
    Given,
    /// Largest first
    Largest,
    /// Drawn
    Shuffled,
}

/// What `reload` does with originals.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ReloadOriginals {
    /// NAME.before-reload
    Keep,
    /// Removed at the end
    Remove,
}

/// How databases that a killed `reload` left are recovered.
#[derive(Debug, Args)]
pub struct DatabasesArgs {
    /// How long to wait for other users of a database before it is skipped; 0s for not at all
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wait_s)]
    pub wait: f64,
    /// Option of the databases' engine, such as bin=/opt/firebird/bin; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
}

/// A time that may be 0.
fn wait_s(text: &str) -> Result<f64, String> {
    match humantime::parse_duration(text) {
        Ok(wait) if wait.is_zero() => Ok(0.0),
        _ => crate::input::seconds(text),
    }
}
