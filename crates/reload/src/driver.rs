//! How one engine's databases are held, copied, checked and sealed: the trait that each engine
//! implements, and what it works on.
//!
//! The core (`item`) calls, for one database file and from one thread: `hold`, then on what it gave
//! `backup`, `restore`, `check`, `seal`; then it swaps the names and calls `release`. On an error of a
//! stage it calls `release` with `swapped = false`, which must put everything back. A killed process's
//! database is put back by `recover`.
//!
//! Each driver's module has `pub fn driver(settings: &Settings) -> Box<dyn Driver>`, which touches nothing;
//! `crate::driver` finds it by name. `crate::holders` says which processes have a file open.

use crate::error::{ItemError, ReloadError};
pub use crate::report::Checked;
use crate::start::Start;
use crate::state::StateFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How far [`Driver::verify`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The engine's own check alone.
    Check,
    /// That, and tables and rows are counted.
    Count,
}

/// What the user asked for, for all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Page size of the new files in bytes; `None` keeps each file's own.
    pub page_size_bytes: Option<u32>,
    /// How long to wait for others who use a database before it is skipped as in use.
    pub wait: Duration,
    /// Options of the engine, such as `bin` for a folder of programs; a driver's `prepare` refuses what
    /// it does not know.
    pub engine: BTreeMap<String, String>,
    /// How to start this program so that it calls `apart::serve`: as root, files of another user's are left
    /// to a process of that user, and skipped without this.
    pub as_owner: Option<Start>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { page_size_bytes: None, wait: Duration::from_secs(5), engine: BTreeMap::new(), as_owner: None }
    }
}

/// One database file and the places beside it that belong to its reload.
#[derive(Debug)]
pub struct Work {
    /// The database under its name; absolute, without links.
    pub database: PathBuf,
    /// Our folder beside it, mode 0700; anything may be made in it, and all of it goes at the end.
    pub folder: PathBuf,
    /// Where `backup` writes.
    pub backup: PathBuf,
    /// Where `restore` writes: the database that is to take the name.
    pub new: PathBuf,
    /// What the user asked for.
    pub settings: Settings,
    stop: Arc<AtomicBool>,
    state: Mutex<Option<StateFile>>,
    warnings: Mutex<Vec<String>>,
}

impl Work {
    pub(crate) fn new(
        database: PathBuf,
        folder: PathBuf,
        settings: Settings,
        stop: Arc<AtomicBool>,
        state: Option<StateFile>,
    ) -> Self {
        Self {
            backup: folder.join("backup"),
            new: folder.join("new"),
            database,
            folder,
            settings,
            stop,
            state: Mutex::new(state),
            warnings: Mutex::new(Vec::new()),
        }
    }

    /// Work on a file that has no state: what a kept original gets when it is made usable again.
    pub(crate) fn without_state(database: &Path, folder: PathBuf, settings: Settings) -> Self {
        Self::new(database.to_owned(), folder, settings, Arc::new(AtomicBool::new(false)), None)
    }

    /// Whether the user asked to stop. A stage that takes long looks often and ends with
    /// [`ItemError::Stopped`].
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the item where the user asked to stop.
    ///
    /// # Errors
    /// [`ItemError::Stopped`] then.
    pub fn unless_stopped(&self) -> Result<(), ItemError> {
        if self.is_stopped() { Err(ItemError::Stopped) } else { Ok(()) }
    }

    /// Writes down, so that it survives a kill and a power loss, what `recover` has to know: *before*
    /// anything of the user's is changed. Key and value are one word and one line.
    ///
    /// # Errors
    /// It could not be written durably; nothing must be changed then.
    pub fn note(&self, key: &str, value: &str) -> Result<(), ItemError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.as_mut() {
            Some(state) => state.note(key, value),
            None => Ok(()),
        }
    }

    /// What was noted, by this process or the killed one.
    pub fn noted(&self, key: &str) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().and_then(|state| state.state().notes.get(key).cloned())
    }

    /// Says something that the user should know although the item goes on.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn with_state<R>(&self, run: impl FnOnce(&mut StateFile) -> R) -> Option<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.as_mut().map(run)
    }
}

