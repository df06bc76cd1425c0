//! Options of `run` for the workloads `command` and `transaction`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use threadwise_study::arrivals::RATES_PER_S;
use threadwise_study::command;
use threadwise_study::vcpus::MOST_VCPUS;

/// Options of `run`, `pool`, `maxdop`, `bind` and `ab`: duration, precision and output.
#[derive(Debug, Clone, Args, Default)]
pub struct MeasureArgs {
    /// Time limit of this start, such as 90s, 5m or 1h
    ///
    /// It includes the probe and setup. A budget that cannot hold 8 blocks ends the study as soon as that is known, and
    /// the message gives one that can. [default: no limit; at least 8 blocks, and as many as the preset's own budget
    /// holds]
    #[arg(long, value_name = "TIME", value_parser = crate::input::seconds, help_heading = "How long")]
    pub budget: Option<f64>,
    /// Exactly this many blocks, however long they take
    ///
    /// It cannot be given with --budget.
    #[arg(long, value_name = "NUMBER", conflicts_with = "budget", help_heading = "How long")]
    pub blocks: Option<u32>,
    /// Difference that does not matter [default: 3%, or the study's]
    ///
    /// Every comparison is judged by it.
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::share, help_heading = "How long")]
    pub margin: Option<f64>,
    /// Measure although the machine is busy or a database server runs
    ///
    /// It applies to this start only, so `run --resume` needs it again.
    #[arg(long, help_heading = "The machine")]
    pub allow_busy: bool,
    /// Do not probe the hardware first
    ///
    /// The probe measures which logical CPUs share a core, neighbours, latencies and clocks. Without it, threadwise
    /// does not look where slices run, and `run --resume` does not probe the study later.
    #[arg(long, hide_short_help = true, help_heading = "The machine")]
    pub no_probe: bool,
    /// Folder for the data during the study
    ///
    /// threadwise creates its own folder inside it, and removes that at the end. [default: the system's temporary
    /// folder]
    #[arg(long, value_name = "DIR", help_heading = "The machine")]
    pub data_dir: Option<PathBuf>,
    /// Seed of every shuffle and draw [default: drawn, and stored]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, help_heading = "The machine")]
    pub seed: Option<u64>,
    /// Result file [default: NAME-TIME.threadwise in this folder]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// HTML report to write [default: beside the result file]
    #[arg(long, value_name = "FILE", conflicts_with = "no_html", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write no HTML report
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub no_html: bool,
    /// Print what would run, where and for how long, and stop
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub plan: bool,
    /// Print everything: the plan, all findings and all tables
    ///
    /// The plan comes before the measurement. Findings, tables and other readings come after it.
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print the report as JSON (docs/JSON.md)
    ///
    /// It goes to standard output.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Options of `run`, `pool` and `ab`: the slices of a block.
#[derive(Debug, Clone, Args, Default)]
pub struct SliceArgs {
    /// Rounds in a block
    #[arg(long, value_name = "NUMBER", hide_short_help = true, help_heading = "How long")]
    pub rounds: Option<u32>,
    /// Window of one slice, such as 50ms; 1ms to 1h
    #[arg(long, value_name = "TIME", value_parser = crate::input::slice, hide_short_help = true, help_heading = "How long")]
    pub slice: Option<f64>,
    /// Warm-up of a treatment before each slice, such as 30ms; 0s to 60s
    ///
    /// The treatment runs in this time unmeasured. [default: measured for each treatment before the first block]
    #[arg(long, value_name = "TIME", value_parser = crate::input::rewarm, hide_short_help = true, help_heading = "How long")]
    pub rewarm: Option<f64>,
}

/// Options of `run` and `pool`: requests that arrive at a rate.
#[derive(Debug, Clone, Args, Default)]
pub struct RateArgs {
    /// Load at a rate, such as 200/s, 50,100,200, or auto
    ///
    /// Requests arrive at this rate, for all sessions of a treatment together, whether earlier ones are done or not, and
    /// wait while all sessions are busy. Latency begins when a request is due. Several rates are measured in one
    /// study. auto first finds the most that the machine does, and takes 20 to 105% of it. [default: each session sends
    /// its next request when the last is done]
    #[arg(long, value_name = "RATES|auto", value_parser = rates, help_heading = "What is measured")]
    pub rate: Option<Rates>,
    /// How requests arrive at a rate: poisson or constant
    ///
    /// poisson: independently of each other, as those of many users do; constant: at equal distances. It needs --rate.
    #[arg(
        long,
        value_enum,
        value_name = "poisson|constant",
        requires = "rate",
        hide_short_help = true,
        help_heading = "What is measured"
    )]
    pub arrivals: Option<ArrivalsArg>,
    /// Upper bound for the 99th percentile of latency, such as p99=10ms
    ///
    /// The answer then has the most sessions, or with --rate the highest rate, within it.
    #[arg(long, value_name = "p99=TIME", value_parser = crate::input::p99, help_heading = "What is measured")]
    pub slo: Option<f64>,
}

