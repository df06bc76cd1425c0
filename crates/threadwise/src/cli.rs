//! The command line. Every option says what it does, its unit and its default.

use crate::commands::card::{CardArgs, GalleryArgs};
use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::engine::EngineArgs;
use crate::commands::fit::FitArgs;
use crate::commands::fleet::args::FleetArgs;
use crate::commands::headroom::args::HeadroomArgs;
use crate::commands::observe::args::ObserveArgs;
use crate::commands::probe::spins::SpinsArgs;
use crate::commands::questions::{AbArgs, BindArgs, MaxdopArgs, PoolArgs};
use crate::commands::reload::ReloadArgs;
use crate::commands::restore::{RestoreArgs, WatchdogArgs};
use crate::commands::run::{CommandArgs, MeasureArgs, RateArgs, SliceArgs, TransactionArgs, VcpuArgs};
use crate::commands::smt::SmtArgs;
use crate::commands::worklist::{WorklistRunArgs, WorklistSqliteArgs};
use crate::prices::PriceArgs;
use clap::{Arg, ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use threadwise_machine::placement::Service;
use threadwise_machine::{CpuSet, Memory};

/// The program's help: commands by purpose, which clap cannot group. A test compares it with the subcommands.
const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Measure:
  run          Run a preset or a study definition, and print the answer
  ab           Compare two versions of a program, or two settings of an engine: B over A

Decide:
  pool         Measure how many connections a pool should have
  maxdop       Measure which degree of parallelism queries should have
  bind         Measure what binding a running server to fewer logical CPUs costs
  compare      Compare studies: side by side, before and after, or with published ones
  fit          Fit a scaling law to a sweep, and predict other machines

Look:
  topology     Show the machine: packages, NUMA nodes, caches, cores, logical CPUs and limits
  probe        Measure the machine: which logical CPUs share a core, neighbours, latencies, clocks
  neighbours   Measure how often something else runs on the other threads of your cores
  watch        Show live which logical CPUs share a core, and where neighbours are
  headroom     Show live how much capacity is used and left: what \"50% busy\" really is
  observe      Record a server's statements interval by interval, with SMT state and headroom
  doctor       List what would spoil a measurement here, and how to change it
  check        List what a server permits a login, and try a small study of each workload
  published    Show published measurements, and the command that repeats each

Operate:
  engine       Add, list or remove engines that come as Python packages, such as DuckDB
  smt          Switch SMT off and on, or show what can be switched
  restore      Put back what killed processes and `smt` have left changed
  reload       Back up, restore, check and swap many database files without ever losing one
  fleet        Run a study on many machines (Slurm and others), and judge kinds of machines
  report       Print the answer of a study again, or in another format
  export       Write the raw runs or slices of a study
  card         Print a study as a kilobyte of JSON for sharing, without names
  gallery      Check a folder of cards, and make a page of them
  list         List presets, engines, workloads and the placements that this machine supports

  completions  Print a shell completion script
  man          Print the manual page (roff)
  help         Print this message or the help of the given subcommand(s)

Options:
{options}{after-help}";

/// `-h` and `--help` print the common options, `--help-all` everything. Every command takes them.
fn help_flags() -> [Arg; 2] {
    let flag = |name: &'static str| Arg::new(name).long(name).global(true).help_heading("Help");
    [
        flag("help").short('h').action(ArgAction::HelpShort).display_order(990).help("Print the help"),
        flag("help-all")
            .action(ArgAction::HelpLong)
            .display_order(991)
            .help("Print the help with all options and details"),
    ]
}

/// What hyper-threads, cores, sockets and parallelism do to your database, with error bars.
#[derive(Debug, Parser)]
#[command(name = "threadwise", version, max_term_width = 100, arg_required_else_help = true)]
#[command(disable_help_flag = true, args = help_flags(), help_template = HELP)]
#[command(after_help = "\
Examples:
  threadwise run                    measure this machine with embedded SQLite, about 70 s
  threadwise doctor                 what would spoil a measurement here
  threadwise run --help-all         all options of a command

Exit codes (docs/EXIT-CODES.md):
  0    done
  1    failed; of run also: the study is not valid as a whole
  2    bad input; nothing was touched
  3    refused, and nothing was touched; or a study was stopped because others had to wait
  4    of compare --fail-on-regression: a treatment got worse
  5    of compare --fail-on-regression: a treatment may have got worse, which is undecided
  130  interrupted; what finished is stored")]
#[command(after_long_help = "\
Examples:
  threadwise run                       measure this machine with embedded SQLite, about 70 s
  threadwise run session-sweep         how throughput grows with sessions
  threadwise topology                  the machine as the kernel reports it
  threadwise probe                     the machine as measured: who shares a core
  threadwise doctor                    what would spoil a measurement here
  threadwise report FILE --html R.html the report of an earlier study
  threadwise run --help-all            all options of a command

Exit codes (docs/EXIT-CODES.md):
  0    done
  1    failed; of run also: measured, but more than a tenth of the runs failed or were left out,
       or a treatment has no data
  2    bad input; nothing was touched
  3    refused, and nothing was touched; or a study was stopped because others had to wait for it
  4    of compare --fail-on-regression: a treatment got worse
  5    of compare --fail-on-regression: a treatment may have got worse, and the studies do not
       decide it
  130  interrupted; what finished is stored")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a preset or a study definition, and print the answer
    ///
    /// `threadwise study` is another name of this command.
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
    /// Print the answer of a study again, or in another format
    Report(ReportArgs),
    /// Compare studies: side by side, before and after, or with published ones
    ///
    /// It compares several studies side by side, tests whether something changed between two sides, or shows published
    /// ratios beside those of a study.
    Compare(CompareArgs),
    /// Run a study on many machines (Slurm and others), and judge kinds of machines
    ///
    /// docs/FLEETS.md has the format of a fleet, and what each engine needs.
    Fleet(FleetArgs),
    /// Show published measurements, and the command that repeats each
    ///
    /// It lists every printed figure.
    Published(PublishedArgs),
    /// Show the machine: packages, NUMA nodes, caches, cores, logical CPUs and limits
    Topology(TopologyArgs),
    /// Measure the machine: which logical CPUs share a core, neighbours, latencies, clocks
    ///
    /// Neighbours are other programs or guests on the same core.
    Probe(ProbeArgs),
    /// Measure how often something else runs on the other threads of your cores
    ///
    /// On virtual machines these are other guests. With --engine it measures what they cost a database.
    Neighbours(NeighboursArgs),
    /// Show live which logical CPUs share a core, and where neighbours are
    Watch(WatchArgs),
    /// Show live how much capacity is used and left: what "50% busy" really is
    Headroom(HeadroomArgs),
    /// Record a server's statements interval by interval, with SMT state and headroom
    Observe(ObserveArgs),
    /// List what a server permits a login, and try a small study of each workload
    Check(CheckArgs),
    /// List what would spoil a measurement here, and how to change it
    Doctor(DoctorArgs),
    /// Fit a scaling law to a sweep, and predict other machines
    ///
    /// The sweep is in the result file of a study, or in a CSV file.
    Fit(FitArgs),
    /// Switch SMT off and on, or show what can be switched
    Smt(SmtArgs),
    /// Put back what killed processes and `smt` have left changed
    Restore(RestoreArgs),
    /// Add, list or remove engines that come as Python packages, such as DuckDB
    Engine(EngineArgs),
    /// Back up, restore, check and swap many database files without ever losing one
    Reload(Box<ReloadArgs>),
    /// List presets, engines, workloads and the placements that this machine supports
    List(ListArgs),
    /// Write the raw runs or slices of a study
    Export(ExportArgs),
    /// Print a study as a kilobyte of JSON for sharing, without names
    Card(CardArgs),
    /// Check a folder of cards, and make a page of them
    Gallery(GalleryArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page (roff)
    Man,
    /// Run as a worker process (started by `run`; see docs/WORKER.md)
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Restore what the process that started it has changed, when that has ended
    #[command(hide = true)]
    Watchdog(WatchdogArgs),
    /// Process one item as its owner (started by `reload`)
    #[command(hide = true)]
    ReloadAsOwner,
    /// Process a work list (started by `run`)
    #[command(hide = true)]
    WorklistRun(WorklistRunArgs),
    /// Run one step of the recipe sqlite (started by `worklist-run`)
    #[command(hide = true)]
    WorklistSqlite(WorklistSqliteArgs),
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args, Default)]
#[command(after_help = "\
Examples:
  threadwise run                                     this machine, embedded SQLite, about 70 s
  threadwise run --until 2% --budget 10m             stop when every interval is within ±2%
  threadwise run cached-reads --engine postgres      also firebird, mariadb
  threadwise run concurrent-inserts --engine postgres://app@db.example/shop
  threadwise run command --parse pgbench -- pgbench -n -c {sessions} -T 10 bench
  threadwise run --resume night.threadwise           continue an interrupted study

