//! Leftovers in a state folder of studies that were killed together with their watchdogs.
//!
//! Only files of this boot and PID namespace are read, and only if the process in their name has ended: machines
//! and containers may share the folder, and those of another boot may be another machine's, so they stay.

use super::entry::{BootNamespace, UNKNOWN};
use super::error::JournalError;
use super::file::{file_error, open_file, open_folder, read};
use super::owner::{MASKS, Owner};
use super::restore::{astray, close};
use crate::proc;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_machine::text::one_line;

/// How long the workers of a killed study may take to end.
const WORKERS: Duration = Duration::from_secs(5);
/// How many processes are listed.
const NAMED: usize = 3;

/// Processes with threads that do not have their masks from before a study.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bound {
    /// By process: number of threads, and the program's name.
    processes: BTreeMap<u32, (usize, String)>,
}

impl Bound {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    fn add(&mut self, pid: u32) {
        let (threads, name) = self.processes.entry(pid).or_default();
        *threads += 1;
        if name.is_empty() {
            // A process chooses its own name.
            *name = one_line(&proc::comm(pid).unwrap_or_default(), 40);
        }
    }

    fn merge(&mut self, other: Self) {
        for (pid, (more, name)) in other.processes {
            let (threads, known) = self.processes.entry(pid).or_default();
            *threads += more;
            *known = name;
        }
    }
}

impl fmt::Display for Bound {
    /// `5 threads of process 812 (postgres)`, or of several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads: usize = self.processes.values().map(|(threads, _)| threads).sum();
        let (number, plural) = (self.processes.len(), if threads == 1 { "" } else { "s" });
        write!(f, "{threads} thread{plural} of ")?;
        match number {
            1 => f.write_str("process ")?,
            _ => write!(f, "{number} processes: ")?,
        }
        for (at, (pid, (_, name))) in self.processes.iter().take(NAMED).enumerate() {
            write!(f, "{}{pid} ({name})", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(if number > NAMED { ", …" } else { "" })
    }
}

/// Result of [`put_left_back`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutBack {
    /// Processes that had a mask of a killed study before.
    pub bound: Bound,
    /// One sentence for each that could not be restored; the next call tries again.
    pub failed: Vec<String>,
}

/// Threads that still have a mask of a killed study. Changes nothing.
///
/// # Errors
/// The folder or a journal in it cannot be read, or could have been written by others.
pub fn left(folder: &Path) -> Result<Bound, JournalError> {
    let mut bound = Bound::default();
    for path in journals(folder)? {
        look_into(&path, &mut bound)?;
    }
    Ok(bound)
}

/// Restores the masks that killed studies changed, and removes their journals. Journals of
/// running studies, of other machines and of other PID namespaces are left alone.
///
/// # Errors
/// The folder cannot be read, or could have been written by others.
pub fn put_left_back(folder: &Path) -> Result<PutBack, JournalError> {
    let mut done = PutBack::default();
    for path in journals(folder)? {
        let mut bound = Bound::default();
        let looked = look_into(&path, &mut bound);
        match looked.and_then(|()| close(&path, WORKERS)) {
            Ok(restored) => {
                let name = path.display();
                done.failed.extend(restored.failed.iter().map(|why| format!("journal {name}, {why}")));
                if restored.failed.is_empty() {
                    done.bound.merge(bound);
                }
            }
            Err(why) => done.failed.push(why.to_string()),
        }
    }
    Ok(done)
}

/// Journals whose study has ended without restoring, in order.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let names = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|source| file_error("look for a", folder, source))?,
    };
    let here = BootNamespace::now();
    if here.boot == UNKNOWN {
        return Ok(Vec::new());
    }
    let is_left =
        |name: &str| Owner::of_name(MASKS, name).is_some_and(|owner| owner.here == here && !owner.is_alive());
    let mut found: Vec<PathBuf> = names
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_left))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

fn look_into(path: &Path, bound: &mut Bound) -> Result<(), JournalError> {
    let (folder, name) = open_folder(path)?;
    let mut file = match open_file(&folder, name, OFlags::RDONLY, path) {
        // Just restored and removed.
        Err(JournalError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    astray(&read(&mut file, path)?).into_iter().for_each(|thread| bound.add(thread.pid));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_and_many_are_counted() {
        let bound = |pids: &[u32]| {
            let named = |pid: &u32| (*pid, (2, format!("db{pid}")));
            Bound { processes: pids.iter().map(named).collect() }.to_string()
        };
        assert_eq!(bound(&[812]), "2 threads of process 812 (db812)");
        assert_eq!(bound(&[1, 2]), "4 threads of 2 processes: 1 (db1), 2 (db2)");
        assert_eq!(bound(&[1, 2, 3, 4]), "8 threads of 4 processes: 1 (db1), 2 (db2), 3 (db3), …");
    }
}
