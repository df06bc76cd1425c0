//! The watchdog: a process that outlives a killed run and recovers the items that were in flight.
//!
//! It reads from its stdin `+PATH` and `-PATH`, each ended by a zero byte, when an item starts and ends.
//! The end of stdin is the end of the run in any way (`pipe(7)`).

use crate::driver::Settings;
use crate::error::{ItemError, ReloadError};
use crate::recover::recover;
use crate::report::Recovered;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use threadwise_process::watchdog::{self, Start, Tries, await_end};

/// How often it tries a recovery that another process blocks: the killed run's locks may outlive its pipe by a moment,
/// and its subprocesses by some more.
const TRIES: Tries = Tries { number: 100, pause: Duration::from_millis(100) };

/// A running watchdog; it ends when this is dropped.
#[derive(Debug)]
pub struct Watchdog {
    start: Start,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    process: watchdog::Watchdog,
    in_flight: BTreeSet<PathBuf>,
}

impl Watchdog {
    /// Starts it.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(start: Start) -> Result<Self, ReloadError> {
        let process = launch(&start).map_err(|error| ReloadError::Watchdog {
            program: start.program.clone(),
            why: error.to_string(),
        })?;
        Ok(Self { start, inner: Mutex::new(Inner { process, in_flight: BTreeSet::new() }) })
    }

    /// Reports that an item starts. Restarts a watchdog that was killed.
    ///
    /// # Errors
    /// There is none any more, and none can be started; then the item must not be started.
    pub fn begin(&self, path: &Path) -> Result<(), ItemError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.in_flight.insert(path.to_owned());
        let gone = |error: io::Error| {
            ItemError::skip(format!("the watchdog was ended and cannot be started again: {error}"))
        };
        if inner.tell(b"+", path).is_ok() {
            return Ok(());
        }
        inner.process = launch(&self.start).map_err(gone)?;
        let all = inner.in_flight.clone();
        all.iter().try_for_each(|path| inner.tell(b"+", path)).map_err(gone)
    }

    /// Reports that an item has ended without leftovers.
    pub fn end(&self, path: &Path) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.in_flight.remove(path);
        // A watchdog that has ended need not be informed; an extra item is found to be complete.
        let _ = inner.tell(b"-", path);
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).process.pid()
    }
}

impl Inner {
    fn tell(&mut self, sign: &[u8], path: &Path) -> io::Result<()> {
        self.process.tell(&[sign, path.as_os_str().as_bytes(), &[0]].concat())
    }
}

fn launch(start: &Start) -> io::Result<watchdog::Watchdog> {
    watchdog::Watchdog::start(start, &[""; 0])
}

/// The watchdog: waits for the end of stdin, then recovers the items in flight.
pub fn watch(stdin: &mut dyn Read, settings: &Settings) -> Vec<(PathBuf, Result<Recovered, ItemError>)> {
    let mut in_flight = BTreeSet::new();
    let mut pending = Vec::new();
    await_end(stdin, |bytes| {
        pending.extend_from_slice(bytes);
        while let Some(end) = pending.iter().position(|byte| *byte == 0) {
            let record: Vec<u8> = pending.drain(..=end).collect();
            let path = PathBuf::from(OsStr::from_bytes(&record[1.min(end)..end]));
            match record[0] {
                b'+' => drop(in_flight.insert(path)),
                _ => drop(in_flight.remove(&path)),
            }
        }
    });
    in_flight.into_iter().map(|path| (path.clone(), until_recovered(&path, settings))).collect()
}

fn until_recovered(path: &Path, settings: &Settings) -> Result<Recovered, ItemError> {
    // What is undecided stays so.
    TRIES.until_done(|| match recover(path, settings) {
        Err(ItemError::Undecided(why)) => Ok(Err(ItemError::Undecided(why))),
        recovered => recovered.map(Ok),
    })?
}