The default run keeps all allowed logical CPUs busy. It refuses when other load is above 5% or a
database server is running (--allow-busy continues anyway).

All options and more examples: threadwise run --help-all")]
#[command(after_long_help = "\
Examples:
  threadwise run
  threadwise run --budget 5m --output night.threadwise
  threadwise run --until 2% --budget 10m       stop when every interval is within ±2%
  threadwise run --placement 2c1t --placement 1c2t --sessions 2
  threadwise run --set data_mib=1024 --set work_unit=16
  threadwise run --memory interleave
  threadwise run cached-reads --engine postgres                 also firebird, mariadb
  threadwise run concurrent-inserts --engine postgres://app@db.example/shop
  threadwise run concurrent-inserts --engine mariadb --set rows_per_session=2000000
  threadwise run concurrent-inserts --service near
  threadwise run --price-hour 3.20 --licence-hour 0.50 --licence-per core
  threadwise run smt-off --smt mask,offline --yes                       as root
  threadwise run parallel-queries --set scale=10 --dop 1,2,4 --placement no-smt --placement all
  threadwise run parallel-queries --engine postgres --set scale=0.1
  threadwise run transaction --transaction page.sql --engine postgres://app@db.example/shop
  threadwise run transaction --transaction pay.sql@3 --transaction look.sql@7 --engine mariadb://app@db/shop
  threadwise run transaction --transaction tpcb.sql --define scale=10 --may-write bench --engine postgres:///bench
  threadwise run --transactions-from pg_stat_statements --engine postgres://app@db/shop > mix.sql
  threadwise run command --parse pgbench -- pgbench -n -c {sessions} -T 10 bench
  threadwise run work-list --engine firebird --set files=100 --set total_mib=500
  threadwise run work-list --engine sqlite --list dbs.txt --jobs 1,2,4
  threadwise run work-list --list names.txt -- psql -d {item} -f patch.sql
  threadwise run my-study.toml
  threadwise run --resume night.threadwise     continue an interrupted study
  threadwise run smt-boots --arm smt-on        over several boots: its last lines give the next step

