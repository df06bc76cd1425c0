//! The command line. Every option says what it does, its unit and its default.

use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::engine::EngineArgs;
use crate::commands::fit::FitArgs;
use crate::commands::fleet::args::FleetArgs;
use crate::commands::headroom::args::HeadroomArgs;
use crate::commands::questions::{AbArgs, BindArgs, MaxdopArgs, PoolArgs};
use crate::commands::reload::{ReloadArgs, ReloadWatchdogArgs};
use crate::commands::run::{CommandArgs, MeasureArgs, SliceArgs, TransactionArgs};
use crate::commands::smt::{SmtArgs, SmtWatchdogArgs};
use crate::commands::spins::SpinsArgs;
use crate::commands::worklist::{WorklistRunArgs, WorklistSqliteArgs};
use crate::prices::PriceArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use threadwise_analysis::asked::Asked;
use threadwise_machine::placement::Service;
use threadwise_machine::{CpuSet, Memory};

/// What hyper-threads, cores, sockets and parallelism do to your database, with error bars.
#[derive(Debug, Parser)]
#[command(name = "threadwise", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  threadwise run                       measure this machine with embedded SQLite, about 70 s
  threadwise run session-sweep         how throughput grows with sessions
  threadwise topology                  what the machine says it is
  threadwise probe                     what the machine is: who shares a core, as measured
  threadwise doctor                    what would spoil a measurement here
  threadwise report FILE --html R.html the report of an earlier study

Exit codes (docs/EXIT-CODES.md):
  0    done
  1    failed; of run also: measured, but more than a tenth of the runs failed or were left out, or a
       treatment has no data
  2    bad input; nothing was touched
  3    refused, and nothing was touched; or a study was stopped because others had to wait for it
  4    of compare --fail-on-regression: a treatment got worse
  5    of compare --fail-on-regression: a treatment may have got worse, and the studies do not show it
  130  interrupted; what finished is stored")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure: run a preset or a study definition and print its verdict
    #[command(visible_alias = "study")]
    Run(Box<RunArgs>),
    /// Measure how many connections a pool should have
    Pool(Box<PoolArgs>),
    /// Measure which degree of parallelism queries should have
    Maxdop(Box<MaxdopArgs>),
    /// Measure what binding a running server to fewer logical CPUs costs
    Bind(Box<BindArgs>),
    /// Compare two versions of a program, or two settings of an engine: B over A
    Ab(Box<AbArgs>),
    /// Print the verdict of a study again, or write its other forms
    Report(ReportArgs),
    /// Put several studies side by side, say whether something changed between two sides, or print cards
    Compare(CompareArgs),
    /// Run the same study on many machines, by Slurm and others, and judge kinds of machines (docs/FLEETS.md)
    Fleet(FleetArgs),
    /// Show published measurements, figure by figure, and the command that redoes each
    Published(PublishedArgs),
    /// Show the machine: packages, NUMA nodes, caches, cores, logical CPUs and limits
    Topology(TopologyArgs),
    /// Measure the machine: who shares a core, co-runners on siblings, latencies, clocks
    Probe(ProbeArgs),
    /// Look at the machine live: who shares a core with whom now, and where co-runners are
    Watch(WatchArgs),
    /// Show live how much of the machine's capacity is used and left: what "50% busy" really is
    Headroom(HeadroomArgs),
    /// Say what a server of yours lets a login do, and try a small study of each workload there
    Check(CheckArgs),
    /// Say what would spoil a measurement here and how to change it; changes nothing itself
    Doctor(DoctorArgs),
    /// Fit a scaling law to a sweep, of a study or of a CSV file, and say what another machine would do
    Fit(FitArgs),
    /// Say what counted spins can have cost, or how much of a running server's CPU time is spinning
    Spins(SpinsArgs),
    /// Switch SMT off and on for this machine, put everything back, or say what can be done here
    Smt(SmtArgs),
    /// Add, list or remove engines that run on their own Python packages, such as DuckDB
    Engine(EngineArgs),
    /// Back up, restore, check and swap many database files, so that none is ever lost
    Reload(Box<ReloadArgs>),
    /// List presets, engines, workloads and the placements that this machine can do
    List(ListArgs),
    /// Write the raw runs or slices of a study
    Export(ExportArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page (roff)
    Man,
    /// Be a worker process (started by `run`; see docs/WORKER.md)
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Remove a study's temporary folder when its owner is gone (started by `run`)
    #[command(hide = true)]
    Janitor(JanitorArgs),
    /// Put back what a killed `reload` left (started by `reload`)
    #[command(hide = true)]
    ReloadWatchdog(ReloadWatchdogArgs),
    /// Put back what a killed process has switched (started by `smt`)
    #[command(hide = true)]
    SmtWatchdog(SmtWatchdogArgs),
    /// Do one item as the user whose it is (started by `reload`)
    #[command(hide = true)]
    ReloadAsOwner,
    /// Do a work list (started by `run`)
    #[command(hide = true)]
    WorklistRun(WorklistRunArgs),
    /// Do one step of the recipe sqlite (started by `worklist-run`)
    #[command(hide = true)]
    WorklistSqlite(WorklistSqliteArgs),
}

