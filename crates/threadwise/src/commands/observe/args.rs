//! Arguments of `threadwise observe`.

use crate::commands::headroom::args::YieldArgs;
use crate::commands::headroom::destination::DestinationArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `observe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise observe --engine postgres://watch@localhost/shop    a line a minute, until Ctrl-C
  threadwise observe --engine postgres:///shop --live            top statements, headroom, SMT
  threadwise observe --engine mariadb://watch@db/shop --state smt-off     a server elsewhere
  threadwise observe --engine postgres:///shop --no-text --prometheus 9465
  threadwise observe --engine postgres:///shop --neighbours      on a guest: what else runs there?
  threadwise compare observed.threadwise --by smt                which statements changed?
  threadwise compare observed.threadwise --since yesterday       which ones got slower?

Reads the statistics of statements that the server keeps itself (PostgreSQL: pg_stat_statements,
MariaDB and MySQL: performance_schema, SQL Server: sys.dm_exec_query_stats) by one query an
interval, and writes nothing to it. Calls, time and rows of each statement go into a file, with the
state of the machine beside them. Literals are never stored. An existing file of the same server is
continued. The login needs pg_read_all_stats (PostgreSQL), SELECT on performance_schema, or VIEW
SERVER STATE (SQL Server).
File, metrics and cost: docs/OBSERVE.md")]
pub struct ObserveArgs {
    /// Address of the server: postgres://USER@HOST/DATABASE, mariadb://…, mysql://…, sqlserver://…
    #[arg(long, value_name = "URL")]
    pub engine: String,
    /// Engine option; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Interval between looks, 1s to 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::input::observe_interval)]
    pub interval: f64,
    /// Number of intervals [default: until Ctrl-C]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// A word for the present state, such as smt-off or release-7
    #[arg(long, value_name = "NAME", value_parser = crate::input::state, conflicts_with = "state_file")]
    pub state: Option<String>,
    /// A file whose first line is the word for the present state; it is read at every look
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
    /// File for the intervals; one of the same server and options is continued
    #[arg(short, long, value_name = "FILE", default_value = "observed.threadwise")]
    pub output: PathBuf,
    /// Look for neighbours on the other threads of our cores too: 20 looks an interval (guests only)
    #[arg(long)]
    pub neighbours: bool,
    /// Number of statements kept by name in each interval, those with the most time; the rest is summed
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub top: u64,
    /// Store no texts of statements, only their numbers
    #[arg(long)]
    pub no_text: bool,
    #[command(flatten)]
    pub destination: DestinationArgs,
    #[command(flatten)]
    pub yields: YieldArgs,
}
