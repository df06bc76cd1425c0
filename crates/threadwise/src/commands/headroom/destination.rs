//! Where windows and intervals go: lines, JSON, a screen, a file of metrics, or Prometheus.

use super::serve::{Page, serve};
use super::terminal::Terminal;
use super::textfile::Textfile;
use crate::error::AppError;
use crate::output;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use threadwise_machine::text::marked;

/// Options of `headroom` and `observe`: the output.
#[derive(Debug, Args)]
pub struct DestinationArgs {
    /// Fill the terminal; q or Ctrl-C ends it
    #[arg(long, alias = "full-screen", conflicts_with_all = ["json", "prometheus", "textfile"])]
    pub live: bool,
    /// Print JSON, one object a line for each interval (docs/JSON.md)
    #[arg(long, conflicts_with_all = ["prometheus", "textfile"])]
    pub json: bool,
    /// Serve /metrics to Prometheus at this address and port, or at this port of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "textfile")]
    pub prometheus: Option<SocketAddr>,
    /// Write this file after every interval, for node_exporter's textfile collector; only its own file is replaced
    #[arg(long, value_name = "PATH")]
    pub textfile: Option<PathBuf>,
}

/// The output.
pub enum Destination {
    /// Lines for people.
    Lines,
    /// One JSON object a line.
    Json,
    /// A screen, with the notes below it.
    Screen(Terminal, Vec<String>),
    /// A file for node_exporter.
    Textfile(Textfile),
    /// Metrics for Prometheus.
    Prometheus(Page),
}

impl Destination {
    /// Opens the requested output, and shows its notes. A file of metrics begins with `mark`.
    ///
    /// # Errors
    /// It cannot be written, is not a terminal, or the address cannot be used.
    pub fn open(args: &DestinationArgs, notes: &[String], mark: &'static str) -> Result<Self, AppError> {
        if args.live {
            let notes = notes.iter().map(|note| marked(note).into_owned()).collect();
            return Ok(Self::Screen(Terminal::enter()?, notes));
        }
        let file = args.textfile.as_deref().map(|path| Textfile::new(path, mark)).transpose()?;
        notes.iter().for_each(|note| output::tell(note));
        if let Some(file) = file {
            if !file.is_collected() {
                output::tell("node_exporter reads only files whose names end in .prom");
            }
            return Ok(Self::Textfile(file));
        }
        if let Some(address) = args.prometheus {
            let page = Page::default();
            let address = serve(address, page.clone())?;
            output::print(&format!("http://{address}/metrics\n"))?;
            return Ok(Self::Prometheus(page));
        }
        Ok(if args.json { Self::Json } else { Self::Lines })
    }

    /// Replaces the metrics.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn metrics(&self, text: String) -> Result<(), AppError> {
        match self {
            Self::Textfile(file) => file.replace(&text),
            Self::Prometheus(page) => {
                page.set(text);
                Ok(())
            }
            Self::Lines | Self::Json | Self::Screen(..) => Ok(()),
        }
    }

    /// Waits a little; returns whether the user pressed a key to end.
    pub fn wait(&self, time: Duration) -> bool {
        match self {
            Self::Screen(terminal, _) => terminal.wait(time),
            _ => {
                std::thread::sleep(time);
                false
            }
        }
    }

    /// Shows a remark; on a screen at the next interval, below the others.
    pub fn remark(&mut self, line: &str) {
        match self {
            Self::Screen(_, notes) => {
                let line = marked(line).into_owned();
                // The same may come back for months.
                notes.retain(|note| *note != line);
                notes.push(line);
            }
            _ => output::tell(line),
        }
    }
}

/// Parses `127.0.0.1:9464`, `[::1]:9464`, or a port alone.
fn address(text: &str) -> Result<SocketAddr, String> {
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
    fn addresses() {
        assert_eq!(address("9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(address("[::1]:80").map(|one| one.port()), Ok(80));
        assert!(address("localhost:80").is_err() && address("99999").is_err() && address("").is_err());
    }
}