/// Arguments of `run`.
#[derive(Debug, Args, Default)]
#[command(after_help = "\
Examples:
  threadwise run
  threadwise run --budget 5m --output night.threadwise
  threadwise run --until 2% --budget 10m       stop when every interval is within ±2%
  threadwise run --placement 2c1t --placement 1c2t --sessions 2
  threadwise run --set data_mib=1024 --set work_unit=16
  threadwise run --memory interleave
  threadwise run cached-reads --engine postgres                 also firebird, mariadb
  threadwise run concurrent-inserts --engine postgres://app@db.example/shop  password: PGPASSWORD, ~/.pgpass
  threadwise run concurrent-inserts --engine mariadb --set rows_per_session=2000000
  threadwise run concurrent-inserts --service near
  threadwise run --price-hour 3.20 --licence-hour 0.50 --licence-per core       what second threads cost
  threadwise run smt-off --smt mask,offline --yes                       as root
  threadwise run parallel-queries --set scale=10 --dop 1,2,4 --placement no-smt --placement all
  threadwise run parallel-queries --engine postgres --set scale=0.1
  threadwise run transaction --transaction page.sql --engine postgres://app@db.example/shop
  threadwise run command --parse pgbench -- pgbench -n -c {sessions} -T 10 bench
  threadwise run work-list --engine firebird --set files=100 --set total_mib=500
  threadwise run work-list --engine sqlite --list dbs.txt --jobs 1,2,4
  threadwise run work-list --list names.txt -- psql -d {item} -f patch.sql
  threadwise run my-study.toml
  threadwise run --resume night.threadwise     go on with an interrupted study
  threadwise run smt-boots --arm smt-on        a study over several boots: the words at its end say what is next

