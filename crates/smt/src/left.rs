//! Existing journals: of live processes, of killed ones, and of lasting changes.
//!
//! The rules are those of masks ([`threadwise_process::journal`]): only a journal of this boot and
//! this PID namespace is read, and only when its owners have ended.

use crate::arm;
use crate::error::SmtError;
use crate::kernel::Kernel;
use crate::settle::{Settled, settle};
use crate::state::{MachineState, Recorded};
use std::path::{Path, PathBuf};
use threadwise_process::journal::{BootNamespace, JournalError, Locked};

/// Prefix of journals' names.
pub(crate) const KIND: &str = "smt";

/// The owner of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A live process, which will restore it.
    Living(u32),
    /// A process that was killed, with its watchdog.
    Killed,
    /// None: the change lasts until it is restored by request.
    Kept,
}

/// A journal of changes of SMT and clocks, of this boot and namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtJournal {
    /// The file.
    pub path: PathBuf,
    /// Its owner.
    pub holder: Holder,
    /// The state before the first change.
    pub first: MachineState,
}

/// The journals here. Changes nothing.
///
/// # Errors
/// The folder or a journal in it cannot be read, or could have been written by others.
pub fn found(folder: &Path) -> Result<Vec<SmtJournal>, JournalError> {
    let here = BootNamespace::now();
    let mut found = Vec::new();
    for written in Locked::written(folder, KIND)?.into_iter().filter(|written| written.here == here) {
        // Just restored and removed.
        let Some(journal) = Locked::open(&written.path)? else { continue };
        let recorded = Recorded::parse(journal.whole());
        let holder = match (journal.living_owner(KIND), recorded.is_kept) {
            (_, true) => Holder::Kept,
            (Some(pid), false) => Holder::Living(pid),
            (None, false) => Holder::Killed,
        };
        found.push(SmtJournal { path: written.path, holder, first: recorded.first });
    }
    Ok(found)
}

/// Journals of this boot that were written in other PID namespaces (containers), where alone they
/// can be restored.
///
/// # Errors
/// The folder cannot be read.
pub fn elsewhere(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let here = BootNamespace::now();
    let written = Locked::written(folder, KIND)?.into_iter().filter(|written| written.here != here);
    Ok(written.map(|written| written.path).collect())
}

/// Restores everything that a journal has, reads it back, and removes the journal if nothing of it is left. May
/// be repeated.
///
/// # Errors
/// The journal is not of this boot and namespace, could have been written by others, or its owner lives; nothing has
/// been changed.
pub fn put_back(kernel: &dyn Kernel, path: &Path) -> Result<Settled, SmtError> {
    let Some(journal) = open(path)? else { return Ok(Settled::default()) };
    finish(kernel, journal)
}

/// As [`put_back`], but leaves lasting changes.
pub(crate) fn put_back_unless_kept(kernel: &dyn Kernel, path: &Path) -> Result<Settled, SmtError> {
    match open(path)? {
        Some(journal) if !Recorded::parse(journal.whole()).is_kept => finish(kernel, journal),
        _ => Ok(Settled::default()),
    }
}

/// A journal whose owners have ended, locked; `None` if it does not exist any more.
pub(crate) fn open(path: &Path) -> Result<Option<Locked>, SmtError> {
    let Some(journal) = Locked::open(path)? else { return Ok(None) };
    let here = BootNamespace::now();
    let written = Locked::written(path.parent().unwrap_or(Path::new("/")), KIND)?;
    if !written.iter().any(|written| written.path == path && written.here == here) {
        let why = "it is of another boot, or of another PID namespace".to_owned();
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
        format!("journal {}, {why}; remove it when everything is restored", journal.path().display())
    });
    settled.failed.extend(damaged);
    if settled.failed.is_empty() {
        journal.remove()?;
    }
    Ok(settled)
}
