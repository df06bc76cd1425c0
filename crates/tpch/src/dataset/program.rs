//! Running the generator and the scripts: in their own process group that ends with this process, with regular
//! checks whether the user wants to stop.

use super::DatasetError;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::stopping;

/// Interval of checks of the child, and so of progress steps and stops.
const STEP: Duration = Duration::from_millis(100);

/// A program and its arguments.
pub struct Call<'a> {
    pub program: &'a Path,
    pub args: Vec<OsString>,
    /// Its current folder.
    pub folder: &'a Path,
    /// Its output; replaced.
    pub log: &'a Path,
}

/// Runs it to its end; `tick` is called about ten times a second. Its output is then in the log.
pub fn run(call: &Call<'_>, stop: &AtomicBool, tick: &mut dyn FnMut()) -> Result<(), DatasetError> {
    let failed = |why: String| DatasetError::Program { program: call.program.to_owned(), why };
    // Also if a killed run left one.
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
            let said = if said.is_empty() { "it printed nothing".to_owned() } else { said };
            Err(failed(format!("it ended with {status}: {said}")))
        }
    }
}

/// A child that does not outlive this value.
struct Running(Child);

impl Running {
    /// `None` if a stop was requested; then the child has been killed.
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
        // Does nothing if it has ended. After an error the child still dies with this process.
        let _ = stopping::kill_group(&mut self.0);
    }
}
