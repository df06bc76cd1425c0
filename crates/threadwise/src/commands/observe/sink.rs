//! Outputs of intervals: lines, JSON, a screen, a file of metrics, or Prometheus.

use super::view;
use crate::commands::headroom::destination::{Destination, DestinationArgs};
use crate::commands::headroom::meter::Window;
use crate::error::AppError;
use crate::output;
use std::collections::HashMap;
use threadwise_headroom::{SmtYield, exposition as capacity};
use threadwise_observed::exposition::{self, Totals};
use threadwise_observed::{Gap, Interval, StatementText};
use threadwise_report::json;

/// Where intervals go, with their sums.
pub struct Sink {
    /// The output.
    pub destination: Destination,
    totals: Totals,
    capacity: capacity::Totals,
}

/// The machine of an interval, if the server runs here.
#[derive(Clone, Copy)]
pub struct LocalWindow<'a> {
    /// Its busy times.
    pub window: &'a Window,
    /// The SMT yield in use.
    pub smt_yield: SmtYield,
}

/// An interval as outputs show it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The interval.
    pub interval: &'a Interval,
    /// Its end in UTC (RFC 3339).
    pub utc: &'a str,
    /// What is known of statements.
    pub names: &'a HashMap<String, StatementText>,
    /// The machine.
    pub local: Option<LocalWindow<'a>>,
}

impl Sink {
    /// Opens the requested output, and shows its notes.
    ///
    /// # Errors
    /// It cannot be written, is not a terminal, or the address cannot be used.
    pub fn open(args: &DestinationArgs, notes: &[String]) -> Result<Self, AppError> {
        let destination = Destination::open(args, notes, exposition::MARK)?;
        Ok(Self { destination, totals: Totals::default(), capacity: capacity::Totals::default() })
    }

    /// Writes an interval.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn interval(&mut self, shown: &Shown<'_>) -> Result<(), AppError> {
        let time = shown.utc.split(['T', '.', 'Z']).nth(1).unwrap_or_default();
        match &mut self.destination {
            Destination::Lines => output::print(&view::line(time, shown.interval)),
            Destination::Json => {
                output::print(&format!("{}\n", json::observed(shown.interval, shown.utc, shown.names)))
            }
            Destination::Screen(terminal, notes) => {
                let title = format!("threadwise observe  {time}");
                terminal.show(&view::frame(&title, shown.interval, shown.names, notes, terminal.size()))
            }
            Destination::Textfile(_) | Destination::Prometheus(_) => {
                let text = self.metrics(shown);
                self.destination.metrics(text)
            }
        }
    }

    /// Notes that the server did not answer a look: shows the line, if there is a new one, and a screen and metrics say it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn miss(
        &mut self,
        line: Option<&str>,
        names: &HashMap<String, StatementText>,
    ) -> Result<(), AppError> {
        line.iter().for_each(|line| self.destination.remark(line));
        self.totals.miss();
        if let Destination::Screen(terminal, notes) = &mut self.destination {
            let missed = Interval { gap: Some(Gap::Unreachable), ..Interval::default() };
            return terminal.show(&view::frame("threadwise observe", &missed, names, notes, terminal.size()));
        }
        self.destination.metrics(exposition::exposition(&self.totals, names))
    }

    fn metrics(&mut self, shown: &Shown<'_>) -> String {
        self.totals.add(shown.interval);
        let mut text = exposition::exposition(&self.totals, shown.names);
        if let Some(LocalWindow { window, smt_yield }) = shown.local {
            self.capacity.add(&window.rows, window.length_s);
            let about = capacity::Window {
                end_unix_s: shown.interval.end_unix_ms as f64 / 1e3,
                length_s: window.length_s,
                smt_yield,
                clock_ratio: window.clock_ratio.unwrap_or(1.0),
            };
            text.push_str(&capacity::exposition(&about, &window.rows, &self.capacity));
        }
        text
    }
}
