//! A process that outlives the one that switches, and restores everything if that is killed.
//!
//! The end of its stdin means the end of the other process in any way (`pipe(7)`).

use crate::error::SmtError;
use crate::kernel::Kernel;
use crate::left;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Number of tries to restore.
const TRIES: u32 = 25;
/// Time between two tries.
const BETWEEN: Duration = Duration::from_millis(200);

/// How to start the program that calls [`watch`]; the journal's path follows its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// A running watchdog; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// In its own process group, so that a Ctrl-C does not reach it.
    pub(crate) fn start(start: &Start, journal: &Path) -> Result<Self, SmtError> {
        Command::new(&start.program)
            .args(&start.args)
            .arg(journal)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(|source| SmtError::Watchdog { program: start.program.clone(), source })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The watchdog: waits for the end of stdin, then restores what the journal has. A lasting change stays.
///
/// # Errors
/// Something could not be restored; `threadwise smt restore` tries again.
pub fn watch(kernel: &dyn Kernel, journal: &Path, stdin: &mut dyn Read) -> Result<(), SmtError> {
    let mut buffer = [0; 64];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    let mut last = Ok(());
    for _ in 0..TRIES {
        match left::put_back_unless_kept(kernel, journal) {
            Ok(settled) if settled.failed.is_empty() => return Ok(()),
            Ok(settled) => last = Err(SmtError::NotRestored(settled.failed)),
            Err(error) => last = Err(error),
        }
        std::thread::sleep(BETWEEN);
    }
    last
}
