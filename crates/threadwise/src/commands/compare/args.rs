//! Arguments of `compare`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise compare sqlite.threadwise postgres.threadwise mariadb.threadwise
  threadwise compare old.threadwise new.threadwise --html side-by-side.html
  threadwise compare --before a1 a2 a3 --after b1 b2 b3      did it change?
  threadwise compare --before a1 a2 a3 --after b1 b2 b3 --fail-on-regression     for CI
  threadwise compare published:cached-reads FILE     published ratios beside those of a file
  threadwise compare observed.threadwise --by smt    statements in production, by a state
  threadwise compare observed.threadwise --since yesterday    which of them got slower?

A test for a change needs three studies per side or three pairs: studies of one machine
differ by 1 to 3% from hour to hour more than their own intervals say.

All options and exit codes: threadwise compare --help-all")]
#[command(after_long_help = "\
Examples:
  threadwise compare sqlite.threadwise postgres.threadwise mariadb.threadwise
  threadwise compare *.threadwise --json
  threadwise compare old.threadwise new.threadwise --html side-by-side.html
  threadwise compare --before a1 a2 a3 --after b1 b2 b3      did it change?
  threadwise compare --before a1 a2 a3 --after b1 b2 b3 --fail-on-regression     for CI
  threadwise compare --before a1 a2 a3 --after b1 b2 b3 --format markdown     a comment's text
  threadwise compare --before a1 a2 a3 --after b1 b2 b3 --pairs    a1 with b1, and so on
  threadwise compare published:cached-reads FILE     published ratios beside those of a file
  threadwise compare observed.threadwise --by smt    statements in production, by a state
  threadwise compare observed.threadwise --by state --between blue green
  threadwise compare observed.threadwise --since 2026-11-29T12:00Z

Ratios are matched by the names of their comparisons. Rates are shown if engine and workload are
the same, and their ratio if the machine is, too. Rows a second of two engines are not compared:
a row is not the same work in both.

A test for a change needs three studies per side or three pairs: studies of one machine differ
by 1 to 3% from hour to hour more than their own intervals say. A regression is a change that is
shown to be worse, and measured as worse by the margin or more. With --fail-on-regression the
exit code is then 4. It is 5 if a treatment may have got worse by the margin or more and the
studies are too few to show it; the message says how many more would, and --undecided pass makes
it 0. With fewer than three studies per side, or those of different machines, it is 2 and nothing
is written.

A file of `threadwise observe` is compared by a state of its intervals, or before and after a
moment: the ratio of time a call of each statement, over intervals of like load and hour. The unit
is the change of state if states took turns (nine episodes or more), otherwise the day. With one
change only, the answer says that it is confounded (docs/how-to/slower-statements.md).")]
pub struct CompareArgs {
    /// Result files, or published:NAME and one result file
    ///
    /// Two or more result files, or published:NAME (`threadwise published`) and one.
    #[arg(value_name = "FILE", conflicts_with_all = ["before", "after"])]
    pub files: Vec<PathBuf>,
    /// Result files from before the change
    ///
    /// Each study gives one number a treatment.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", help_heading = "Before and after")]
    pub before: Vec<PathBuf>,
    /// Result files from after the change
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before", help_heading = "Before and after")]
    pub after: Vec<PathBuf>,
    /// Files of both sides are pairs that were run in turns
    ///
    /// The first of before and the first of after are a pair, the second of both are the next, and so on.
    #[arg(long, requires = "before", conflicts_with_all = ["files"], help_heading = "Before and after")]
    pub pairs: bool,
    /// Metric to compare [default: the rate, or a command's headline]
    ///
    /// Such as latency_ns_p99 or cpu_ns_per_row.
    #[arg(long, value_name = "NAME", requires = "before", conflicts_with_all = ["files"], help_heading = "Before and after")]
    pub metric: Option<String>,
    /// Exit with 4 if a treatment got worse, and with 5 if it may have
    ///
    /// It is 5 if a treatment may have got worse and the studies do not decide it, and 2 if they cannot be judged.
    #[arg(long, help_heading = "Before and after")]
    pub fail_on_regression: bool,
    /// Whether an undecided regression passes (0) or fails (5)
    ///
    /// It is undecided if --fail-on-regression finds a regression neither shown nor excluded. It needs
    /// --fail-on-regression.
    #[arg(
        long,
        value_enum,
        value_name = "pass|fail",
        default_value = "fail",
        requires = "fail_on_regression",
        hide_short_help = true,
        help_heading = "Before and after"
    )]
    pub undecided: UndecidedArg,
    /// Compare statements of one file of `observe` by this state
    ///
    /// The two values that the file has, the second over the first; for smt on over off.
    #[arg(long, value_enum, value_name = "STATE", conflicts_with_all = ["before", "after", "since"], help_heading = "Statements in production")]
    pub by: Option<ByArg>,
    /// Compare before and after a moment: yesterday, 24h, 2026-11-29T12:00Z
    ///
    /// A time is counted back from the end of the file; yesterday is 24h. Dates are in UTC.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["before", "after"], help_heading = "Statements in production")]
    pub since: Option<String>,
    /// The two values to compare if the file has more of them
    #[arg(long, value_names = ["FIRST", "SECOND"], num_args = 2, requires = "by", help_heading = "Statements in production")]
    pub between: Vec<String>,
    /// Difference that is too small to matter, such as 5%
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = crate::input::share, help_heading = "Statements in production")]
    pub margin: f64,
    /// Number of statements that are compared, those with the most time
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Statements in production")]
    pub top: u32,
    /// Write a self-contained HTML page to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Print everything: findings and tables
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print a form for continuous integration
    ///
    /// Markdown is there for all that is compared, the others with --before and --after
    /// (docs/how-to/ci.md).
    #[arg(long, value_enum, conflicts_with_all = ["json", "all"], help_heading = "Output")]
    pub format: Option<FormatArg>,
}

/// Values of `--format`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum FormatArg {
    /// Text of a comment, or of a job's summary
    Markdown,
    /// Annotations of a GitHub workflow
    Github,
    /// JUnit XML: a case for each treatment
    Junit,
    /// Bencher Metric Format: the figures after the change
    Bencher,
}

/// Values of `--by`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ByArg {
    /// SMT of the server's machine
    Smt,
    /// The word of observe --state
    State,
    /// Governor and turbo of the server's machine
    Clock,
    /// Its online logical CPUs
    Cpus,
    /// Version of the server
    Version,
    /// Neighbours, by observe --neighbours: in under 5% of an interval's looks (quiet), in over 20% (busy)
    Neighbours,
}

/// Values of `--undecided`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum UndecidedArg {
    /// Exit with 0
    Pass,
    /// Exit with 5
    Fail,
}
