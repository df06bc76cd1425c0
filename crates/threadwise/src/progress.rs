//! The progress bar on stderr, with an ETA; plain lines if stderr is not a terminal.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use threadwise_machine::text::marked;

/// Shows the progress of a study.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Time of the last line of a minor step.
    last: Cell<Option<Instant>>,
}

/// Minimum time between lines of minor steps, so that they do not fill a log file.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

impl Progress {
    /// A bar on a terminal, lines otherwise, nothing when `quiet`.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(4));
            // The template has no colours, so NO_COLOR does not matter.
            let style = ProgressStyle::with_template("{bar:32} {percent:>3}%  {msg}  {prefix}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar
        });
        Self { bar, quiet, last: Cell::new(None) }
    }

    /// A step without a length, such as loading.
    pub fn step(&self, text: &str) {
        let text = &*marked(text);
        match &self.bar {
            Some(bar) => {
                bar.set_message(text.to_owned());
                bar.tick();
            }
            None if !self.quiet => output::tell(text),
            None => {}
        }
    }

    /// A minor step, such as a block.
    pub fn pass(&self, text: &str) {
        let due = self.last.get().is_none_or(|last| last.elapsed() >= BETWEEN_LINES);
        if self.bar.is_some() || due {
            self.last.set(Some(Instant::now()));
            self.step(text);
        }
    }

    /// Progress: slices done of all, seconds left.
    pub fn slices(&self, done: u64, all: u64, left: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_length(all.max(1));
            bar.set_position(done.min(all));
            bar.set_prefix(format!(
                "{} left",
                humantime::format_duration(Duration::from_secs(left.as_secs()))
            ));
        }
    }

    /// Progress from 0 to 1, for steps without a number.
    pub fn share(&self, share: f64) {
        if let Some(bar) = &self.bar {
            bar.set_length(1000);
            bar.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }

    /// Removes the bar, so that results start on a clean line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
