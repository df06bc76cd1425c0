//! Running the generator and the scripts: in a process group of their own that ends with us, asked
//! now and then whether somebody wants to stop.

use super::DatasetError;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::stopping;

/// How long a look at the child, and so a progress step and a stop, may take to come.
const STEP: Duration = Duration::from_millis(100);

/// A program and its arguments.
pub struct Call<'a> {
    pub program: &'a Path,
    pub args: Vec<OsString>,
    /// Folder that it works in.
    pub folder: &'a Path,
    /// What it says; begun anew.
    pub log: &'a Path,
}

/// Runs it to its end; `tick` is called about ten times a second. What it said is in the log then.
pub fn run(call: &Call<'_>, stop: &AtomicBool, tick: &mut dyn FnMut()) -> Result<(), DatasetError> {
    let failed = |why: String| DatasetError::Program { program: call.program.to_owned(), why };
    // Also where a killed run left one.
    let _ = std::fs::remove_file(call.log);
    let path = std::path::absolute(call.program).map_err(|error| failed(error.to_string()))?;
    let program = Program {
        program: &path,
        args: &call.args,
        user: None,
        folder: call.folder,
        log: call.log,
        death_signal: DeathSignal::Kill,
        cpus: None,
    };
    let mut running = Running(spawn::start(&program).map_err(|error| failed(error.to_string()))?);
    let status = running.wait(stop, tick).map_err(|error| failed(error.to_string()))?;
    match status {
        None => Err(DatasetError::Stopped),
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let said = spawn::last_words(call.log);
            let said = if said.is_empty() { "it said nothing".to_owned() } else { said };
            Err(failed(format!("it ended with {status}: {said}")))
        }
    }
}

/// A child that does not outlive this value.
struct Running(Child);

impl Running {
    /// `None` where a stop was asked for; the child has been killed then.
    fn wait(&mut self, stop: &AtomicBool, tick: &mut dyn FnMut()) -> std::io::Result<Option<ExitStatus>> {
        loop {
            if stop.load(Ordering::Relaxed) {
                stopping::kill_group(&mut self.0)?;
                return Ok(None);
            }
            if let Some(status) = stopping::wait(&mut self.0, STEP)? {
                return Ok(Some(status));
            }
            tick();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Does nothing where it has ended. An error leaves a child that dies with this process.
        let _ = stopping::kill_group(&mut self.0);
    }
}
