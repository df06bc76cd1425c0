//! The trait that each engine implements for holding, copying, checking and sealing its databases, and its input.
//!
//! The core (`item`) calls, for one database file and from one thread: `hold`, then on its result
//! `backup`, `restore`, `check`, `seal`; then it swaps the names and calls `release`. After an error of a
//! stage it calls `release` with `swapped = false`, which must restore everything. `recover` restores a killed
//! process's database.
//!
//! Each driver's module has `pub fn driver(settings: &Settings) -> Box<dyn Driver>`, which touches nothing;
//! `crate::driver` finds it by name. `crate::holders` finds the processes that have a file open.

use crate::error::{ItemError, ReloadError};
pub use crate::report::Checked;
use crate::state::StateFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threadwise_process::watchdog::Start;

/// Depth of [`Driver::verify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Only the engine's own check.
    Check,
    /// Also counts tables and rows.
    Count,
}

/// The user's settings for all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Page size of the new files in bytes; `None` keeps each file's own.
    pub page_size_bytes: Option<u32>,
    /// How long to wait for other users of a database before it is skipped as in use.
    pub wait: Duration,
    /// Options of the engine, such as `bin` for a folder of programs; a driver's `prepare` refuses unknown ones.
    pub engine: BTreeMap<String, String>,
    /// How to start this program so that it calls `apart::serve`: under root, a process of the owner works on files of
    /// another user; without this they are skipped.
    pub as_owner: Option<Start>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { page_size_bytes: None, wait: Duration::from_secs(5), engine: BTreeMap::new(), as_owner: None }
    }
}

/// One database file, the files of its reload beside it, and the settings.
#[derive(Debug)]
pub struct ReloadItem {
    /// The database's path; absolute, without links.
    pub database: PathBuf,
    /// The work folder beside it, mode 0700; all of it is removed at the end.
    pub folder: PathBuf,
    /// Where `backup` writes.
    pub backup: PathBuf,
    /// Where `restore` writes: the database that gets the name.
    pub new: PathBuf,
    /// The user's settings.
    pub settings: Settings,
    stop: Arc<AtomicBool>,
    state: Mutex<Option<StateFile>>,
    warnings: Mutex<Vec<String>>,
}

impl ReloadItem {
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

    /// Work on a file without state, for making a kept original usable again.
    pub(crate) fn without_state(database: &Path, folder: PathBuf, settings: Settings) -> Self {
        Self::new(database.to_owned(), folder, settings, Arc::new(AtomicBool::new(false)), None)
    }

    /// Whether the user asked to stop. A long stage checks often and ends with
    /// [`ItemError::Stopped`].
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the item if the user asked to stop.
    ///
    /// # Errors
    /// [`ItemError::Stopped`] then.
    pub fn unless_stopped(&self) -> Result<(), ItemError> {
        if self.is_stopped() { Err(ItemError::Stopped) } else { Ok(()) }
    }

    /// Records, so that it survives a kill and a power loss, what `recover` needs: *before*
    /// any change to the user's files. Key and value are one word and one line.
    ///
    /// # Errors
    /// It could not be written durably; then nothing may be changed.
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

    /// Adds a warning for the user; the item continues.
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

    /// The needed programs and their versions, as found, in one line.
    ///
    /// # Errors
    /// Something is missing or an option is unknown; nothing was touched.
    fn prepare(&self) -> Result<String, ReloadError>;

    /// Checks, without changing or holding anything, whether `hold` would get this file: for a dry run.
    ///
    /// # Errors
    /// [`ItemError::Skip`] with the reason.
    fn look(&self, database: &Path) -> Result<(), ItemError>;

    /// Locks the database exclusively, so that no other process can commit into it until `release`.
    ///
    /// # Errors
    /// [`ItemError::Skip`] if it is in use, damaged, or not this engine's; then it is unchanged.
    fn hold(&self, reload: &ReloadItem) -> Result<Box<dyn Held>, ItemError>;

    /// Undoes what `hold` and `seal` did to the file `work.database` when their process was killed; also
    /// makes a kept original usable again. Having nothing to do is not an error: it may be called at any time while
    /// the item is not held, and any number of times, and may itself be killed.
    ///
    /// # Errors
    /// The file could not be restored; the next recovery tries again.
    fn recover(&self, reload: &ReloadItem) -> Result<(), ItemError>;

    /// Whether a file has this engine's seal.
    ///
    /// # Errors
    /// [`ItemError::Skip`]: it is not a database of the engine, or cannot be read.
    fn is_sealed(&self, database: &Path) -> Result<bool, ItemError>;

    /// Opens the database under its name after the swap and reads from it.
    ///
    /// # Errors
    /// It cannot be opened; the original is then kept.
    fn reopen(&self, reload: &ReloadItem) -> Result<(), ItemError>;

    /// Checks the database under its name as `check` checked it before the swap: for a recovery, which
    /// cannot know what happened to the new file since. With [`Depth::Count`] its tables and rows are
    /// counted, and use by another process is an error; without, it may be in use, and nothing is counted.
    ///
    /// # Errors
    /// What is wrong with it; the original is then kept.
    fn verify(&self, reload: &ReloadItem, depth: Depth) -> Result<Option<Checked>, ItemError>;
}

/// A held database. Dropped without `release`, as on a kill: `recover` restores it.
pub trait Held {
    /// Whether the engine's own copying writes to the original (such as numbers of its transactions), so
    /// that its size and time do not show other changes. The file must be the same in any case.
    fn copying_writes(&self) -> bool {
        false
    }

    /// Copies the database to `work.backup`.
    ///
    /// # Errors
    /// The copy is incomplete.
    fn backup(&mut self, reload: &ReloadItem) -> Result<(), ItemError>;

    /// Makes `work.new` of `work.backup`, with the original's persistent settings.
    ///
    /// # Errors
    /// The new file is incomplete.
    fn restore(&mut self, reload: &ReloadItem) -> Result<(), ItemError>;

    /// Compares the new database with the original, which is still held, and leaves `work.new` closed and
    /// without side files.
    ///
    /// # Errors
    /// They differ, or the new one is damaged.
    fn check(&mut self, reload: &ReloadItem) -> Result<Checked, ItemError>;

    /// Changes the old file durably so that no process with an old descriptor can commit into it after the
    /// swap. The last step before the swap; the original has its second name already.
    ///
    /// # Errors
    /// Another process has it open, or it could not be written.
    fn seal(&mut self, reload: &ReloadItem) -> Result<(), ItemError>;

    /// Ends the hold. `swapped`: the new file has the name, and the old one stays sealed. Otherwise
    /// everything is restored as before `hold`.
    ///
    /// # Errors
    /// Something could not be restored, in one line; the state stays for a recovery.
    fn release(self: Box<Self>, reload: &ReloadItem, swapped: bool) -> Result<(), ItemError>;
}
