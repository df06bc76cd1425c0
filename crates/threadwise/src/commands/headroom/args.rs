//! Arguments of `threadwise headroom`.

use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
    /// Fill the terminal with bars; q or Ctrl-C ends it
    #[arg(long, alias = "full-screen", conflicts_with_all = ["json", "prometheus", "textfile"])]
    pub live: bool,
    /// Print JSON, one object a line for each window (docs/JSON.md)
    #[arg(long, conflicts_with_all = ["prometheus", "textfile"])]
    pub json: bool,
    /// Serve /metrics to Prometheus at this address and port, or at this port of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "textfile")]
    pub prometheus: Option<SocketAddr>,
    /// Write this file after every window, for node_exporter's textfile collector; only its own file is replaced
    #[arg(long, value_name = "PATH")]
    pub textfile: Option<PathBuf>,
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

/// Parses `127.0.0.1:9464`, `[::1]:9464`, or a port alone.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = |text: &str| Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), text.parse().ok()?));
    let parsed = text.parse().ok().or_else(|| port(text.strip_prefix(':').unwrap_or(text)));
    parsed.ok_or_else(|| {
        format!("'{text}' is not an address with a port: write 127.0.0.1:9464, [::1]:9464 or 9464")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_and_addresses() {
        assert_eq!(smt_yield("1.27"), Ok(SmtYield::new(1.27, 1.27).unwrap()));
        assert_eq!(smt_yield("1.2-1.3"), Ok(SmtYield::new(1.2, 1.3).unwrap()));
        assert!(smt_yield("27%").is_err() && smt_yield("3").is_err() && smt_yield("-1").is_err());
        assert_eq!(address("9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(address("[::1]:80").map(|one| one.port()), Ok(80));
        assert!(address("localhost:80").is_err() && address("99999").is_err() && address("").is_err());
    }
}
