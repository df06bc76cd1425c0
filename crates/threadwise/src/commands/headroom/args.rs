//! Arguments of `threadwise headroom`.

use super::destination::DestinationArgs;
use clap::Args;
use std::path::PathBuf;
use threadwise_headroom::SmtYield;

/// Arguments of `headroom`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise headroom                               a line a second, until Ctrl-C
  threadwise headroom --live                        the same as bars in the whole terminal
  threadwise headroom --yield 1.27                  with a known SMT yield
  threadwise headroom --from STUDY.threadwise       with the yield and clocks of a study
  threadwise headroom --count 1 --interval 10s --json | jq '.rows[0]'
  threadwise headroom --prometheus 127.0.0.1:9464   http://127.0.0.1:9464/metrics for Prometheus
  threadwise headroom --interval 15s --textfile /var/lib/node_exporter/threadwise.prom

\"50% busy\" is not half of what a machine with SMT can do: with one thread of each core busy, it already
does some 80% of it. Columns:
  busy            share of the logical CPUs' time in use, as the operating system shows it
  cores busy      the same of cores: a core is busy while one of its logical CPUs is
  capacity used   work done, as a share of the maximum of this machine
  headroom        the rest of it
A range means that busy times do not tell whether siblings were busy together, or that the yield is a
range. Formulas and assumptions: docs/HEADROOM.md")]
pub struct HeadroomArgs {
    #[command(flatten)]
    pub yields: YieldArgs,
    /// Interval between lines, 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = crate::input::busy_interval)]
    pub interval: f64,
    /// Number of lines [default: until Ctrl-C]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    #[command(flatten)]
    pub destination: DestinationArgs,
    /// Copies of /proc/stat recorded one --interval apart, instead of this machine's; two or more
    #[arg(long, value_name = "FILE", num_args = 2.., conflicts_with = "count")]
    pub recorded: Vec<PathBuf>,
    /// The recorded machine of --stat (`threadwise topology --capture`)
    #[arg(long, value_name = "DIR", requires = "recorded", default_value = "/")]
    pub root: PathBuf,
    /// Do not trace task switches even if permitted: cheaper, and with wider ranges
    #[arg(long)]
    pub no_switches: bool,
}

/// The SMT yield by which capacity is computed.
#[derive(Debug, Args)]
pub struct YieldArgs {
    /// SMT yield: throughput of a core with two busy threads over one busy thread, such as 1.27 or 1.2-1.3
    /// [default: from --from, otherwise the range of published ones]
    #[arg(long = "yield", value_name = "Y", value_parser = smt_yield, conflicts_with = "from")]
    pub smt_yield: Option<SmtYield>,
    /// Use the SMT yield of this result file, with its interval, and its clocks if it has them
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
}

/// `1.27`, or `1.2-1.35`.
fn smt_yield(text: &str) -> Result<SmtYield, String> {
    let number = |text: &str| {
        let parsed = text.trim().parse::<f64>();
        parsed.map_err(|_| format!("'{text}' is not an SMT yield: write 1.27, or 1.2-1.3"))
    };
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    SmtYield::new(number(low)?, number(high)?).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields() {
        assert_eq!(smt_yield("1.27"), Ok(SmtYield::new(1.27, 1.27).unwrap()));
        assert_eq!(smt_yield("1.2-1.3"), Ok(SmtYield::new(1.2, 1.3).unwrap()));
        assert!(smt_yield("27%").is_err() && smt_yield("3").is_err() && smt_yield("-1").is_err());
    }
}