/// Values of `--arrivals`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ArrivalsArg {
    /// Independently of each other
    Poisson,
    /// At equal distances
    Constant,
}

/// Values of `--rate`.
#[derive(Debug, Clone, PartialEq)]
pub enum Rates {
    /// Shares of the most that is measured.
    Auto,
    /// These, a second, ascending.
    PerSecond(Vec<f64>),
}

/// Parses `200/s`, `50,100,200` or `auto`.
fn rates(text: &str) -> Result<Rates, String> {
    if text == "auto" {
        return Ok(Rates::Auto);
    }
    let (low, high) = (RATES_PER_S.start(), RATES_PER_S.end());
    let rate = |word: &str| {
        let word = word.trim();
        let number: Option<f64> = word.strip_suffix("/s").unwrap_or(word).trim().parse().ok();
        number.filter(|rate| RATES_PER_S.contains(rate)).ok_or_else(|| {
            format!("'{word}' is not a rate from {low} to {high} a second: write 200/s, 50,100,200 or auto")
        })
    };
    let mut rates = text.split(',').map(rate).collect::<Result<Vec<f64>, String>>()?;
    rates.sort_by(f64::total_cmp);
    match rates.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("{} a second is given twice", pair[0])),
        None => Ok(Rates::PerSecond(rates)),
    }
}

/// Options of `run` for the preset `vcpus`.
#[derive(Debug, Clone, Args, Default)]
pub struct VcpuArgs {
    /// vCPUs of the server, for the preset vcpus
    ///
    /// [default: what the server says; of a private server the logical CPUs that it may use]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VCPUS)), hide_short_help = true, help_heading = "Servers")]
    pub vcpus: Option<u32>,
    /// Share of your server that vcpus may keep busy, such as 50%
    ///
    /// For the preset vcpus. Of 8 vCPUs 50% are four sessions, which do not show what the second half adds; 100% keeps all of them busy, and 150%
    /// shows what sessions past them do. Your server is not loaded without it. The study stops when another
    /// connection's statements take three times as long as before. [default: 150% of a private server]
    #[arg(long, value_name = "PERCENT", value_parser = crate::input::server_share, hide_short_help = true, help_heading = "Servers")]
    pub share: Option<f64>,
}

/// Options of `run` and `ab` for the workload `command`.
#[derive(Debug, Clone, Args, Default)]
pub struct CommandArgs {
    /// Command to measure, with its arguments
    ///
    /// `threadwise run command -- CMD ARGS` measures one, `threadwise ab -- CMD_A --- CMD_B` compares two. No shell
    /// runs it; write sh -c '…' for one. {sessions} {session} {cpus} {out} {seed} {treatment} {block} are replaced, {{
    /// and }} are braces. The command is stored in the result file and shown in the report: put passwords into the
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
    /// One process for the whole treatment, or one for each session
    ///
    /// Those of sessions all start at the same time.
    #[arg(
        long,
        value_enum,
        value_name = "treatment|session",
        hide_short_help = true,
        help_heading = "Commands and lists"
    )]
    pub each: Option<EachArg>,
    /// Metrics of a known tool, such as pgbench (see `threadwise list`)
    #[arg(long, value_name = "NAME", help_heading = "Commands and lists")]
    pub parse: Option<String>,
    /// A number of the command's output; may be repeated
    ///
    /// NAME='UNIT BETTER KIND:PATTERN': BETTER is higher, lower or none; KIND is regex (first group, last match) or
    /// json (a pointer), with @stderr or @file=NAME (in {out}) after it for another source. Example:
    /// --metric tps='tx/s higher regex:tps = ([0-9.]+)'.
    #[arg(long, value_name = "NAME=SPEC", value_parser = metric, help_heading = "Commands and lists")]
    pub metric: Vec<(String, String)>,
    /// Metric of the answer, or elapsed for the duration
    ///
    /// [default: the parser's own, otherwise the first --metric, otherwise the duration]
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "Commands and lists")]
    pub headline: Option<String>,
    /// Command at the start of a treatment's run in a block
    ///
    /// Its background processes live until teardown.
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub setup: Option<String>,
    /// Command after setup
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub warmup: Option<String>,
    /// Command right before the run, not timed
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub before: Option<String>,
    /// Command after the run, not timed
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub after: Option<String>,
    /// Command that checks the run's result
    ///
    /// An exit code other than 0 fails the run.
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub check: Option<String>,
    /// Command at the very end, even after failures
    #[arg(long, value_name = "CMD", hide_short_help = true, help_heading = "Commands and lists")]
    pub teardown: Option<String>,
    /// Run the commands that a study definition names
    ///
    /// They are shown first.
    #[arg(long, help_heading = "Commands and lists")]
    pub allow_commands: bool,
    /// Running server to bind to each treatment's logical CPUs
    ///
    /// Give its process ID, port:N, the path of its socket, or its systemd unit. All its threads, later ones too, are
    /// bound to each treatment's logical CPUs for its runs, and restored after each, even if threadwise is killed.
    #[arg(long, value_name = "PID|port:N|UNIT", value_parser = server, help_heading = "Servers")]
    pub pin_server: Option<String>,
}

