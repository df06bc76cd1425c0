//! Recovery after a killed run: restored before the swap, finished after it. Every step may be repeated, and
//! may itself be killed.

use crate::apart;
use crate::driver::{Depth, Driver, ReloadItem, Settings};
use crate::error::ItemError;
use crate::folder::{self, Folder, ItemFile};
use crate::identity::{Identity, Inode, parent};
use crate::report::Checked;
pub use crate::report::Recovered;
use crate::runs_as::{self, RunsAs};
use crate::state::{Originals, Phase, StateFile};
use crate::swap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Recovers one file with the engine in its state.
///
/// # Errors
/// Another process works on it, or it could not be restored: nothing is lost, and another try is possible.
pub fn recover(path: &Path, settings: &Settings) -> Result<Recovered, ItemError> {
    let database = database_of(path)?;
    if !is_left(&database) {
        return Ok(Recovered::Nothing);
    }
    not_by_a_link(path, &database)?;
    match runs_as::of(&database)? {
        RunsAs::Ours => take_over(&database, settings, &|name| crate::driver(name, settings)),
        RunsAs::Owner(owner) => apart::recover(&owner, &database, settings),
    }
}

/// Recovers the leftovers of a file that is to be reloaded now.
pub(crate) fn leftover(
    database: &Path,
    settings: &Settings,
    driver: &dyn Driver,
) -> Result<Recovered, ItemError> {
    let folder = folder::path_of(database);
    let Some(folder) = Folder::take_over(&folder)? else { return Ok(Recovered::Nothing) };
    let Some(state) = StateFile::open(folder.inside())? else {
        return folder.remove().map(|()| Recovered::PutBack);
    };
    if state.state().engine == driver.name() {
        return recovered(database, folder, state, settings, driver);
    }
    let other = known(crate::driver(&state.state().engine, settings), &state)?;
    recovered(database, folder, state, settings, other.as_ref())
}

