//! Options of `threadwise pool`, `maxdop`, `bind` and `ab`.

use crate::commands::run::{CommandArgs, MeasureArgs, RateArgs, SliceArgs, TransactionArgs};
use clap::Args;
use threadwise_study::load::MAX_SESSIONS;

/// Arguments of `pool`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise pool                                              embedded SQLite, about 100 s
  threadwise pool --engine postgres                            a private server
  threadwise pool --engine postgres://app@db.example/shop      your server, in threadwise's own schema
  threadwise pool --engine postgres --slo p99=10ms
  threadwise pool --engine postgres --rate 200/s --slo p99=10ms  at the load that you have
  threadwise pool --engine postgres --connections-at-most 128  if 64 did more than any fewer
  threadwise pool --engine postgres://app@db.example/shop --transaction page.sql
  threadwise pool --engine sqlite --engine-option database=/srv/shop.db --transaction page.sql

The load is cached reads of a generated table, or your own statements; a server gets one statement a
step, as from a client. At most the free connections are used (docs/ENGINES.md, \"Connections\").
Numbers are of all application instances together.

All options: threadwise pool --help-all")]
pub struct PoolArgs {
    /// Engine by name, or a server's address [default: sqlite]
    ///
    /// As of `run`.
    #[arg(long, value_name = "NAME|URL", help_heading = "What is measured")]
    pub engine: Option<String>,
    /// Workload option, as of `run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub set: Vec<(String, String)>,
    /// Numbers of connections to measure, such as 4,8,16
    ///
    /// [default: 1, 2, 4, ... up to --connections-at-most]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, help_heading = "What is measured")]
    pub sessions: Option<Vec<u32>>,
    /// Largest number of connections to measure
    ///
    /// It counts those of all application instances together. If the largest measured number does more than all smaller
    /// ones, the answer gives the next limit to try instead of a setting. It cannot be given with --sessions.
    /// [default: four times the logical CPUs, but 16 to 64, or twice the logical CPUs if that is more]
    #[arg(long, value_name = "NUMBER", conflicts_with = "sessions", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_SESSIONS)), help_heading = "What is measured")]
    pub connections_at_most: Option<u32>,
    /// Requests that arrive at a rate.
    #[command(flatten)]
    pub rates: RateArgs,
    /// Duration, precision and output.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// Engine option, as of `run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "Servers")]
    pub engine_option: Vec<(String, String)>,
    /// The user's own transactions.
    #[command(flatten)]
    pub transactions: TransactionArgs,
}

/// Arguments of `maxdop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise maxdop                                  DuckDB, TPC-H at scale 1, about 4 minutes
  threadwise maxdop --engine postgres --scale 0.1
  threadwise maxdop --streams 4                      with four streams of queries at once
  threadwise maxdop --dop 1,2,4,8 --budget 10m

All options: threadwise maxdop --help-all")]
pub struct MaxdopArgs {
    /// Engine by name, or a server's address [default: duckdb]
    ///
    /// Names: duckdb, datafusion, clickhouse, postgres.
    #[arg(long, value_name = "NAME|URL", help_heading = "What is measured")]
    pub engine: Option<String>,
    /// Workload option, such as queries=1,6,14; may be repeated
    ///
    /// As of `run`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub set: Vec<(String, String)>,
    /// Degrees of parallelism [default: 1, 2, 4, ... to the logical CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, help_heading = "What is measured")]
    pub dop: Option<Vec<u32>>,
    /// Concurrent streams of queries
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "What is measured")]
    pub streams: u32,
    /// Scale factor of the data: 1 is about 1 GB [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "What is measured")]
    pub scale: Option<String>,
    /// Duration, precision and output.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Engine option, as of `run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "Servers")]
    pub engine_option: Vec<(String, String)>,
}

/// Arguments of `bind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise bind 4711 --parse pgbench -- pgbench -n -c 8 -T 10 bench
  threadwise bind port:5432 --parse pgbench -- pgbench -n -c 8 -T 10 bench
  threadwise bind port:5432 --metric p99='ms lower regex:p99=([0-9.]+)' -- ./load-for-10s.sh
  threadwise bind postgresql.service --placement no-smt --placement half-cores -- ./load.sh

Each mask applies to one run of the command at a time, and every thread gets its own mask back after
it, even if threadwise is killed. The answer ends with the line to install, or leaves the server as
it is.