Passwords of servers: PGPASSWORD or ~/.pgpass for PostgreSQL; docs/ENGINES.md has those of others.

The default run keeps all allowed logical CPUs busy. It refuses when other load is above 5% or a
database server is running (--allow-busy continues anyway).")]
pub struct RunArgs {
    /// Preset (`threadwise list`) or study definition [default: placement]
    ///
    /// A study definition is a file whose name ends in .toml (docs/STUDY.md).
    #[arg(value_name = "PRESET|STUDY.toml")]
    pub study: Option<String>,
    /// Engine by name (sqlite, postgres, ...), or a server's address
    ///
    /// Names: sqlite, native, firebird (embedded, from its packages), postgres and mariadb (a private server for the
    /// study), simulated, an engine from a Python package such as duckdb (see `threadwise engine list`), or a program
    /// threadwise-engine-NAME on PATH. Addresses of running servers: postgres://USER@HOST:PORT/DB, mariadb://…,
    /// mysql://…, sqlserver://…, oracle://…. For a work list, the recipe: sqlite, firebird, postgres or mariadb.
    #[arg(long, value_name = "NAME|URL", help_heading = "What is measured")]
    pub engine: Option<String>,
    /// Workload option, such as data_mib=512; may be repeated
    ///
    /// Others are work_unit=16 and update_pct=10; docs/STUDY.md has all of them.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "What is measured")]
    pub set: Vec<(String, String)>,
    /// Numbers of sessions, such as 1,2,4, instead of the preset's
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, help_heading = "What is measured")]
    pub sessions: Option<Vec<u32>>,
    /// Sweep sessions in one or two orders: spread, packed, packed-cores
    ///
    /// spread takes packages, NUMA nodes and L3s in turn, then cores, then siblings; packed fills a core, an L3, a node,
    /// a package; packed-cores does so with one logical CPU a core. spread,packed measures both. A study without a
    /// sweep gets one. --sessions gives its points.
    #[arg(
        long,
        value_name = "ORDERS",
        value_delimiter = ',',
        conflicts_with = "placement",
        hide_short_help = true,
        help_heading = "What is measured"
    )]
    pub sweep: Option<Vec<String>>,
    /// Requests that arrive at a rate.
    #[command(flatten)]
    pub rates: RateArgs,
    /// Numbers of streams of queries: another name for --sessions
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, conflicts_with = "sessions", hide_short_help = true, help_heading = "What is measured")]
    pub streams: Option<Vec<u32>>,
    /// Degrees of parallelism of queries, such as 1,2,4
    ///
    /// Each is measured for every placement of a study of queries.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, help_heading = "What is measured")]
    pub dop: Option<Vec<u32>>,
    /// Factor with several levels, such as cache=warm,cold; may be repeated
    ///
    /// Every treatment is measured under each level, in one study. A factor is an option of the workload
    /// (cache=warm,cold), an option of the engine
    /// (engine.bin=/usr/lib/postgresql/16/bin,/usr/lib/postgresql/17/bin), or folders on two devices
    /// (device=/mnt/ssd,/mnt/disk).
    #[arg(long, value_name = "NAME=LIST", value_parser = crate::input::key_value, hide_short_help = true, help_heading = "What is measured")]
    pub factor: Vec<(String, String)>,
    /// Compare two treatments, such as all:no-smt; may be repeated
    ///
    /// The treatments are named as in the study.
    #[arg(long, value_name = "A:B", hide_short_help = true, help_heading = "What is measured")]
    pub compare: Vec<String>,
    /// Continue this interrupted study
    ///
    /// After a boot, or on another machine, it continues in a new result file beside this one. The study's settings
    /// apply, and the hardware is probed if its first part was. These apply to one start only and must be given again:
    /// --allow-busy, --data-dir, --budget and, if it runs commands, --allow-commands.
    #[arg(long, value_name = "FILE", help_heading = "What is measured", conflicts_with_all = ["study", "engine", "output", "seed", "sessions", "rate", "vcpus", "share", "sweep", "compare", "streams", "dop", "jobs", "list", "placement", "memory", "service", "smt", "turbo", "governor", "factor", "engine_option", "set", "transaction", "define", "transactions_from", "rounds", "slice", "rewarm", "blocks", "until", "margin", "long_windows", "command", "each", "metric", "parse", "headline", "setup", "warmup", "before", "after", "check", "teardown"])]
    pub resume: Option<PathBuf>,
    /// External arm that the machine is in now, for a study over boots
    ///
    /// A study over several boots names its arms in `[external]` (docs/STUDY.md). The arm must be the next one.
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "What is measured")]
    pub arm: Option<String>,
    /// Placement to measure instead of the preset's; may be repeated
    ///
    /// docs/PLACEMENTS.md has all placements; `threadwise list` says which of them this machine supports.
    #[arg(long, value_name = "PLACEMENT", help_heading = "Where")]
    pub placement: Option<Vec<String>>,
    /// NUMA nodes of memory: local, remote, interleave, 0-1; may be repeated
    ///
    /// It applies to treatments without a policy of their own. Given several times, each treatment and the baseline are
    /// measured with each policy and compared with the first. local is each session's own NUMA node, remote a node
    /// without a logical CPU of the placement, interleave all nodes in turn; or give nodes, such as 0-1.
    /// [default: the study's own, which is local in presets]
    #[arg(long, value_name = "POLICY", help_heading = "Where")]
    pub memory: Vec<Memory>,
    /// How SMT is taken away: mask, offline, system, or several of them
    ///
    /// mask leaves siblings idle, offline takes the siblings of the used cores offline, system uses smt/control. Several
    /// are measured in one study. All but mask switch the machine inside each block, need root, and restore it
    /// (docs/SMT.md). [default: the study's own, which is mask in most]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Where")]
    pub smt: Option<Vec<String>>,
    /// Turbo clocks: on, off, or on,off for both in one study
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true, help_heading = "Where")]
    pub turbo: Option<Vec<String>>,
    /// CPU frequency governors, such as performance,powersave, in one study
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true, help_heading = "Where")]
    pub governor: Option<Vec<String>>,
    /// Switch the machine (--smt, --turbo, --governor) without asking
    #[arg(long, help_heading = "Where")]
    pub yes: bool,
    /// Duration, precision and output.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Measure until intervals are within this half-width, such as 2%
    ///
    /// It continues until every interval's half-width is within this share.
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share, conflicts_with = "blocks", help_heading = "How long")]
    pub until: Option<f64>,
    /// The slices of a block.
    #[command(flatten)]
    pub slices: SliceArgs,
    /// Number of 10 s windows of each treatment, beside the slices
    ///
    /// They show stalls and turbo limits that slices miss. Without a number, 3 of each treatment; 0 for none.
    /// [default: none; from 10 minutes on as many as fit a sixth of the time, and at least 3]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_missing_value = "3", hide_short_help = true, help_heading = "How long")]
    pub long_windows: Option<u32>,
    /// Engine option, such as restart=study; may be repeated
    ///
    /// Others are schema=bench, bin=/opt/pgsql/bin and settings.wal_buffers=16MB; docs/ENGINES.md has more.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::input::key_value, help_heading = "Servers")]
    pub engine_option: Vec<(String, String)>,
    /// Service threads: near or far from sessions, or in a placement
    ///
    /// Service threads are the engine's log writer and checkpointer. Treatments with their own setting keep it.
    /// [default: the study's own, which is the sessions' logical CPUs in most presets]
    #[arg(long, value_name = "near|far|PLACEMENT", help_heading = "Servers")]
    pub service: Option<Service>,
    /// Numbers of jobs of a work list, such as 1,2,4
    ///
    /// Each is measured for every placement of the work list.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::input::count, hide_short_help = true, help_heading = "Commands and lists")]
    pub jobs: Option<Vec<u32>>,
    /// Items of a work list: a text file with one item a line
    ///
    /// Database files are copied first, and the originals are left alone. For a command after -- the lines are used
    /// unchanged. [default: a generated list]
    #[arg(long, value_name = "FILE", help_heading = "Commands and lists")]
    pub list: Option<PathBuf>,
    /// What a study of commands runs.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// The user's own transactions.
    #[command(flatten)]
    pub transactions: TransactionArgs,
    /// What the preset vcpus needs to know.
    #[command(flatten)]
    pub vcpus: VcpuArgs,
    /// Prices.
    #[command(flatten)]
    pub prices: PriceArgs,
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
  threadwise report FILE --csv > estimates.csv")]
