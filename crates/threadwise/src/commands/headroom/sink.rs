//! Outputs of windows: lines, JSON, a screen, a file of metrics, or Prometheus.

use super::destination::{Destination, DestinationArgs};
use super::meter::Window;
use crate::error::AppError;
use crate::output;
use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_headroom::exposition::{self, Totals, exposition};
use threadwise_headroom::{Bounds, SmtYield, screen, table};
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

/// Where windows go, with their sums.
pub struct Sink {
    /// The output.
    pub destination: Destination,
    setting: Setting,
    /// Number of windows so far.
    count: u64,
    totals: Totals,
}

impl Sink {
    /// Opens the requested output, and shows its notes.
    ///
    /// # Errors
    /// It cannot be written, is not a terminal, or the address cannot be used.
    pub fn open(args: &DestinationArgs, notes: &[String], setting: Setting) -> Result<Self, AppError> {
        let destination = Destination::open(args, notes, exposition::MARK)?;
        if let Destination::Lines = destination {
            output::print(&table::header(setting.may_be_stolen))?;
        }
        Ok(Self { destination, setting, count: 0, totals: Totals::default() })
    }

    /// Writes a window.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn window(&mut self, window: &Window) -> Result<(), AppError> {
        let setting = &self.setting;
        let utc = window.end.map(|end| humantime::format_rfc3339_millis(end).to_string());
        let time = utc.as_deref().and_then(|utc| utc.split(['T', '.']).nth(1));
        self.count += 1;
        match &mut self.destination {
            Destination::Lines => {
                let number = format!("#{}", self.count);
                output::print(&table::lines(time.unwrap_or(&number), &window.rows, setting.may_be_stolen))
            }
            Destination::Json => {
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
            Destination::Screen(terminal, notes) => {
                let title = format!("threadwise headroom  {}", time.unwrap_or_default());
                terminal.show(&screen::frame(&title, &window.rows, notes, terminal.size()))
            }
            Destination::Textfile(_) | Destination::Prometheus(_) => {
                let text = metrics(window, setting, &mut self.totals);
                self.destination.metrics(text)
            }
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
