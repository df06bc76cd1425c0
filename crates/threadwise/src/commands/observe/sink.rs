//! Outputs of intervals: lines, JSON, a screen, a file of metrics, or Prometheus.

use super::args::ObserveArgs;
use super::view;
use crate::commands::headroom::meter::Window;
use crate::commands::headroom::serve::{Page, serve};
use crate::commands::headroom::terminal::Terminal;
use crate::commands::headroom::textfile::Textfile;
use crate::error::AppError;
use crate::output;
use std::collections::HashMap;
use std::time::Duration;
use threadwise_headroom::{SmtYield, exposition as capacity};
use threadwise_machine::text::marked;
use threadwise_observed::exposition::{self, Totals};
use threadwise_observed::{Interval, StatementText};
use threadwise_report::json;

/// An output.
pub enum Sink {
    /// A line an interval.
    Lines,
    /// One JSON object a line.
    Json,
    /// A screen, with the notes below it.
    Screen(Terminal, Vec<String>),
    /// Metrics, for a file or Prometheus.
    Metrics(Box<Metrics>),
}

/// Where metrics go, with their sums.
pub struct Metrics {
    place: Place,
    totals: Totals,
    capacity: capacity::Totals,
}

enum Place {
    Textfile(Textfile),
    Prometheus(Page),
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
    pub fn open(args: &ObserveArgs, notes: &[String]) -> Result<Self, AppError> {
        if args.live {
            let notes = notes.iter().map(|note| marked(note).into_owned()).collect();
            return Ok(Self::Screen(Terminal::enter()?, notes));
        }
        let file = args.textfile.as_deref().map(|path| Textfile::new(path, exposition::MARK)).transpose()?;
        notes.iter().for_each(|note| output::tell(note));
        let place = match (file, args.prometheus) {
            (Some(file), _) => {
                if !file.is_collected() {
                    output::tell("node_exporter reads only files whose names end in .prom");
                }
                Place::Textfile(file)
            }
            (None, Some(address)) => {
                let page = Page::default();
                let address = serve(address, page.clone())?;
                output::print(&format!("http://{address}/metrics\n"))?;
                Place::Prometheus(page)
            }
            (None, None) if args.json => return Ok(Self::Json),
            (None, None) => return Ok(Self::Lines),
        };
        let metrics = Metrics { place, totals: Totals::default(), capacity: capacity::Totals::default() };
        Ok(Self::Metrics(Box::new(metrics)))
    }

    /// Writes an interval.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn interval(&mut self, shown: &Shown<'_>) -> Result<(), AppError> {
        let time = shown.utc.split(['T', '.', 'Z']).nth(1).unwrap_or_default();
        match self {
            Self::Lines => output::print(&view::line(time, shown.interval)),
            Self::Json => {
                output::print(&format!("{}\n", json::observed(shown.interval, shown.utc, shown.names)))
            }
            Self::Screen(terminal, notes) => {
                let title = format!("threadwise observe  {time}");
                terminal.show(&view::frame(&title, shown.interval, shown.names, notes, terminal.size()))
            }
            Self::Metrics(metrics) => metrics.interval(shown),
        }
    }

    /// Notes that the server did not answer a look.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn miss(&mut self, line: &str) -> Result<(), AppError> {
        if let Self::Metrics(metrics) = self {
            metrics.totals.miss();
        }
        self.remark(line);
        Ok(())
    }

    /// Shows a remark.
    pub fn remark(&mut self, line: &str) {
        match self {
            Self::Screen(_, notes) => notes.push(marked(line).into_owned()),
            _ => output::tell(line),
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
}

impl Metrics {
    fn interval(&mut self, shown: &Shown<'_>) -> Result<(), AppError> {
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
        match &self.place {
            Place::Textfile(file) => file.replace(&text),
            Place::Prometheus(page) => {
                page.set(text);
                Ok(())
            }
        }
    }
}