/// The database of a path. If there are leftovers beside the path's own name, that name,
/// even if it is now a link or does not exist. Otherwise the file that the path leads to.
fn database_of(path: &Path) -> Result<PathBuf, ItemError> {
    let name = path.file_name().ok_or_else(|| ItemError::skip("is not a file name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder)
        .map_err(|error| ItemError::skip(format!("cannot find its folder: {error}")))?;
    let named = folder.join(name);
    match fs::canonicalize(path) {
        Ok(found) if !is_left(&named) => Ok(found),
        _ => Ok(named),
    }
}

/// Refuses a path that leads through another user's link: of the path, or of its folder if the name itself is meant.
fn not_by_a_link(path: &Path, database: &Path) -> Result<(), ItemError> {
    let is_followed = fs::canonicalize(path).is_ok_and(|found| found == database);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (found, why) = runs_as::led_to(if is_followed { path } else { folder }, Some(database))
        .map_err(|error| ItemError::skip(format!("cannot be found: {error}")))?;
    match why {
        Some(why) => Err(ItemError::skip(why)),
        None if found == database || Some(found.as_path()) == database.parent() => Ok(()),
        None => Err(ItemError::skip("its path changed just now: try again")),
    }
}

/// Whether a work folder is beside exactly this name.
fn is_left(database: &Path) -> bool {
    folder::path_of(database).symlink_metadata().is_ok()
}

/// Whether there are leftovers of a path's database, whose name may not exist or be a link.
pub fn is_left_of(path: &Path) -> bool {
    database_of(path).is_ok_and(|database| is_left(&database))
}

fn known(driver: Option<Box<dyn Driver>>, state: &StateFile) -> Result<Box<dyn Driver>, ItemError> {
    driver.ok_or_else(|| ItemError::skip(format!("was left by the unknown engine {}", state.state().engine)))
}

fn take_over(
    database: &Path,
    settings: &Settings,
    driver_of: &dyn Fn(&str) -> Option<Box<dyn Driver>>,
) -> Result<Recovered, ItemError> {
    let Some(folder) = Folder::take_over(&folder::path_of(database))? else {
        return Ok(Recovered::Nothing);
    };
    let Some(state) = StateFile::open(folder.inside())? else {
        return folder.remove().map(|()| Recovered::PutBack);
    };
    let driver = known(driver_of(&state.state().engine), &state)?;
    recovered(database, folder, state, settings, driver.as_ref())
}

fn recovered(
    database: &Path,
    folder: Folder,
    state: StateFile,
    settings: &Settings,
    driver: &dyn Driver,
) -> Result<Recovered, ItemError> {
    if fs::symlink_metadata(database).is_ok_and(|found| found.is_symlink()) {
        return Err(ItemError::failed(format!(
            "the name is a link now, and {} is from a run that was killed during its file (possibly {}): restore \
                 that file under the name, then recover again",
            folder.path().display(),
            folder::kept_of(database).display()
        )));
    }
    let (phase, originals, files) = (state.state().phase, state.state().originals, state.state().files);
    let stop = Arc::new(AtomicBool::new(false));
    let path = folder.path().to_owned();
    let reload = ReloadItem::new(database.to_owned(), path, settings.clone(), stop, Some(state));
    if let (Phase::Ready, Some((original, new))) = (phase, files) {
        swap::clear(&reload, &folder, original, new)?;
    }
    let now = folder.inode(ItemFile::Database)?;
    let recovered = match (phase, files) {
        (Phase::Ready, Some((original, new))) if now == Some(new) => {
            finish(&reload, &folder, originals, original, driver)?;
            Recovered::Finished
        }
        (Phase::Ready, Some((original, _))) if now.is_some_and(|now| now != original) => {
            return Err(ItemError::failed(format!(
                "another file has the name; the original may be {}: restore the right one, then \
                 remove {}",
                folder::kept_of(database).display(),
                folder.path().display()
            )));
        }
        (phase, _) if now.is_none() => {
            let kept = folder::kept_of(database);
            let original = match phase == Phase::Ready && folder.inode(ItemFile::Kept)?.is_some() {
                true => format!(" (the original may be {})", kept.display()),
                false => String::new(),
            };
            return Err(ItemError::failed(format!(
                "the file does not exist; restore it{original}, or remove {}",
                folder.path().display()
            )));
        }
        _ => {
            driver.recover(&reload)?;
            swap::remove_kept(&reload, &folder)?;
            Recovered::PutBack
        }
    };
    folder.remove().map(|()| recovered)
}

/// The steps after the swap. The original is the only good copy if something happened to the new file
/// since, so nothing is removed before that one was checked again.
fn finish(
    reload: &ReloadItem,
    folder: &Folder,
    originals: Originals,
    original: Inode,
    driver: &dyn Driver,
) -> Result<(), ItemError> {
    let kept = folder::kept_of(&reload.database);
    folder
        .outside()
        .sync()
        .map_err(|error| ItemError::failed(format!("cannot make the swap durable: {error}")))?;
    if folder.inode(ItemFile::Kept)? != Some(original) {
        // It was removed, by this program or the user, or is in use elsewhere: there is nothing left to decide.
        return Ok(());
    }
    let checked = match originals {
        Originals::Keep => driver.verify(reload, Depth::Check).map(|_| ()),
        Originals::Remove => same_and_right(reload, driver),
    };
    checked.map_err(|why| match why {
        ItemError::Skip(why) => {
            ItemError::skip(format!("{why}; nothing was removed, and the original is {}", kept.display()))
        }
        why => undecided(reload, &kept, &why),
    })?;
    if originals == Originals::Keep {
        return Ok(());
    }
    folder
        .remove_name(ItemFile::Kept)
        .map_err(|error| ItemError::failed(format!("cannot remove {}: {error}", kept.display())))
}

/// Checks that the new file is the one that was swapped in, unchanged, and that the engine still finds in it the same
/// as before the swap.
fn same_and_right(reload: &ReloadItem, driver: &dyn Driver) -> Result<(), ItemError> {
    let expected = reload.with_state(|state| state.state().expected).flatten();
    let expected = expected.ok_or_else(|| {
        ItemError::failed("the results from before the swap are missing, so it cannot be compared")
    })?;
    let unchanged = || {
        let now = Identity::at(&reload.database).map_err(ItemError::failed)?;
        if (now.size_bytes, now.mtime_ns) == (expected.size_bytes, expected.mtime_ns) {
            return Ok(());
        }
        // Damage is reported rather than the change.
        driver.reopen(reload)?;
        Err(ItemError::failed(format!(
            "the new file was written to since the swap ({} bytes, {} when it was checked), so it cannot be compared \
                 with the check",
            now.size_bytes, expected.size_bytes
        )))
    };
    unchanged()?;
    let found = driver.verify(reload, Depth::Count)?;
    // The contents of a write-ahead log have not changed the file's own time. Checked first: the last
    // process to close such a file moves the log into it and removes the log.
    let is_logged = fs::metadata(side_of(&reload.database, "-wal")).is_ok_and(|log| log.len() > 0);
    unchanged()?;
    let found = found.filter(|found| *found != expected.checked);
    found.map_or(Ok(()), |found| Err(differs(found, expected.checked, is_logged)))
}

fn differs(found: Checked, expected: Checked, is_logged: bool) -> ItemError {
    let written = if is_logged { " was written to since the swap and" } else { "" };
    ItemError::failed(format!(
        "the new file{written} has {} rows in {} tables, and {} in {} when it was checked",
        found.rows, found.tables, expected.rows, expected.tables
    ))
}

/// Names of files beside a database that SQLite finds only by their names.
fn side_of(database: &Path, suffix: &str) -> PathBuf {
    let mut side = database.as_os_str().to_owned();
    side.push(suffix);
    side.into()
}

/// What the user has to decide, and how.
fn undecided(reload: &ReloadItem, kept: &Path, why: &ItemError) -> ItemError {
    let (database, kept) = (reload.database.display(), kept.display());
    let has = |suffix: &&str| fs::symlink_metadata(side_of(&reload.database, suffix)).is_ok();
    // SQLite would read them into the original.
    let sides: Vec<&str> = ["-wal", "-shm", "-journal"].into_iter().filter(has).collect();
    let sides = match sides.as_slice() {
        [] => String::new(),
        sides => format!("with NAME{} moved away, ", sides.join(" and NAME")),
    };
    ItemError::Undecided(format!(
        "{why}; nothing was removed, and the original is {kept}. To restore it: {sides}`mv {kept} \
         {database}`; to use the new file: remove {kept}; then `threadwise restore \
         {database}`"
    ))
}

/// Makes a kept original usable again by removing the engine's seal. `false` if there was none.
///
/// # Errors
/// It is not a database of the engine, a run works on it or was killed during it, or the engine cannot do it.
pub fn unseal(path: &Path, settings: &Settings, driver: &dyn Driver) -> Result<bool, ItemError> {
    let file = crate::refuse::resolve(path)?;
    if !fs::metadata(&file).is_ok_and(|found| found.is_file()) {
        return Err(ItemError::skip("is not a regular file"));
    }
    if let RunsAs::Owner(owner) = runs_as::of(&file)? {
        return apart::unseal(&owner, &file, driver.name(), settings);
    }
    // A file that is being reloaded must be sealed, under both of its names.
    for database in [Some(file.clone()), folder::database_of_kept(&file)].into_iter().flatten() {
        if folder::path_of(&database).symlink_metadata().is_ok() {
            return Err(ItemError::skip(format!(
                "a reload of {0} is running or was killed: wait for it, or run threadwise restore {0}",
                database.display()
            )));
        }
    }
    if !driver.is_sealed(&file)? {
        return Ok(false);
    }
    let reload = ReloadItem::without_state(&file, parent(&file).to_owned(), settings.clone());
    driver.recover(&reload).map(|()| true)
}