The default run keeps all allowed logical CPUs busy. It refuses when other load is above 5% or a
database server is running (--allow-busy goes on all the same).")]
pub struct RunArgs {
    /// A preset (see `threadwise list`) or a study definition ending in .toml [default: placement]
    #[arg(value_name = "PRESET|STUDY.toml")]
    pub study: Option<String>,
    /// Engine: sqlite, native, firebird (embedded, from its packages), postgres, mariadb (a server of our own
    /// for the study), the address of a running server (postgres://USER@HOST:PORT/DB, mariadb://…,
    /// sqlserver://…, oracle://…), one on a Python package such as duckdb (see `threadwise engine list`), simulated, or a program
    /// threadwise-engine-NAME on PATH. Of a work list its recipe: sqlite, firebird, postgres, mariadb
    #[arg(long, value_name = "NAME|URL")]
    pub engine: Option<String>,
    /// Engine option, such as restart=study, schema=bench, bin=/opt/pgsql/bin or
    /// settings.wal_buffers=16MB; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Go on until every interval's half-width is within this share, such as 2%
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share, conflicts_with = "blocks")]
    pub until: Option<f64>,
    /// Windows of 10 s beside the slices, in which stalls and limits of turbo clocks are seen that slices miss: so many
    /// of each treatment, 3 where no number is given, 0 for none [default: none, from 10 minutes on as many as a
    /// sixth of the time holds, and at least 3]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_missing_value = "3")]
    pub long_windows: Option<u32>,
    /// Go on with this interrupted study, after a boot or on another machine in a new result file beside it; its own
    /// settings apply, and the hardware is probed if its first part was. --allow-busy, --data-dir, --budget and, where it runs commands, --allow-commands are those
    /// of each start
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "engine", "output", "seed", "sessions", "sweep", "compare", "streams", "dop", "jobs", "list", "placement", "memory", "service", "smt", "turbo", "governor", "factor", "engine_option", "set", "transaction", "rounds", "slice", "rewarm", "blocks", "until", "margin", "long_windows", "command", "each", "metric", "parse", "headline", "setup", "warmup", "before", "after", "check", "teardown"])]
    pub resume: Option<PathBuf>,
    /// External arm that the machine is in now, for a study over several boots (`[external]` in docs/STUDY.md); it must
    /// be the one that is due
    #[arg(long, value_name = "NAME")]
    pub arm: Option<String>,
    /// Numbers of sessions to measure instead of the preset's, such as 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub sessions: Option<Vec<u32>>,
    /// Sweep sessions in these orders of logical CPUs: spread (cores first), packed (siblings first), or both,
    /// also where the study has no sweep; with --sessions at these points
    #[arg(long, value_name = "ORDERS", value_delimiter = ',', conflicts_with = "placement")]
    pub sweep: Option<Vec<String>>,
    /// The same for streams of queries: another name of --sessions
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, conflicts_with = "sessions")]
    pub streams: Option<Vec<u32>>,
    /// Degrees of parallelism to measure for every placement of a study of queries, such as 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub dop: Option<Vec<u32>>,
    /// Numbers of jobs to measure for every placement of a work list, such as 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count)]
    pub jobs: Option<Vec<u32>>,
    /// The items of a work list: a text file, one item a line. Database files are copied first, and the
    /// originals left alone; for a command after -- lines are taken as they are [default: a list is made]
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Placement to measure instead of the preset's; may be given several times
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Vec<String>>,
    /// Where the memory of treatments lies that have no policy of their own: local (each session's own NUMA node), remote (a node
    /// without a logical CPU of the placement), interleave (all nodes in turn), or nodes such as 0-1
    /// [default: the study's own, which is local in presets]
    #[arg(long, value_name = "POLICY")]
    pub memory: Option<Memory>,
    /// Compare two treatments of the study by name, such as all:no-smt; may be given several times
    #[arg(long, value_name = "A:B")]
    pub compare: Vec<String>,
    /// Where the engine's service threads run (log writer, checkpointer): near or far from the sessions,
    /// or a placement; treatments that name a place keep it [default: the study's own, which is the sessions' logical CPUs in most presets]
    #[arg(long, value_name = "near|far|PLACEMENT")]
    pub service: Option<Service>,
    /// How SMT is taken away, several ways in one study: mask (siblings idle), offline (siblings of the used cores),
    /// system (smt/control). All but mask switch the machine inside each block, as root, and put it back (docs/SMT.md)
    /// [default: the study's own, which is mask in most]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub smt: Option<Vec<String>>,
    /// Turbo clocks: on, off, or on,off for both in one study
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub turbo: Option<Vec<String>>,
    /// Governors of the clock in one study, such as performance,powersave
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub governor: Option<Vec<String>>,
    /// A factor with several levels, each of which every treatment runs under in one study: a workload option
    /// (cache=warm,cold), an option of the engine (engine.bin=/usr/lib/postgresql/16/bin,/usr/lib/postgresql/17/bin), or
    /// folders on two devices (device=/mnt/ssd,/mnt/disk); may be given several times
    #[arg(long, value_name = "NAME=LIST", value_parser = crate::input::key_value)]
    pub factor: Vec<(String, String)>,
    /// Switch the machine for --smt, --turbo and --governor without asking
    #[arg(long)]
    pub yes: bool,
    /// Workload option, such as work_unit=16, update_pct=10 or data_mib=512; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value)]
    pub set: Vec<(String, String)>,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// How long, how exactly, and where results go.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// What it costs.
    #[command(flatten)]
    pub prices: PriceArgs,
    /// What a study of commands runs.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// The user's own transactions.
    #[command(flatten)]
    pub transactions: TransactionArgs,
    /// What is asked of its report.
    #[arg(skip)]
    pub asked: Asked,
    /// Settings of two versions (`ab`).
    #[arg(skip)]
    pub versions: Option<[Vec<(String, String)>; 2]>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise report placement-20260101T120000Z.threadwise
  threadwise report FILE --html report.html
  threadwise report FILE --json | jq .advice
  threadwise report FILE --slo p99=10ms
  threadwise report FILE --price-hour 3.20 --licence-hour 0.50 --licence-per core
  threadwise report FILE --csv > runs.csv")]