/// How one engine's databases are held, copied, checked and sealed.
pub trait Driver: Send + Sync {
    /// The engine's name, as on the command line and in the state file.
    fn name(&self) -> &'static str;

    /// What is needed and where it was found (programs, versions), in one line.
    ///
    /// # Errors
    /// Something is missing or an option is unknown; nothing was touched.
    fn prepare(&self) -> Result<String, ReloadError>;

    /// Looks, without changing or holding anything, whether `hold` would get this file: for a dry run.
    ///
    /// # Errors
    /// [`ItemError::Skip`] with the reason.
    fn look(&self, database: &Path) -> Result<(), ItemError>;

    /// Takes the database for us alone, so that nobody can commit into it until `release`.
    ///
    /// # Errors
    /// [`ItemError::Skip`] where it is in use, damaged, or not this engine's; it is as it was then.
    fn hold(&self, reload: &Work) -> Result<Box<dyn Held>, ItemError>;

    /// Undoes what `hold` and `seal` did to the file `work.database` when their process was killed; also
    /// makes a kept original usable again. Nothing to do is no error: it may be called at any time while
    /// nobody holds the item, and any number of times, and may itself be killed.
    ///
    /// # Errors
    /// The file could not be put back; the next recovery tries again.
    fn recover(&self, reload: &Work) -> Result<(), ItemError>;

    /// Whether a file has this engine's seal.
    ///
    /// # Errors
    /// [`ItemError::Skip`]: it is no database of the engine, or cannot be read.
    fn is_sealed(&self, database: &Path) -> Result<bool, ItemError>;

    /// Opens the database under its name after the swap and reads from it.
    ///
    /// # Errors
    /// It cannot be opened; the original is then kept.
    fn reopen(&self, reload: &Work) -> Result<(), ItemError>;

    /// Checks the database under its name as `check` checked it before the swap: for a recovery, which
    /// cannot know what happened to the new file since. With [`Depth::Count`] its tables and rows are
    /// counted, and it is an error where another process uses it; without, it may be in use, and nothing is counted.
    ///
    /// # Errors
    /// What is wrong with it; the original is then kept.
    fn verify(&self, reload: &Work, depth: Depth) -> Result<Option<Checked>, ItemError>;
}

/// A database that is held. Dropped without `release`, as on a kill: `recover` puts it back.
pub trait Held {
    /// Whether the engine's own copying writes to the original (such as numbers of its transactions), so
    /// that its size and time say nothing about others. The file must be the same in any case.
    fn copying_writes(&self) -> bool {
        false
    }

    /// Copies the database to `work.backup`.
    ///
    /// # Errors
    /// The copy is not whole.
    fn backup(&mut self, reload: &Work) -> Result<(), ItemError>;

    /// Makes `work.new` of `work.backup`, with the original's persistent settings.
    ///
    /// # Errors
    /// The new file is not whole.
    fn restore(&mut self, reload: &Work) -> Result<(), ItemError>;

    /// Compares the new database with the original, which is still held, and leaves `work.new` closed and
    /// without side files.
    ///
    /// # Errors
    /// They differ, or the new one is damaged.
    fn check(&mut self, reload: &Work) -> Result<Checked, ItemError>;

    /// Makes the old file durably such that nobody with an old descriptor can commit into it after the
    /// swap. The last step before the swap; the original has its second name already.
    ///
    /// # Errors
    /// Somebody has it open, or it could not be written.
    fn seal(&mut self, reload: &Work) -> Result<(), ItemError>;

    /// Ends the hold. `swapped`: the new file has the name, and the old one stays sealed. Otherwise
    /// everything is put back as it was before `hold`.
    ///
    /// # Errors
    /// Something could not be put back, in one line; the state stays for a recovery.
    fn release(self: Box<Self>, reload: &Work, swapped: bool) -> Result<(), ItemError>;
}