/// Options of `run` and `pool` for the workload `transaction`.
#[derive(Debug, Clone, Args, Default)]
pub struct TransactionArgs {
    /// Your own statements as transactions; may be repeated
    ///
    /// They run on your own database. A client repeats the statements of the file as one transaction and waits for each;
    /// it is read-only. With several files, as in --transaction pay.sql@3 --transaction look.sql@7, each transaction is
    /// drawn by its weight. For a line -- :NAME 1..1000 at the head of a file, :NAME is drawn for each transaction;
    /// docs/TRANSACTIONS.md has more sources of values, think times, and scripts of pgbench, which are taken as they
    /// are. The files are stored in the result file and shown in the report. Answers are not checked.
    #[arg(long, value_name = "FILE.sql[@WEIGHT]", value_parser = transaction_file, help_heading = "Transactions")]
    pub transaction: Vec<TransactionFile>,
    /// Variable of scripts of pgbench, such as scale=10; may be repeated
    ///
    /// It is what -D is to pgbench.
    #[arg(long, value_name = "NAME=NUMBER", value_parser = crate::input::key_value, requires = "transaction", hide_short_help = true, help_heading = "Transactions")]
    pub define: Vec<(String, String)>,
    /// Let the transactions write to this database, and no other
    ///
    /// Give the name of the database, or the path of a database file.
    #[arg(long, value_name = "DATABASE", help_heading = "Transactions")]
    pub may_write: Option<String>,
    /// Print a draft of such a file from the server's statistics, and stop
    ///
    /// pg_stat_statements is the source, of PostgreSQL. The draft has the statements with the most time, with weights by
    /// their calls, and marks where values of parameters have to be filled in. Nothing is written, and none of the
    /// statements is executed.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["transaction", "plan", "json"], hide_short_help = true, help_heading = "Transactions")]
    pub transactions_from: Option<String>,
    /// Most statements of the draft [default: 10]
    #[arg(long, value_name = "NUMBER", requires = "transactions_from", value_parser = clap::value_parser!(u32).range(1..=100), hide_short_help = true, help_heading = "Transactions")]
    pub top: Option<u32>,
}

/// A file of transactions, with the weight of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionFile {
    /// The file.
    pub path: PathBuf,
    /// The weight, if one is given.
    pub weight: Option<u32>,
}

/// Values of `--each`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum EachArg {
    /// One process for the whole treatment
    Treatment,
    /// One process for each session
    Session,
}

/// Parses `NAME=SPEC`; the pattern at its end keeps its spaces.
pub fn metric(text: &str) -> Result<(String, String), String> {
    let form = "is not NAME=SPEC, such as tps='tx/s higher regex:tps = ([0-9.]+)'";
    let (name, spec) = text.split_once('=').ok_or_else(|| format!("'{text}' {form}"))?;
    command::MetricSpec::parse(name, spec).map(|_| (name.to_owned(), spec.to_owned()))
}

/// Parses `FILE` or `FILE@WEIGHT`.
pub fn transaction_file(text: &str) -> Result<TransactionFile, String> {
    let weighted = text.rsplit_once('@').filter(|(path, weight)| {
        !path.is_empty() && !weight.is_empty() && weight.bytes().all(|byte| byte.is_ascii_digit())
    });
    let Some((path, weight)) = weighted else {
        return Ok(TransactionFile { path: text.into(), weight: None });
    };
    match weight.parse() {
        Ok(weight) if weight > 0 => Ok(TransactionFile { path: path.into(), weight: Some(weight) }),
        _ => Err(format!("'{weight}' is not a weight: give a whole number from 1 on, such as {path}@3")),
    }
}

/// Checks that it names a server; kept as typed.
pub fn server(text: &str) -> Result<String, String> {
    command::ServerName::parse(text).map(|_| text.to_owned())
}