pub struct ReportArgs {
    /// A result file written by `threadwise run`; it is opened read-only
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the self-contained HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print everything: findings, tables, other readings
    #[arg(long)]
    pub all: bool,
    /// Print the report as JSON (docs/JSON.md)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print every estimate as CSV, one a line; for raw runs and slices, use `threadwise export`
    #[arg(long)]
    pub csv: bool,
    /// Print the answer as Markdown, for an issue or a pull request
    #[arg(long, conflicts_with_all = ["json", "csv", "all"])]
    pub markdown: bool,
    /// Upper bound for the 99th percentile of a step's latency, such as p99=10ms: the answer then has the most sessions
    /// within it [default: the bound, like prices, that the study was given]
    #[arg(long, value_name = "p99=TIME", value_parser = crate::input::p99)]
    pub slo: Option<f64>,
    /// Prices.
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
  threadwise topology --placement same-core --placement 2s4c2t     which logical CPUs these are
  threadwise topology --draw --placement 4c2t  draw the machine, and where 8 sessions would run
  threadwise topology --draw --svg machine.svg the same picture as a file")]
#[command(group(ArgGroup::new("picture").args(["draw", "svg"]).multiple(true)))]
pub struct TopologyArgs {
    /// Root of the proc and sys folders to read
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// Print JSON (docs/JSON.md)
    #[arg(long, conflicts_with = "capture")]
    pub json: bool,
    /// Record the machine in a new folder, without serial numbers and host names
    #[arg(long, value_name = "DIR", conflicts_with = "placement")]
    pub capture: Option<PathBuf>,
    /// Show the logical CPUs of a placement, unless blocks draw others, or what the machine lacks for it; may be
    /// repeated
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Vec<String>,
    /// Draw the machine as boxes, with the sessions of a placement if one is given
    #[arg(long, conflicts_with_all = ["capture", "json"])]
    pub draw: bool,
    /// Write the drawing to this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "capture")]
    pub svg: Option<PathBuf>,
    /// Sessions of the drawn placement [default: 1 for each logical CPU, 2 for one-cpu]
    #[arg(long, value_name = "N", requires_all = ["picture", "placement"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub sessions: Option<u32>,
}

/// Arguments of `published`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise published                               the list, each with the command that repeats it
  threadwise published cached-reads                  its arms, figures, errors and charts
  threadwise published work-list --html work.html
  threadwise published log-buffer --json | jq '.figures[] | select(.slip)'
  threadwise run cached-reads                        repeat it: the report compares it with the published one
  threadwise compare published:cached-reads FILE     the same for any result file

Figures are shown as printed, or computed from printed ones, with the formula. A printed figure that
does not follow from the others is marked as a slip.")]
pub struct PublishedArgs {
    /// Name of a published study [default: a list of all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print everything: findings and tables
    #[arg(long)]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page with the charts to this file
    #[arg(long, value_name = "FILE", requires = "name")]
    pub html: Option<PathBuf>,
}

/// What `probe` measures of a running server.
#[derive(Debug, Subcommand)]
pub enum ProbeCommand {
    /// Sample how much CPU time a running server spends spinning, or compute what counted spins cost
    Spins(SpinsArgs),
}

/// Arguments of `probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise probe                          takes seconds on a small machine
  threadwise probe --short                  under 10 s, as before `run`
  threadwise probe --cpus 0,1,64            only these logical CPUs
  threadwise probe --full --html probe.html every pair, with a heat map
  threadwise probe --json | jq .pairs
  threadwise probe spins --pid 4711         how much of a running server's CPU time is spinning

It keeps up to all allowed logical CPUs busy for milliseconds at a time. Ctrl-C stops it early and shows
the results so far. Like `run` it refuses on a busy machine (--allow-busy continues anyway, and other
work may then hide answers).

All options: threadwise probe --help-all")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ProbeArgs {
    /// What else is measured.
    #[command(subcommand)]
    pub of: Option<ProbeCommand>,
    /// Logical CPUs to probe, such as 0-3,8 [default: all allowed ones]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list, help_heading = "What is measured")]
    pub cpus: Option<CpuSet>,
    /// Short probe, under 10 s on a small machine
    #[arg(long, conflicts_with = "full", help_heading = "How long")]
    pub short: bool,
    /// Every pair: minutes on a large machine
    ///
    /// It measures the latency of every pair, and on up to 64 logical CPUs also sharing of every pair.
    #[arg(long, help_heading = "How long")]
    pub full: bool,
    /// Probe although the machine is busy or a database server runs
    #[arg(long, help_heading = "The machine")]
    pub allow_busy: bool,
    /// Seed of every order [default: drawn]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, help_heading = "The machine")]
    pub seed: Option<u64>,
    /// Print everything: findings and tables
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write a self-contained HTML page with the heat map to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
}

