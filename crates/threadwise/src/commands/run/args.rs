//! Options of `run` for the workloads `command` and `transaction`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use threadwise_study::command;

/// Options of `run`, `pool`, `maxdop` and `bind`: how long, how exactly, and where results go.
#[derive(Debug, Clone, Args, Default)]
pub struct MeasureArgs {
    /// Most time that this start may take, from the probe and setting up to the end, such as 90s, 5m or 1h.
    /// A budget that cannot hold 8 blocks ends the study as soon as that is known, with one that can.
    /// [default: no limit; at least 8 blocks, and as many as the preset's own budget holds]
    #[arg(long, value_name = "TIME", value_parser = crate::input::seconds)]
    pub budget: Option<f64>,
    /// Exactly this many blocks, however long they take
    #[arg(long, value_name = "NUMBER", conflicts_with = "budget")]
    pub blocks: Option<u32>,
    /// Difference that is too small to matter: every comparison is judged by it [default: 3%, or the study's]
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share)]
    pub margin: Option<f64>,
    /// Result file to write [default: NAME-TIME.threadwise in this folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// HTML report to write [default: beside the result file]
    #[arg(long, value_name = "FILE", conflicts_with = "no_html")]
    pub html: Option<PathBuf>,
    /// Write no HTML report
    #[arg(long)]
    pub no_html: bool,
    /// Folder for the data while the study runs; ours is made inside it and removed at the end
    /// [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Seed of every shuffle and draw [default: drawn, and stored]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Measure although the machine is busy or a database server is running; for this start only, so that
    /// `run --resume` needs it again
    #[arg(long)]
    pub allow_busy: bool,
    /// Do not probe the hardware first (who shares a core, co-runners, latencies, clocks), nor look at where
    /// slices run; a study that was started so is not probed by `run --resume` either
    #[arg(long)]
    pub no_probe: bool,
    /// Say what would be run, where and for how long, and stop
    #[arg(long, conflicts_with = "json")]
    pub plan: bool,
    /// Print everything: the plan before, and after it findings, tables and what was read beside
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print the report as JSON on stdout
    #[arg(long)]
    pub json: bool,
}

/// Options of `run`, `pool` and `ab`: the slices of a block.
#[derive(Debug, Clone, Args, Default)]
pub struct SliceArgs {
    /// Rounds in a block
    #[arg(long, value_name = "NUMBER")]
    pub rounds: Option<u32>,
    /// Window of one slice, such as 50ms; 1ms to 1h
    #[arg(long, value_name = "TIME", value_parser = crate::input::slice)]
    pub slice: Option<f64>,
    /// Time before each slice in which its treatment runs and is not measured, such as 30ms; 0s to
    /// 60s [default: measured for each treatment before the first block]
    #[arg(long, value_name = "TIME", value_parser = crate::input::rewarm)]
    pub rewarm: Option<f64>,
}

/// Options of `run` for the workload `command`.
#[derive(Debug, Clone, Args, Default)]
pub struct CommandArgs {
    /// The command to measure, with its arguments: `threadwise run command -- CMD ARGS`. No shell runs it
    /// (sh -c '…' does). {sessions} {session} {cpus} {out} {seed} {treatment} {block} are filled in, {{ and
    /// }} are braces. It is stored in the result file and shown in the report: passwords belong into the
    /// environment
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
    /// One process for the whole treatment, or one for each session, all started at once
    #[arg(long, value_enum, value_name = "treatment|session", help_heading = "Commands")]
    pub each: Option<EachArg>,
    /// A number of the command's output: NAME='UNIT BETTER KIND:PATTERN' with BETTER higher, lower or none,
    /// KIND regex (first group, last match) or json (a pointer); @stderr or @file=NAME (in {out}) after KIND
    /// for other places; such as --metric tps='tx/s higher regex:tps = ([0-9.]+)'. May be given several
    /// times
    #[arg(long, value_name = "NAME=SPEC", value_parser = metric, help_heading = "Commands")]
    pub metric: Vec<(String, String)>,
    /// Metrics of a known tool (see `threadwise list`), such as pgbench or sysbench
    #[arg(long, value_name = "NAME", help_heading = "Commands")]
    pub parse: Option<String>,
    /// What the verdict speaks of: one of the metrics, or elapsed for the duration [default: the parser's own, else the
    /// first --metric, else the duration]
    #[arg(long, value_name = "NAME", help_heading = "Commands")]
    pub headline: Option<String>,
    /// Command before everything else of a treatment's run in a block; what it starts in the background
    /// lives until teardown
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub setup: Option<String>,
    /// Command after setup
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub warmup: Option<String>,
    /// Command right before the run, outside of its time
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub before: Option<String>,
    /// Command after the run, outside of its time
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub after: Option<String>,
    /// Command that looks at what the run did: another exit code than 0 fails the run
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub check: Option<String>,
    /// Command at the very end, whatever happened
    #[arg(long, value_name = "CMD", help_heading = "Commands")]
    pub teardown: Option<String>,
    /// A server that is already running: its process number, port:N, the path of its socket, or its systemd
    /// unit. All its threads are bound to each treatment's logical CPUs for its runs, those that it starts
    /// later too, and have their own again after each, also when threadwise is killed
    #[arg(long, value_name = "PID|port:N|UNIT", value_parser = server, help_heading = "Commands")]
    pub pin_server: Option<String>,
    /// Run the commands that a study definition names, after they were shown
    #[arg(long, help_heading = "Commands")]
    pub allow_commands: bool,
}

/// Options of `run` and `pool` for the workload `transaction`.
#[derive(Debug, Clone, Args, Default)]
pub struct TransactionArgs {
    /// Statements of yours, done again and again as one transaction on your own database, by a client that waits for
    /// each; begun read-only. A line -- :NAME 1..1000 in the file's head has :NAME drawn for each of them. The file is stored
    /// in the result file and shown in the report; answers are not checked
    #[arg(long, value_name = "FILE.sql", help_heading = "Transactions")]
    pub transaction: Option<PathBuf>,
    /// Let the transactions write, to the database of this name (of a file: its path) and to no other
    #[arg(long, value_name = "DATABASE", help_heading = "Transactions")]
    pub may_write: Option<String>,
}

/// Values of `--each`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum EachArg {
    /// One process for the whole treatment
    Treatment,
    /// One process for each session
    Session,
}

/// `NAME=SPEC`; the pattern at its end keeps its spaces.
pub fn metric(text: &str) -> Result<(String, String), String> {
    let form = "is not NAME=SPEC, such as tps='tx/s higher regex:tps = ([0-9.]+)'";
    let (name, spec) = text.split_once('=').ok_or_else(|| format!("'{text}' {form}"))?;
    command::MetricSpec::parse(name, spec).map(|_| (name.to_owned(), spec.to_owned()))
}

/// Kept as it was typed, if it names a server.
pub fn server(text: &str) -> Result<String, String> {
    command::ServerName::parse(text).map(|_| text.to_owned())
}
