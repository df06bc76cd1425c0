//! Restoring masks, and removing a journal that is no longer needed.

use super::entry::{BootNamespace, Entry, Thread};
use super::error::JournalError;
use super::locked::Locked;
use super::owner::Owner;
use super::put_back::{Restored, agrees, online, put_back};
use super::{first_mask, look, server};
use crate::proc;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pause between two checks whether the writers have ended.
const STEP: Duration = Duration::from_millis(5);

/// Restores the first mask of every live thread of the journal at `path`, and reads it back. A journal that does not
/// exist has nothing to restore. May be repeated. For the study whose journal it is; for others' see
/// [`super::put_left_back`].
///
/// # Errors
/// The journal cannot be read, or could have been written by others; then nothing has been changed.
pub fn restore(path: &Path) -> Result<Restored, JournalError> {
    Ok(Locked::open(path)?.map_or_else(Restored::default, |journal| put_all_back(journal.text())))
}

/// As [`restore`], and removes the journal if nothing failed. Waits for at most `limit` until every other
/// process that writes to it has ended.
///
/// # Errors
/// As [`restore`]; or [`JournalError::InUse`], and nothing has been changed.
pub fn close(path: &Path, limit: Duration) -> Result<Restored, JournalError> {
    let (until, this) = (Instant::now() + limit, Owner::this());
    loop {
        let Some(journal) = Locked::open(path)? else { return Ok(Restored::default()) };
        let mut owners = journal.text().lines().filter_map(|line| Owner::parse(line)?.ok());
        match owners.find(|owner| *owner != this && owner.is_alive()) {
            None => return put_back_and_remove(journal),
            Some(Owner { pid, .. }) if Instant::now() >= until => {
                return Err(JournalError::InUse { path: path.to_owned(), pid });
            }
            // Killed with the study, but not at once. It may need the lock to end.
            Some(_) => drop(journal),
        }
        std::thread::sleep(STEP);
    }
}

fn put_back_and_remove(journal: Locked) -> Result<Restored, JournalError> {
    let restored = put_all_back(journal.text());
    if restored.failed.is_empty() {
        journal.remove()?;
    }
    Ok(restored)
}

fn put_all_back(text: &str) -> Restored {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let here = BootNamespace::now();
    let mut restored = Restored::default();
    let mut seen = BTreeSet::new();
    let (mut entries, mut servers) = (Vec::new(), Vec::new());
    for (index, line) in text[..whole].lines().enumerate() {
        if let Some(Ok(entry)) = server::parse(line) {
            servers.extend((entry.here == here).then_some(entry));
            continue;
        }
        if let Some(Ok(_)) = Owner::parse(line) {
            continue;
        }
        match Entry::parse(line) {
            Ok(entry) if entry.here.boot != here.boot => restored.gone += 1,
            Ok(entry) if entry.here.pid_namespace != here.pid_namespace => restored.failed.push(format!(
                "line {}: thread {} was recorded in another PID namespace (container); restore it there",
                index + 1,
                entry.thread.tid
            )),
            Ok(entry) if !seen.insert(entry.thread) => {}
            Ok(entry) => {
                match put_back(&entry) {
                    Ok(true) => restored.put_back += 1,
                    Ok(false) => restored.gone += 1,
                    Err(why) => restored.failed.push(format!("line {}: {why}", index + 1)),
                }
                entries.push(entry);
            }
            Err(why) => {
                restored.failed.push(format!("line {} is damaged and was left out: {why}", index + 1))
            }
        }
    }
    match servers.is_empty() {
        true => put_back_heirs(&entries, &mut restored),
        false => server::put_back_heirs(&entries, &servers, &mut restored),
    }
    restored
}

/// Threads without a line started after their process was recorded, and may have inherited a changed mask;
/// they get that of the process's first thread. Twice, since one may start another meanwhile.
fn put_back_heirs(entries: &[Entry], restored: &mut Restored) {
    for entry in (0..2).flat_map(|_| heirs(entries)) {
        let Thread { pid, tid, .. } = entry.thread;
        match put_back(&entry) {
            Ok(true) => restored.put_back += 1,
            Ok(false) => {}
            Err(why) => restored.failed.push(format!("thread {tid} of process {pid}: {why}")),
        }
    }
}

/// Such threads, with the masks that they should have.
fn heirs(entries: &[Entry]) -> Vec<Entry> {
    let known: BTreeSet<Thread> = entries.iter().map(|entry| entry.thread).collect();
    let pids: BTreeSet<u32> = known.iter().map(|thread| thread.pid).collect();
    let (online, here) = (online(), BootNamespace::now());
    let mut found = Vec::new();
    for pid in pids {
        let Some(mask) = first_mask(entries, pid) else { continue };
        let threads = proc::thread_numbers(pid).into_iter().filter_map(|tid| look(pid, tid));
        let astray = threads
            .filter(|(thread, present)| !known.contains(thread) && !agrees(&mask, present, online.as_ref()));
        found.extend(astray.map(|(thread, _)| Entry { here: here.clone(), thread, mask: mask.clone() }));
    }
    found
}

/// Live threads that do not have their first mask.
pub(super) fn astray(text: &str) -> Vec<Thread> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let (entries, servers) = server::of_here(&text[..whole], &BootNamespace::now());
    let online = online();
    let mut seen = BTreeSet::new();
    let is_astray = |entry: &&Entry| {
        let Thread { pid, tid, .. } = entry.thread;
        seen.insert(entry.thread)
            && look(pid, tid).is_some_and(|(thread, present)| {
                thread == entry.thread && !agrees(&entry.mask, &present, online.as_ref())
            })
    };
    let written: Vec<Thread> = entries.iter().filter(is_astray).map(|entry| entry.thread).collect();
    let unwritten = match servers.is_empty() {
        true => heirs(&entries),
        false => server::heirs_of(&entries, &servers),
    };
    written.into_iter().chain(unwritten.into_iter().map(|entry| entry.thread)).collect()
}