/// Arguments of `neighbours`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise neighbours                       60 s: how often, how long, how much
  threadwise neighbours --watch               for hours, a line a minute, until Ctrl-C
  threadwise neighbours --engine postgres     what they cost this engine: cached reads, some minutes
  threadwise neighbours --prometheus 127.0.0.1:9465

A neighbour is whatever runs on the other thread of a core: another guest, the host, another program. A minute \
of looks takes some 1.5% of each logical CPU, --watch some 0.2%; neither changes anything or needs root. \
A neighbour that mostly waits for memory is hardly seen. Visits are seen by looks every 20 ms, with --watch \
every 200 ms: shorter ones are missed. --engine runs the default study and writes its result file.")]
pub struct NeighboursArgs {
    /// How long to look, or to measure with --engine [default: 60s, or the study's]
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = crate::input::seconds, conflicts_with = "watch")]
    pub duration: Option<f64>,
    /// Look until Ctrl-C, with a line a minute
    #[arg(long)]
    pub watch: bool,
    /// Logical CPUs to look at, such as 0-3,8 [default: all allowed ones, or 16 spread over them]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Measure what neighbours cost this engine: cached reads of the default study
    #[arg(long, value_name = "NAME|URL", conflicts_with_all = ["watch", "cpus", "prometheus"])]
    pub engine: Option<String>,
    /// With --engine: measure although the machine is busy or a database server runs
    #[arg(long, requires = "engine")]
    pub allow_busy: bool,
    /// Serve metrics of each minute for Prometheus at this address, until Ctrl-C
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["json", "duration"])]
    pub prometheus: Option<SocketAddr>,
    /// Print JSON; with --watch a line a minute (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise watch                          one look a second at all allowed logical CPUs
  threadwise watch --every 100ms --count 600
  threadwise watch --cpus 0-3 --json | jq -c '[.utc, (.cpus[] | .state)]'

