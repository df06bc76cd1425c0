//! Journals that are there: of processes that live, of those that were killed, and of changes that were to last.
//!
//! The rules are those of masks ([`threadwise_process::journal`]): only a journal of this start of the machine and of
//! this PID namespace is looked into, and only when its owners have ended.

use crate::arm;
use crate::error::SmtError;
use crate::kernel::Kernel;
use crate::settle::{Settled, settle};
use crate::state::{Recorded, State};
use std::path::{Path, PathBuf};
use threadwise_process::journal::{Here, JournalError, Locked};

/// What names of journals begin with.
pub(crate) const KIND: &str = "smt";

/// Whose a journal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process that lives and puts it back by itself.
    Living(u32),
    /// A process that was killed, with its watchdog.
    Killed,
    /// Nobody: the change was to last until it is asked back.
    Kept,
}

/// A journal of here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub holder: Holder,
    /// What was before the first change.
    pub first: State,
}

/// What is journalled here. Changes nothing.
///
/// # Errors
/// The folder or a journal in it cannot be read, or could have been written by others.
pub fn found(folder: &Path) -> Result<Vec<Found>, JournalError> {
    let here = Here::now();
    let mut found = Vec::new();
    for written in Locked::written(folder, KIND)?.into_iter().filter(|written| written.here == here) {
        // Put back and removed in this moment.
        let Some(journal) = Locked::open(&written.path)? else { continue };
        let recorded = Recorded::parse(journal.whole());
        let holder = match (journal.living_owner(KIND), recorded.is_kept) {
            (_, true) => Holder::Kept,
            (Some(pid), false) => Holder::Living(pid),
            (None, false) => Holder::Killed,
        };
        found.push(Found { path: written.path, holder, first: recorded.first });
    }
    Ok(found)
}

/// Journals of this start of the machine that were written in other PID namespaces (containers), where alone they
/// can be put back.
///
/// # Errors
/// The folder cannot be read.
pub fn elsewhere(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let here = Here::now();
    let written = Locked::written(folder, KIND)?.into_iter().filter(|written| written.here != here);
    Ok(written.map(|written| written.path).collect())
}

/// Puts everything back that a journal has, reads it back, and removes the journal where nothing is left of it. May
/// be repeated.
///
/// # Errors
/// The journal is not one of here, could have been written by others, or its owner lives; nothing has been changed.
pub fn put_back(kernel: &dyn Kernel, path: &Path) -> Result<Settled, SmtError> {
    let Some(journal) = open(path)? else { return Ok(Settled::default()) };
    finish(kernel, journal)
}

/// As [`put_back`], and leaves alone what was to last.
pub(crate) fn put_back_unless_kept(kernel: &dyn Kernel, path: &Path) -> Result<Settled, SmtError> {
    match open(path)? {
        Some(journal) if !Recorded::parse(journal.whole()).is_kept => finish(kernel, journal),
        _ => Ok(Settled::default()),
    }
}

/// A journal of here whose owners have ended, locked; `None` where it is not there any more.
pub(crate) fn open(path: &Path) -> Result<Option<Locked>, SmtError> {
    let Some(journal) = Locked::open(path)? else { return Ok(None) };
    let here = Here::now();
    let written = Locked::written(path.parent().unwrap_or(Path::new("/")), KIND)?;
    if !written.iter().any(|written| written.path == path && written.here == here) {
        let why = "it is of another start of the machine, or of another PID namespace".to_owned();
        return Err(JournalError::Unsafe { path: path.to_owned(), why }.into());
    }
    match journal.living_owner(KIND) {
        Some(pid) => Err(SmtError::InUse { pid }),
        None => Ok(Some(journal)),
    }
}

fn finish(kernel: &dyn Kernel, journal: Locked) -> Result<Settled, SmtError> {
    let recorded = Recorded::parse(journal.whole());
    let mut settled = settle(kernel, &arm::as_found(&recorded.first));
    let damaged = recorded.failed.into_iter().map(|why| {
        format!("journal {}, {why}; remove it when all is as it should be", journal.path().display())
    });
    settled.failed.extend(damaged);
    if settled.failed.is_empty() {
        journal.remove()?;
    }
    Ok(settled)
}
