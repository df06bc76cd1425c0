//! A program that runs beside this one: its lines come with the time at which they came, and it ends with the thread
//! that started it.
//!
//! Source: `setpriv --pdeathsig` (setpriv(1), PR_SET_PDEATHSIG(2const)), which ends it by a signal when that thread
//! ends, for whatever reason.

use crate::command::Task;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A line of its output.
#[derive(Debug, Clone)]
pub struct Line {
    /// When its end arrived.
    pub arrived: Instant,
    /// Without its end.
    pub text: String,
}

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Watched {
    child: Child,
    /// Lines of its standard output that were not taken yet.
    pub lines: Receiver<Line>,
}

impl Watched {
    /// Starts a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(task: &Task) -> Result<Self, String> {
        let started = task.with_parent().command().stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|cause| format!("cannot start setpriv (util-linux): {cause}"))?;
        let (line, lines) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for bytes in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    let text = String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned();
                    if line.send(Line { arrived: Instant::now(), text }).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end; how it ended.
    pub fn ended(&mut self) -> String {
        self.child.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // One that has ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