In a virtual machine the hypervisor decides which logical CPUs share a core, and may change it at any \
time. A look takes about a tenth of a millisecond: the logical CPUs pass a cache line in pairs, all run one \
kernel at once, and two of them run it without each other; one with the whole width of its core has it alone. States:
  alone       the core to itself
  one core    two watched logical CPUs on one core
  neighbour   slowed by another program or guest on the same core
  slowed      either of the last two; the next looks show which
  away        did not run in time: stacked on another logical CPU, or preempted
  unknown     the values contradict each other, or no free core was seen yet
It needs no root, changes nothing, and may run beside a load. Ctrl-C ends it with a summary. Method and \
cost: docs/PROBE.md")]
pub struct WatchArgs {
    /// Logical CPUs to look at, such as 0-3,8 [default: all allowed ones, or 16 spread over them]
    #[arg(long, value_name = "LIST", value_parser = crate::input::cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Interval between looks, 10ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = crate::input::look_interval)]
    pub every: f64,
    /// Number of looks [default: until Ctrl-C]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print JSON, one object a line for each look (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise doctor
  threadwise doctor --json | jq '.checks[] | select(.outcome == \"problem\")'

It watches for about 2 s, reads what any user may read, and changes nothing.
Problems do not change the exit code: it is 0 if all checks could run.")]
pub struct DoctorArgs {
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
    /// Print the JSON schema of study definitions (study) or of JSON reports (report)
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "study", conflicts_with = "json")]
    pub schema: Option<SchemaOf>,
}

