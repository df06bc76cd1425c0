//! What a killed run left: put back before the swap, finished after it. Every step may be repeated, and
//! may itself be killed.

use crate::chain::{Chain, Settings, Work};
use crate::error::ItemError;
use crate::folder::{self, Folder};
use crate::identity::{inode_at, parent, sync_folder};
use crate::item::remove_kept;
use crate::state::{Originals, Phase, StateFile};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a recovery did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing was left.
    Nothing,
    /// The original has its name and is as it was.
    PutBack,
    /// The new file has the name; what was left to do is done.
    Finished,
}

/// Recovers one file, by the engine that its state names.
///
/// # Errors
/// Another process is at work on it, or it could not be put back: nothing is lost, and it may be tried
/// again.
pub fn recover(path: &Path, settings: &Settings) -> Result<Recovered, ItemError> {
    let database = database_of(path)?;
    take_over(&database, settings, &|name| crate::chain(name, settings))
}

/// The databases in a folder of which something may be left.
///
/// # Errors
/// The folder cannot be read.
pub fn left_in(folder: &Path) -> Result<Vec<PathBuf>, ItemError> {
    folder::left_in(folder).map_err(|error| ItemError::skip(format!("the folder cannot be read: {error}")))
}

/// Recovers what is left of a file that is to be reloaded now.
pub(crate) fn leftover(
    database: &Path,
    settings: &Settings,
    chain: &dyn Chain,
) -> Result<Recovered, ItemError> {
    let folder = folder::path_of(database);
    if fs::symlink_metadata(&folder).is_err() {
        return Ok(Recovered::Nothing);
    }
    let Some(folder) = Folder::take_over(&folder)? else { return Ok(Recovered::Nothing) };
    let Some(state) = StateFile::open(folder.path())? else {
        return folder.remove().map(|()| Recovered::PutBack);
    };
    if state.state().engine == chain.name() {
        return recovered(database, folder, state, settings, chain);
    }
    let other = known(crate::chain(&state.state().engine, settings), &state)?;
    recovered(database, folder, state, settings, other.as_ref())
}

/// The database under a name that may be gone: then without what it would lead to.
fn database_of(path: &Path) -> Result<PathBuf, ItemError> {
    if let Ok(found) = fs::canonicalize(path) {
        return Ok(found);
    }
    let name = path.file_name().ok_or_else(|| ItemError::skip("is no name of a file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder)
        .map_err(|error| ItemError::skip(format!("its folder cannot be found: {error}")))?;
    Ok(folder.join(name))
}

fn known(chain: Option<Box<dyn Chain>>, state: &StateFile) -> Result<Box<dyn Chain>, ItemError> {
    chain.ok_or_else(|| {
        ItemError::skip(format!("was left by an engine {} unknown here", state.state().engine))
    })
}

fn take_over(
    database: &Path,
    settings: &Settings,
    chain_of: &dyn Fn(&str) -> Option<Box<dyn Chain>>,
) -> Result<Recovered, ItemError> {
    let Some(folder) = Folder::take_over(&folder::path_of(database))? else {
        return Ok(Recovered::Nothing);
    };
    let Some(state) = StateFile::open(folder.path())? else {
        return folder.remove().map(|()| Recovered::PutBack);
    };
    let chain = known(chain_of(&state.state().engine), &state)?;
    recovered(database, folder, state, settings, chain.as_ref())
}

fn recovered(
    database: &Path,
    folder: Folder,
    state: StateFile,
    settings: &Settings,
    chain: &dyn Chain,
) -> Result<Recovered, ItemError> {
    let (phase, originals, files) = (state.state().phase, state.state().originals, state.state().files);
    let stop = Arc::new(AtomicBool::new(false));
    let path = folder.path().to_owned();
    let work = Work::new(database.to_owned(), path, settings.clone(), stop, Some(state));
    let now = inode_at(database)?;
    let recovered = match (phase, files) {
        (Phase::Ready, Some((original, new))) if now == Some(new) => {
            finish(&work, originals, original, chain)?;
            Recovered::Finished
        }
        (Phase::Ready, Some((original, _))) if now != Some(original) => {
            return Err(ItemError::failed(format!(
                "somebody else's file has the name; the original may be {}: put the right one there, then \
                 remove {}",
                folder::kept_of(database).display(),
                folder.path().display()
            )));
        }
        _ if now.is_none() => {
            return Err(ItemError::failed(format!(
                "the file is gone from its name; put it back, or remove {}",
                folder.path().display()
            )));
        }
        _ => {
            chain.recover(&work)?;
            remove_kept(&work)?;
            Recovered::PutBack
        }
    };
    folder.remove().map(|()| recovered)
}

/// What comes after the swap.
fn finish(
    work: &Work,
    originals: Originals,
    original: crate::identity::Inode,
    chain: &dyn Chain,
) -> Result<(), ItemError> {
    let kept = folder::kept_of(&work.database);
    sync_folder(parent(&work.database))
        .map_err(|error| ItemError::failed(format!("the swap cannot be made durable: {error}")))?;
    if originals == Originals::Remove && inode_at(&kept)? == Some(original) {
        chain.reopen(work)?;
        match fs::remove_file(&kept) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ItemError::failed(format!("cannot remove {}: {error}", kept.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a kept original usable again: the engine's seal is taken off.
///
/// # Errors
/// A run is at work on it, or the engine cannot do it.
pub fn unseal(path: &Path, settings: &Settings, chain: &dyn Chain) -> Result<(), ItemError> {
    let file = crate::refuse::resolve(path)?;
    let work = Work::without_state(&file, parent(&file).to_owned(), settings.clone());
    chain.recover(&work)
}