pub struct ReportArgs {
    /// A result file written by `threadwise run`; it is opened read-only
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the self-contained HTML report there
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print everything: findings, tables, what was read beside
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub all: bool,
    /// Print the report as JSON (docs/JSON.md)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print every estimate as CSV, one a line; raw runs and slices are `threadwise export`
    #[arg(long)]
    pub csv: bool,
    /// Print the answer as Markdown, for an issue or a pull request
    #[arg(long, conflicts_with_all = ["json", "csv", "all"])]
    pub markdown: bool,
    /// The 99th percentile that a step's latency has to keep, such as p99=10ms: the answer then has the most sessions that
    /// keep it [default: what the study was asked with; so with prices]
    #[arg(long, value_name = "p99=TIME", value_parser = crate::input::p99)]
    pub slo: Option<f64>,
    /// What it costs.
    #[command(flatten)]
    pub prices: PriceArgs,
}

/// Arguments of `topology`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise topology
  threadwise topology --json
  threadwise topology --capture my-machine     record this machine for a bug report
  threadwise topology --root my-machine        show a recorded machine
  threadwise topology --placement same-core --placement 2s4c2t     which logical CPUs these are")]
pub struct TopologyArgs {
    /// Root of the proc and sys folders to read
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// Print JSON (docs/JSON.md)
    #[arg(long, conflicts_with = "capture")]
    pub json: bool,
    /// Record the machine into a new folder: no serial numbers, no host names
    #[arg(long, value_name = "DIR", conflicts_with = "placement")]
    pub capture: Option<PathBuf>,
    /// Say which logical CPUs a placement is here, as far as no block draws others, or what the machine
    /// lacks for it; may be given several times
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Vec<String>,
}

/// Arguments of `published`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise published                               the list, each with the command that redoes it
  threadwise published cached-reads                  its arms, figures, slips and charts
  threadwise published work-list --html work.html
  threadwise published log-buffer --json | jq '.figures[] | select(.slip)'
  threadwise run cached-reads                        redo it: the report ends with theirs beside yours
  threadwise compare published:cached-reads FILE     the same for any result file

Figures are given as they were printed, or as they follow from printed ones, with the formula. A printed
figure that does not follow from the others is marked as a slip.")]
pub struct PublishedArgs {
    /// Name of a published study [default: a list of all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print everything: findings and tables
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page with the charts there
    #[arg(long, value_name = "FILE", requires = "name")]
    pub html: Option<PathBuf>,
}

