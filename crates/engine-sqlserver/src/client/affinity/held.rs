//! The affinity during a study: recorded before the first change, restored at the end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_process::journal::{Locked, Other, has_lasting, lasting};
use threadwise_process::state;
use threadwise_process::watchdog::Watchdog;
use threadwise_study::Options;

use super::recorded::{Recorded, has_changed, kind, lines, written_name};
use super::{RIGHT, Setting, identity, setting, watchdog};
use crate::client::connect::{Connection, Server};
use crate::failed;

/// How long the watchdog may take to start: a connection and a login.
const BEGINS: Duration = Duration::from_secs(30);
/// Pause between polls.
const STEP: Duration = Duration::from_millis(10);

/// The journal and the watchdog. Dropping this restores the affinity; [`Held::restore`] also reports errors.
pub(crate) struct Held {
    server: Server,
    journal: PathBuf,
    watchdog: Option<Watchdog>,
    is_done: bool,
}

impl Held {
    /// Records the current affinity, and starts the watchdog. Changes nothing yet.
    ///
    /// # Errors
    /// The login may not change it, another study holds it, or it cannot be recorded.
    pub(crate) fn begin(server: &Server, engine_options: &Options) -> Result<Self, EngineError> {
        let refused = |why: String| failed("hold the server's affinity", why);
        let mut connection = server.connect("threadwise affinity")?;
        let (may, name) = identity(&mut connection).map_err(refused)?;
        if !may {
            return Err(refused(RIGHT.to_owned()));
        }
        let (first, _) = setting::read(&mut connection).map_err(refused)?;
        let folder = state::lasting_folder().map_err(refused)?;
        let made = Locked::create(&folder, &kind(&name)).map_err(|error| refused(error.to_string()))?;
        let mut journal = made.map_err(|Other(other)| {
            refused(format!("process {} has bound it for another study; wait for its end", other.pid))
        })?;
        if let Err(error) = journal.append(&lines(&name, &first, &server.target().place())) {
            // Nothing was changed. A journal that cannot be removed records no change either.
            let _ = journal.remove();
            return Err(refused(error.to_string()));
        }
        let path = journal.path().to_owned();
        // The watchdog adds itself as an owner.
        drop(journal);
        let mut held = Self { server: server.clone(), journal: path, watchdog: None, is_done: false };
        let started = watchdog::start(&held.journal, engine_options);
        held.watchdog = Some(started.map_err(|error| refused(format!("no watchdog: {error}")))?);
        held.await_watchdog().map_err(refused)?;
        Ok(held)
    }

    fn await_watchdog(&mut self) -> Result<(), String> {
        let until = Instant::now() + BEGINS;
        let kind = threadwise_process::journal::kind_of(&self.journal);
        while Instant::now() < until {
            let journal = Locked::open(&self.journal).map_err(|error| error.to_string())?;
            let journal = journal.ok_or("another program removed its journal")?;
            if journal.living_owner(&kind).is_some() {
                return Ok(());
            }
            drop(journal);
            if self.watchdog.as_mut().is_none_or(Watchdog::has_ended) {
                return Err("its watchdog has ended at once; may the login connect a second time?".to_owned());
            }
            std::thread::sleep(STEP);
        }
        Err(format!("its watchdog did not start within {} s", BEGINS.as_secs()))
    }

    /// Restores the affinity and reads it back.
    ///
    /// # Errors
    /// It could not be restored; the watchdog tries again, and so does the next study there.
    pub(crate) fn restore(mut self) -> Result<(), EngineError> {
        self.is_done = true;
        let done = self.put_back();
        // After a failure the watchdog tries.
        self.end_watchdog(done.is_ok());
        done
    }

    fn end_watchdog(&mut self, is_waited_for: bool) {
        match self.watchdog.take() {
            Some(watchdog) if !is_waited_for => watchdog.leave(),
            ended => drop(ended),
        }
    }

    fn put_back(&self) -> Result<(), EngineError> {
        let put = || -> Result<(), String> {
            let mut connection =
                self.server.connect("threadwise affinity").map_err(|error| error.to_string())?;
            put_back(&mut connection, &self.journal)
        };
        put().map_err(|why| {
            let why = format!("{why}; its watchdog tries again for a minute, and then the next study there");
            failed("restore the server's CPU affinity", why)
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_done {
            // The first error is reported; if this fails too, the watchdog tries.
            let done = self.put_back();
            self.end_watchdog(done.is_ok());
        }
    }
}

/// Restores the affinity of a journal, and removes the journal. An affinity that another program has changed is left.
///
/// # Errors
/// It could not be restored, and the journal stays; in one line.
pub(super) fn put_back(connection: &mut Connection, path: &Path) -> Result<(), String> {
    let Some(journal) = Locked::open(path).map_err(|error| error.to_string())? else { return Ok(()) };
    if !has_changed(journal.whole()) {
        return journal.remove().map_err(|error| error.to_string());
    }
    let recorded = Recorded::of(&journal)?;
    let (_, name) = identity(connection)?;
    if written_name(&name) != recorded.server {
        return Err(format!("'{name}' answers where '{}' was bound", recorded.server));
    }
    setting::in_turn(connection, |connection| {
        let (now, _) = setting::read(connection)?;
        match !now.is_like(&recorded.first) && is_of_us(&now, &recorded) {
            true => setting::put(connection, &recorded.first),
            false => Ok(()),
        }
    })?;
    journal.remove().map_err(|error| error.to_string())
}

/// Whether threadwise set this affinity.
fn is_of_us(now: &Setting, recorded: &Recorded) -> bool {
    recorded.set.iter().any(|set| set.is_like(now))
}

/// Restores what studies that were killed with their watchdogs have left on this server.
///
/// # Errors
/// Another study is at work there, or it could not be.
pub(crate) fn put_left_back(server: &Server) -> Result<(), EngineError> {
    let refused = |why: String| {
        let why = format!("a study that was killed has left it bound: {why}");
        failed("restore the server's CPU affinity", why)
    };
    // Without a folder for journals nothing was ever changed.
    let Ok(folder) = state::lasting_folder() else { return Ok(()) };
    if !has_lasting(&folder) {
        return Ok(());
    }
    let mut connection = server.connect("threadwise affinity")?;
    // A server without this information was never bound.
    let Ok((_, name)) = identity(&mut connection) else { return Ok(()) };
    let kind = kind(&name);
    for written in lasting(&folder, &kind).map_err(|error| refused(error.to_string()))? {
        let journal = Locked::open(&written.path).map_err(|error| refused(error.to_string()))?;
        if let Some(pid) = journal.and_then(|journal| journal.living_owner(&kind)) {
            let why =
                format!("process {pid} has bound it for another study, or is restoring it; wait for its end");
            return Err(failed("use the server", why));
        }
        put_back(&mut connection, &written.path).map_err(refused)?;
    }
    Ok(())
}
