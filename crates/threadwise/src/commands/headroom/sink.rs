//! Outputs of windows: lines, JSON, a screen, a file of metrics, or Prometheus.

use super::args::HeadroomArgs;
use super::meter::Window;
use super::serve::{Page, serve};
use super::terminal::Terminal;
use super::textfile::Textfile;
use crate::error::AppError;
use crate::output;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threadwise_headroom::exposition::{self, Totals, exposition};
use threadwise_headroom::{Bounds, SmtYield, screen, table};
use threadwise_machine::text::marked;
use threadwise_report::json::{self, HeadroomWindow};

/// What all windows have in common.
pub struct Setting {
    /// The SMT yield in use.
    pub smt_yield: SmtYield,
    /// Its source.
    pub yield_source: &'static str,
    /// Whether time can be stolen here.
    pub may_be_stolen: bool,
}

/// An output.
pub enum Sink {
    /// A table, with the number of lines so far.
    Lines(u64),
    /// One JSON object a line.
    Json,
    /// Bars, with the notes below them.
    Screen(Terminal, Vec<String>),
    /// A file for node_exporter.
    Textfile(Textfile, Totals),
    /// Metrics for Prometheus.
    Prometheus(Page, Totals),
}

impl Sink {
    /// Opens the requested output, and shows its notes if it has a place for them.
    ///
    /// # Errors
    /// It cannot be written, is not a terminal, or the address cannot be used.
    pub fn open(args: &HeadroomArgs, notes: Vec<String>, setting: &Setting) -> Result<Self, AppError> {
        if args.live {
            let notes = notes.iter().map(|note| marked(note).into_owned()).collect();
            return Ok(Self::Screen(Terminal::enter()?, notes));
        }
        let file = args.textfile.as_deref().map(|path| Textfile::new(path, exposition::MARK)).transpose()?;
        notes.iter().for_each(|note| output::tell(note));
        if let Some(file) = file {
            if !file.is_collected() {
                output::tell("node_exporter reads only files whose names end in .prom");
            }
            return Ok(Self::Textfile(file, Totals::default()));
        }
        if let Some(address) = args.prometheus {
            let page = Page::default();
            let address = serve(address, page.clone())?;
            output::print(&format!("http://{address}/metrics\n"))?;
            return Ok(Self::Prometheus(page, Totals::default()));
        }
        if args.json {
            return Ok(Self::Json);
        }
        output::print(&table::header(setting.may_be_stolen))?;
        Ok(Self::Lines(0))
    }

    /// Writes a window.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn window(&mut self, window: &Window, setting: &Setting) -> Result<(), AppError> {
        let utc = window.end.map(|end| humantime::format_rfc3339_millis(end).to_string());
        let time = utc.as_deref().and_then(|utc| utc.split(['T', '.']).nth(1));
        match self {
            Self::Lines(count) => {
                *count += 1;
                let number = format!("#{count}");
                let time = time.unwrap_or(&number);
                output::print(&table::lines(time, &window.rows, setting.may_be_stolen))
            }
            Self::Json => {
                let about = HeadroomWindow {
                    utc: utc.as_deref(),
                    window_ns: (window.length_s * 1e9).round() as u64,
                    smt_yield: Bounds { low: setting.smt_yield.low(), high: setting.smt_yield.high() },
                    yield_source: setting.yield_source,
                    clock_ratio: window.clock_ratio,
                    rows: &window.rows,
                };
                output::print(&format!("{}\n", json::headroom(&about)))
            }
            Self::Screen(terminal, notes) => {
                let title = format!("threadwise headroom  {}", time.unwrap_or_default());
                terminal.show(&screen::frame(&title, &window.rows, notes, terminal.size()))
            }
            Self::Textfile(file, totals) => file.replace(&metrics(window, setting, totals)),
            Self::Prometheus(page, totals) => {
                page.set(metrics(window, setting, totals));
                Ok(())
            }
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

    /// Shows a remark.
    pub fn remark(&mut self, line: &str) {
        match self {
            Self::Screen(_, notes) => notes.push(marked(line).into_owned()),
            _ => output::tell(line),
        }
    }
}

fn metrics(window: &Window, setting: &Setting, totals: &mut Totals) -> String {
    totals.add(&window.rows, window.length_s);
    let end = window.end.unwrap_or_else(SystemTime::now);
    let about = exposition::Window {
        end_unix_s: end.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
        length_s: window.length_s,
        smt_yield: setting.smt_yield,
        clock_ratio: window.clock_ratio.unwrap_or(1.0),
    };
    exposition(&about, &window.rows, totals)
}