/// Arguments of `probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise probe                          some seconds on a small machine
  threadwise probe --short                  under 10 s, as `run` does it first
  threadwise probe --cpus 0,1,64            only these logical CPUs
  threadwise probe --full --html probe.html every pair, with a heat map
  threadwise probe --json | jq .pairs

It keeps up to all allowed logical CPUs busy for milliseconds at a time, and stops early on Ctrl-C
with what it has. Like `run` it refuses on a busy machine (--allow-busy goes on all the same, and
others' work may then hide answers).")]
pub struct ProbeArgs {
    /// Logical CPUs to probe, such as 0-3,8 [default: all that are allowed]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list)]
    pub cpus: Option<CpuSet>,
    /// The short form, under 10 s on a small machine
    #[arg(long, conflicts_with = "full")]
    pub short: bool,
    /// Latency of every pair, and sharing of every pair up to 64 logical CPUs: minutes on a large machine
    #[arg(long)]
    pub full: bool,
    /// Print everything: findings and tables
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page with the heat map
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Seed of every order [default: drawn]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Probe although the machine is busy or a database server is running
    #[arg(long)]
    pub allow_busy: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise watch                          a look a second at all allowed logical CPUs
  threadwise watch --every 100ms --count 600
  threadwise watch --cpus 0-3 --json | jq -c '[.utc, (.cpus[] | .state)]'

In a virtual machine the hypervisor decides which logical CPUs share a core, and may change it at any \
time. A look takes about a tenth of a millisecond: two by two they pass a cache line, all run one kernel at \
once, and two of them without each other; who keeps the whole width of its core has it for itself. The states:
  alone       the core for itself
  one core    two watched logical CPUs on one core
  co-runner   slowed by another program or guest on the same core
  slowed      one of those two; the next looks show which
  away        not run in time: stacked on another logical CPU, or preempted
  unknown     the figures contradict each other, or no free core was seen yet
It needs no root, changes nothing, and may run beside a load. Ctrl-C ends it with a summary. Method and \
cost: docs/PROBE.md")]
pub struct WatchArgs {
    /// Logical CPUs to look at, such as 0-3,8 [default: all that are allowed, or 16 spread over them]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Time from look to look, 10ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = crate::input::look_interval)]
    pub every: f64,
    /// Looks [default: until Ctrl-C]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print JSON, an object a line and a look (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise doctor
  threadwise doctor --json | jq '.checks[] | select(.outcome == \"problem\")'
  threadwise doctor --restore      unbind what a killed study left bound, and nothing else

It watches for about 2 s, reads what any user may read, and changes nothing (but with --restore).
Problems do not change the exit code: it is 0 when all could be looked at.")]
pub struct DoctorArgs {
    /// Give processes that a killed study left bound their logical CPUs back, and stop; exit code 1 where
    /// that failed. Every `run`, `probe` and `reload` does this first
    #[arg(long, conflicts_with = "json")]
    pub restore: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the JSON schema of study definitions, for editors
    #[arg(long, conflicts_with = "json")]
    pub schema: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A result file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ExportFormat,
    /// What one line is
    #[arg(long, value_enum, default_value = "runs")]
    pub what: ExportRows,
}

/// Forms of `export`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Jsonl,
}

/// Lines of `export`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ExportRows {
    /// One run (one treatment in one block)
    Runs,
    /// One slice (one measured window)
    Slices,
    /// One execution of a query
    Queries,
    /// One item of a work list
    Items,
    /// One logical CPU in one look around a slice
    Looks,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  threadwise completions bash > ~/.local/share/bash-completion/completions/threadwise"
)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Engine name
    #[arg(long)]
    pub engine: String,
}

/// Arguments of `janitor`.
#[derive(Debug, Args)]
pub struct JanitorArgs {
    /// The folder to remove when stdin ends
    pub folder: PathBuf,
}