/// A form with a JSON schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Study definitions, for editors.
    Study,
    /// `report --json` and `run --json`, for programs.
    Report,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A result file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ExportFormat,
    /// Content of a line
    #[arg(long, value_enum, default_value = "runs")]
    pub what: ExportRows,
}

/// Formats of `export`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Longest short help of a command, and of the program.
    const MOST_LINES: [usize; 2] = [80, 60];
    /// Width of the terminal.
    const WIDTH: usize = 100;
    /// Longest first line of an option.
    const FIRST_LINE: usize = 70;
    /// Commands whose options are in groups, with details in `--help-all` alone.
    const GROUPED: [&str; 9] = ["run", "pool", "maxdop", "bind", "ab", "compare", "probe", "fit", "fleet"];

    fn program() -> clap::Command {
        let mut program = Cli::command().term_width(WIDTH);
        program.build();
        program
    }

    /// Every command at any depth but `help`, with its words.
    fn all_commands(command: &clap::Command, words: &[String]) -> Vec<(Vec<String>, clap::Command)> {
        let mut all = vec![(words.to_vec(), command.clone())];
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            all.extend(all_commands(one, &[words, &[one.get_name().to_owned()]].concat()));
        }
        all
    }

    fn commands() -> Vec<(Vec<String>, clap::Command)> {
        let all = all_commands(&program(), &[]);
        assert!(all.len() > 30, "{}", all.len());
        all
    }

    fn is_grouped(words: &[String]) -> bool {
        words.first().is_some_and(|word| GROUPED.contains(&word.as_str()))
    }

    #[test]
    fn every_command_stands_once_in_the_help_of_the_program() {
        let mut program = program();
        let help = program.render_help().to_string();
        let lines: Vec<&str> = help.lines().collect();
        let groups = lines.iter().take_while(|line| **line != "Options:");
        let mut listed: Vec<&str> = groups.copied().filter(|line| line.starts_with("  ")).collect();
        let mut visible: Vec<String> = program
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(|one| {
                let about = one.get_about().unwrap_or_else(|| panic!("{} has no line", one.get_name()));
                format!("  {:<12} {about}", one.get_name())
            })
            .collect();
        listed.sort_unstable();
        visible.sort_unstable();
        assert_eq!(listed, visible);
        for words in ["Measure:", "Decide:", "Look:", "Operate:", "--help-all", "--version", "Examples:"] {
            assert!(help.contains(words), "{words} is not in\n{help}");
        }
        assert!(lines.len() <= MOST_LINES[1], "{} lines\n{help}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{help}");
    }

    #[test]
    fn no_short_help_is_longer_than_two_screens() {
        for (words, mut command) in commands() {
            let help = command.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= MOST_LINES[0], "{words:?} has {lines} lines\n{help}");
            let hides = command.get_arguments().any(clap::Arg::is_hide_short_help_set);
            if hides || is_grouped(&words) {
                let last = help.lines().last().unwrap_or_default();
                assert!(last.contains("--help-all"), "{words:?} ends with '{last}'");
            }
        }
    }

    #[test]
    fn every_option_is_in_the_long_help() {
        for (words, mut command) in commands() {
            let help = command.render_long_help().to_string();
            let names: Vec<String> = command
                .get_arguments()
                .filter(|option| !option.is_hide_set())
                .filter_map(|option| Some(format!("--{}", option.get_long()?)))
                .collect();
            let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
            let heads: Vec<&str> = help
                .lines()
                .filter(|line| line.trim_start().starts_with('-'))
                .flat_map(|line| line.split(is_end))
                .collect();
            for name in names {
                assert!(heads.contains(&name.as_str()), "{words:?} lacks {name}\n{help}");
            }
        }
    }

    #[test]
    fn options_begin_with_a_short_line_and_are_in_groups() {
        for (words, command) in commands().iter().filter(|(words, _)| is_grouped(words)) {
            for option in command.get_arguments() {
                let name = option.get_id();
                let first = option.get_help().map(ToString::to_string).unwrap_or_default();
                let length = first.chars().count();
                assert!((1..=FIRST_LINE).contains(&length), "{words:?} {name}: {length} in '{first}'");
                assert!(
                    option.is_positional() || option.get_help_heading().is_some(),
                    "{words:?} {name} is in no group"
                );
            }
        }
    }

    #[test]
    fn the_long_help_is_asked_for() {
        let said = |words: &[&str]| match Cli::try_parse_from(words) {
            Err(error) => (error.kind(), error.to_string()),
            Ok(_) => panic!("{words:?} is no request for help"),
        };
        for words in [&["threadwise", "run", "-h"][..], &["threadwise", "run", "--help"]] {
            let (kind, text) = said(words);
            assert_eq!(kind, clap::error::ErrorKind::DisplayHelp);
            assert!(text.contains("--budget") && !text.contains("--teardown"), "{text}");
        }
        let (kind, text) = said(&["threadwise", "run", "--help-all"]);
        assert_eq!(kind, clap::error::ErrorKind::DisplayHelp);
        assert!(text.contains("--teardown"), "{text}");
        // A command that is measured keeps its own.
        assert!(Cli::try_parse_from(["threadwise", "run", "command", "--", "true", "--help"]).is_ok());
    }
}