All options: threadwise bind --help-all")]
pub struct BindArgs {
    /// Running server: process ID, port:N, path of its socket, or unit
    ///
    /// A unit is a systemd unit.
    #[arg(value_name = "PID|port:N|UNIT", value_parser = crate::commands::run::server_name)]
    pub server: String,
    /// Logical CPUs instead of the preset's; may be repeated
    #[arg(long, value_name = "PLACEMENT", help_heading = "Where")]
    pub placement: Option<Vec<String>>,
    /// Metrics of a known tool, such as pgbench (see `threadwise list`)
    #[arg(long, value_name = "NAME", help_heading = "The load")]
    pub parse: Option<String>,
    /// A number of the command's output, as of `run`; may be repeated
    #[arg(long, value_name = "NAME=SPEC", value_parser = crate::commands::run::metric, help_heading = "The load")]
    pub metric: Vec<(String, String)>,
    /// Metric of the answer, or elapsed for the duration
    ///
    /// [default: the parser's own, otherwise the first --metric, otherwise the duration]
    #[arg(long, value_name = "NAME", help_heading = "The load")]
    pub headline: Option<String>,
    /// Duration, precision and output.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// The load on the server: a command with its arguments
    #[arg(last = true, value_name = "CMD", required = true)]
    pub command: Vec<String>,
}

/// Arguments of `ab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise ab -- ./old --input x --- ./new --input x         which takes less time, and by how much
  threadwise ab --parse pgbench -- pgbench -n -T 10 -p 5432 bench --- pgbench -n -T 10 -p 5433 bench
  threadwise ab --placement all --placement no-smt -- ./old --- ./new
  threadwise ab --metric 'tps=tx/s higher regex:tps = ([0-9.]+)' -- ./old --- ./new
  threadwise ab --until 2% --budget 10m -- ./old --- ./new
  threadwise ab --a setup='cp a.cnf my.cnf' --b setup='cp b.cnf my.cnf' -- ./load.sh
  threadwise ab --engine postgres --a engine.bin=/usr/lib/postgresql/16/bin \\
    --b engine.bin=/usr/lib/postgresql/17/bin
  threadwise ab --engine postgres --study concurrent-inserts \\
    --a engine.settings.wal_level=replica --b engine.settings.wal_level=minimal \\
    --b engine.settings.max_wal_senders=0

Both run in every block, in a drawn order, so that disturbances over time affect both. A runs twice in
a block, and the difference between these two is the noise that the answer is compared with. The
answer is B over A.

All options: threadwise ab --help-all")]
pub struct AbArgs {
    /// Setting of version A, such as work_unit=16; may be repeated
    ///
    /// It is an option of the workload such as work_unit=16, an option of the engine such as
    /// engine.bin=/usr/lib/postgresql/16/bin, or device=DIR.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub a: Vec<(String, String)>,
    /// Setting of version B; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub b: Vec<(String, String)>,
    /// Preset or study definition whose workload runs [default: command]
    ///
    /// With --engine the default is cached-reads.
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "What is measured")]
    pub study: Option<String>,
    /// Engine by name, or a server's address
    ///
    /// As of `run`.
    #[arg(long, value_name = "NAME|URL", help_heading = "What is measured")]
    pub engine: Option<String>,
    /// Workload option of both, as of `run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub set: Vec<(String, String)>,
    /// Numbers of sessions for each placement [default: one a logical CPU]
    ///
    /// As of `run`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, help_heading = "What is measured")]
    pub sessions: Option<Vec<u32>>,
    /// Placement of both; may be repeated [default: all]
    ///
    /// The placement all has all allowed logical CPUs.
    #[arg(long, value_name = "PLACEMENT", help_heading = "Where")]
    pub placement: Option<Vec<String>>,
    /// Duration, precision and output.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Measure until intervals are within this half-width, such as 2%
    ///
    /// It stops when every interval is within it, as of `run`.
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share, conflicts_with = "blocks", help_heading = "How long")]
    pub until: Option<f64>,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// Engine option of both, as of `run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "Servers")]
    pub engine_option: Vec<(String, String)>,
    /// Commands of both: CMD_A, and CMD_B after ---.
    #[command(flatten)]
    pub commands: CommandArgs,
}
