//! Options of `threadwise pool`, `maxdop`, `bind` and `ab`.

use crate::commands::run::{CommandArgs, MeasureArgs, SliceArgs, TransactionArgs};
use clap::Args;
use threadwise_study::load::MAX_SESSIONS;

/// Arguments of `pool`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise pool                                              embedded SQLite, about 100 s
  threadwise pool --engine postgres                            a private server
  threadwise pool --engine postgres://app@db.example/shop      your server, in a schema of our own
  threadwise pool --engine postgres --slo p99=10ms
  threadwise pool --engine postgres --connections-at-most 128  where 64 did more than all fewer
  threadwise pool --engine postgres://app@db.example/shop --transaction page.sql     your own statements
  threadwise pool --engine sqlite --engine-option database=/srv/shop.db --transaction page.sql

The load is cached reads of a table that is made for it, or your own statements; a server is asked one statement a step, as a client
would. At most as many connections are taken as are free (docs/ENGINES.md, \"Connections\"). Numbers are of all application
instances together.")]
pub struct PoolArgs {
    /// Engine, as of `run` [default: sqlite]
    #[arg(long, value_name = "NAME|URL")]
    pub engine: Option<String>,
    /// Engine option, as of `run`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Workload option, as of `run`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub set: Vec<(String, String)>,
    /// Numbers of connections to measure [default: 1, 2, 4, ... up to --connections-at-most]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub sessions: Option<Vec<u32>>,
    /// The most connections that are tried, in all application instances together [default: four times the logical CPUs,
    /// but 16 to 64, or twice the logical CPUs where that is more]. Where the largest number tested do more than all fewer,
    /// nothing is given to paste, and the answer has the next bound to try
    #[arg(long, value_name = "NUMBER", conflicts_with = "sessions", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_SESSIONS)))]
    pub connections_at_most: Option<u32>,
    /// The 99th percentile that a step's latency has to keep, such as p99=10ms: the answer then has the most
    /// connections that keep it
    #[arg(long, value_name = "p99=TIME", value_parser = crate::input::p99)]
    pub slo: Option<f64>,
    /// The user's own transactions.
    #[command(flatten)]
    pub transactions: TransactionArgs,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// How it is measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `maxdop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise maxdop                                  DuckDB, TPC-H at scale 1, about 4 minutes
  threadwise maxdop --engine postgres --scale 0.1
  threadwise maxdop --streams 4                      with four streams of queries at once
  threadwise maxdop --dop 1,2,4,8 --budget 10m")]
pub struct MaxdopArgs {
    /// Engine: duckdb, datafusion, clickhouse, postgres, or a server's address [default: duckdb]
    #[arg(long, value_name = "NAME|URL")]
    pub engine: Option<String>,
    /// Engine option, as of `run`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Streams of queries at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub streams: u32,
    /// Scale factor of the data: 1 is about 1 GB [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub scale: Option<String>,
    /// Degrees of parallelism to measure [default: 1, 2, 4, ... up to the logical CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub dop: Option<Vec<u32>>,
    /// Workload option, as of `run`, such as queries=1,6,14; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub set: Vec<(String, String)>,
    /// How it is measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `bind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise bind 4711 --parse pgbench -- pgbench -n -c 8 -T 10 bench
  threadwise bind port:5432 --parse pgbench -- pgbench -n -c 8 -T 10 bench
  threadwise bind port:5432 --metric p99='ms lower regex:p99=([0-9.]+)' -- ./load-for-10s.sh
  threadwise bind postgresql.service --placement no-smt --placement half-cores -- ./load.sh

Each mask is in force for one run of the command at a time, and every thread has its own mask again after it, also
when threadwise is killed. The answer ends in the line to install, or leaves the server as it is.")]
pub struct BindArgs {
    /// The running server: its process number, port:N, the path of its socket, or its systemd unit
    #[arg(value_name = "PID|port:N|UNIT", value_parser = crate::commands::run::server_name)]
    pub server: String,
    /// Logical CPUs to try instead of those of the preset; may be given several times
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Vec<String>>,
    /// A number of the command's output, as of `run`; may be given several times
    #[arg(long, value_name = "NAME=SPEC", value_parser = crate::commands::run::metric)]
    pub metric: Vec<(String, String)>,
    /// Metrics of a known tool (see `threadwise list`), such as pgbench or sysbench
    #[arg(long, value_name = "NAME")]
    pub parse: Option<String>,
    /// What the verdict speaks of: one of the metrics, or elapsed for the duration [default: the parser's own, else the
    /// first --metric, else the duration]
    #[arg(long, value_name = "NAME")]
    pub headline: Option<String>,
    /// How it is measured.
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
  threadwise ab --until 2% --budget 10m --metric 'tps=tx/s higher regex:tps = ([0-9.]+)' -- ./old --- ./new
  threadwise ab --a setup='cp a.cnf my.cnf' --b setup='cp b.cnf my.cnf' -- ./load.sh
  threadwise ab --engine postgres --a engine.bin=/usr/lib/postgresql/16/bin --b engine.bin=/usr/lib/postgresql/17/bin
  threadwise ab --engine postgres --study concurrent-inserts --a engine.settings.wal_level=replica --b \
engine.settings.wal_level=minimal --b engine.settings.max_wal_senders=0

Both run in every block, in a drawn order, so that what the hour does to one it does to the other. A runs twice in a
block, and how much these two differ is the noise that the answer is held against. The answer is B over A.")]
pub struct AbArgs {
    /// A setting of version A: an option of the workload such as work_unit=16, of the engine such as
    /// engine.bin=/usr/lib/postgresql/16/bin, or device=DIR; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub a: Vec<(String, String)>,
    /// The same of version B
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub b: Vec<(String, String)>,
    /// Where both run; may be given several times [default: all, which is all allowed logical CPUs]
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Vec<String>>,
    /// Numbers of sessions for each placement, as of `run` [default: one a logical CPU]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub sessions: Option<Vec<u32>>,
    /// Preset or study definition whose workload runs [default: command, and with --engine cached-reads]
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub study: Option<String>,
    /// Engine, as of `run`
    #[arg(long, value_name = "NAME|URL")]
    pub engine: Option<String>,
    /// Engine option of both, as of `run`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Workload option of both, as of `run`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub set: Vec<(String, String)>,
    /// Stop when every interval is within this half-width, as of `run`, such as 2%
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share, conflicts_with = "blocks")]
    pub until: Option<f64>,
    /// How it is measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// What both run: CMD_A, and after --- CMD_B.
    #[command(flatten)]
    pub commands: CommandArgs,
}
