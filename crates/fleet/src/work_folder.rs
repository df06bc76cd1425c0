//! The work folder of a cell: `cells/.MACHINE.REPEAT.XXXX`, which one process locks at a time, which outlives it, and
//! which a rename makes `cells/MACHINE.REPEAT`.
//!
//! Whatever ends a cell (a signal, the end of a time limit, the loss of the node, a full disk), its work folder stays
//! with the study so far, and the next attempt takes it.

use crate::cell::{Attempt, CellId, CellRecord, EXIT_FILE, RECORD_FILE, STUDY_FILE};
use crate::folder::{read_cell, read_record};
use crate::{FleetError, durable, journal};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the lock file of the working process.
const LOCK: &str = "lock";
/// Name of the file with a line for each attempt.
const ATTEMPTS: &str = "attempts.jsonl";
/// The end of an attempt that recorded none.
const NO_END: &str = "it did not come to an end: killed, or the node was lost";
/// Maximum retries for a folder that another process has just renamed.
const TRIES: usize = 20;
/// Maximum bytes of the file of attempts.
const MOST_BYTES: u64 = 16 << 20;

/// A work folder that this process has locked.
#[derive(Debug)]
pub struct WorkFolder {
    /// The folder.
    pub path: PathBuf,
    cells: PathBuf,
    cell: CellId,
    lock: File,
    /// Attempts before this one, oldest first.
    pub earlier: Vec<Attempt>,
    /// Remarks for the record, one line each.
    pub notes: Vec<String>,
    now: Option<Attempt>,
}

/// The work to do for a cell.
#[derive(Debug)]
pub enum Taken {
    /// None: it is already measured.
    Whole(Box<CellRecord>, i32),
    /// This process has locked it.
    Ours(Box<WorkFolder>),
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Closing is not enough while a just forked child has it open.
        let _ = self.lock.unlock();
    }
}

impl WorkFolder {
    /// Locks the work folder of a cell: that of an earlier attempt, or a new one. A cell that was refused or failed
    /// starts again from what it left.
    ///
    /// # Errors
    /// Another process has locked it, its folder is unusable, or nothing can be written.
    pub fn take(cells: &Path, cell: &CellId, plan_hash: &str) -> Result<Taken, FleetError> {
        for _ in 0..TRIES {
            let whole = cells.join(cell.to_string());
            if whole.symlink_metadata().is_ok() {
                let (record, exit) = read_cell(&whole, cell, plan_hash)?;
                if !record.outcome.may_pass() {
                    return Ok(Taken::Whole(Box::new(record), exit));
                }
                let aside = new_name(cells, cell)?;
                match std::fs::rename(&whole, &aside) {
                    Ok(()) => durable::sync_folder_of(&aside)?,
                    // Another process was faster.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(FleetError::file("rename", &whole, &error)),
                }
            }
            let path = match aside(cells, cell)? {
                Some(path) => path,
                None => made(cells, cell)?,
            };
            let Some(lock) = locked(&path, cell)? else { continue };
            // Another process finished it between the first check and the lock.
            if whole.symlink_metadata().is_ok() {
                continue;
            }
            let mut folder = Self {
                path,
                cells: cells.to_owned(),
                cell: cell.clone(),
                lock,
                earlier: Vec::new(),
                notes: Vec::new(),
                now: None,
            };
            folder.earlier = folder.read_attempts()?;
            folder.put_record_away()?;
            return Ok(Taken::Ours(Box::new(folder)));
        }
        Err(FleetError::Failed(format!(
            "{}: the folder of {cell} changes repeatedly: submit again",
            cells.display()
        )))
    }

    /// Turns the record of a refused or failed attempt into a line of the attempts.
    fn put_record_away(&mut self) -> Result<(), FleetError> {
        let (record_path, exit_path) = (self.path.join(RECORD_FILE), self.path.join(EXIT_FILE));
        if let Ok(record) = read_record(&record_path) {
            let how = record.reason.clone().unwrap_or_else(|| "it failed".to_owned());
            let attempt =
                Attempt { started_utc: record.started_utc, node: record.node, job: record.job, how };
            self.write_attempt(&attempt)?;
            self.earlier = self.read_attempts()?;
        }
        for path in [record_path, exit_path] {
            match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(FleetError::file("remove", &path, &error)),
            }
        }
        Ok(())
    }

    /// Records durably that an attempt starts.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(
        &mut self,
        started_utc: &str,
        node: Option<&str>,
        job: Option<&str>,
    ) -> Result<(), FleetError> {
        let attempt = Attempt {
            started_utc: started_utc.to_owned(),
            node: node.map(str::to_owned),
            job: job.map(str::to_owned),
            how: NO_END.to_owned(),
        };
        self.write_attempt(&attempt)?;
        self.now = Some(attempt);
        Ok(())
    }

    /// Records how this attempt was stopped; its work folder stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn stopped(&self, how: &str) -> Result<(), FleetError> {
        let Some(now) = &self.now else { return Ok(()) };
        self.write_attempt(&Attempt { how: how.to_owned(), ..now.clone() })
    }

    fn write_attempt(&self, attempt: &Attempt) -> Result<(), FleetError> {
        let path = self.path.join(ATTEMPTS);
        let failed = |error: std::io::Error| FleetError::file("write", &path, &error);
        let line = serde_json::to_string(attempt)
            .map_err(|error| FleetError::Failed(format!("cannot write a line of {ATTEMPTS}: {error}")))?;
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        // The leading line break ends a line that was cut off.
        file.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// Attempts; the last line of a start counts.
    fn read_attempts(&self) -> Result<Vec<Attempt>, FleetError> {
        let path = self.path.join(ATTEMPTS);
        if path.symlink_metadata().is_err() {
            return Ok(Vec::new());
        }
        let text = durable::read_text(&path, MOST_BYTES)?;
        let mut attempts: Vec<Attempt> = Vec::new();
        for attempt in text.lines().filter_map(|line| serde_json::from_str::<Attempt>(line).ok()) {
            let same = |known: &Attempt| known.started_utc == attempt.started_utc && known.job == attempt.job;
            match attempts.iter_mut().rfind(|known| same(known)) {
                Some(known) if known.how == NO_END => known.how = attempt.how,
                _ => attempts.push(attempt),
            }
        }
        Ok(attempts)
    }

    /// The result file to continue, if any: the newest, if there were boots in between.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn study(&self) -> Result<Option<PathBuf>, FleetError> {
        let newest = self.studies()?.into_iter().max_by_key(|(boot, _)| *boot);
        Ok(newest.map(|(_, path)| path))
    }

    /// Path of a new result file.
    pub fn new_study(&self) -> PathBuf {
        self.path.join(STUDY_FILE)
    }

    /// `study.threadwise` is 1, `study-boot2.threadwise` 2.
    fn studies(&self) -> Result<Vec<(u32, PathBuf)>, FleetError> {
        let failed = |error: std::io::Error| FleetError::file("read", &self.path, &error);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let boot = match name.strip_prefix("study-boot").and_then(|rest| rest.strip_suffix(".threadwise"))
            {
                Some(number) => number.parse().ok(),
                None => (name == STUDY_FILE).then_some(1),
            };
            found.extend(boot.map(|boot| (boot, path.clone())));
        }
        Ok(found)
    }

    /// Renames an unreadable result file, so that a new one can be created.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn put_aside(&mut self, study: &Path, why: &str) -> Result<(), FleetError> {
        let free = (1..1000).map(|number| self.path.join(format!("unreadable-{number}.threadwise")));
        let target = free.into_iter().find(|path| path.symlink_metadata().is_err()).ok_or_else(|| {
            FleetError::broken(
                &self.path,
                "it has 999 result files that cannot be read: check and remove them",
            )
        })?;
        durable::rename(study, &target)?;
        let beside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push("-journal");
            PathBuf::from(name)
        };
        // A journal belongs to its file only.
        if beside(study).symlink_metadata().is_ok() {
            durable::rename(&beside(study), &beside(&target))?;
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.notes.push(format!("a result file could not be continued and is kept as {name}: {why}"));
        Ok(())
    }

    /// Makes this the cell's folder: writes the record and the exit code, syncs everything, and renames last. A
    /// complete result file of a later boot gets the name that readers expect; earlier ones are kept and noted.
    ///
    /// # Errors
    /// Something cannot be written or renamed; the work folder stays with its content.
    pub fn finish(mut self, mut record: CellRecord, exit: i32) -> Result<PathBuf, FleetError> {
        self.name_studies()?;
        record.notes.append(&mut self.notes);
        record.earlier = self.earlier.clone();
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| FleetError::Failed(format!("cannot write {RECORD_FILE}: {error}")))?;
        for (_, study) in self.studies()? {
            durable::sync(&study)?;
        }
        durable::write(&self.path.join(RECORD_FILE), (text + "\n").as_bytes(), 0o644)?;
        durable::write(&self.path.join(EXIT_FILE), format!("{exit}\n").as_bytes(), 0o644)?;
        durable::sync(&self.path)?;
        let whole = self.cells.join(self.cell.to_string());
        let may_pass = record.outcome.may_pass();
        durable::rename(&self.path, &whole)?;
        // No longer needed; after the rename, so that the folder is never without an owner.
        let _ = std::fs::remove_file(whole.join(LOCK));
        if !may_pass {
            let _ = std::fs::remove_file(whole.join(ATTEMPTS));
        }
        Ok(whole)
    }

    fn name_studies(&mut self) -> Result<(), FleetError> {
        let mut studies = self.studies()?;
        studies.sort();
        let Some((last, newest)) = studies.pop().filter(|(number, _)| *number > 1) else { return Ok(()) };
        for (number, path) in studies.iter().filter(|(number, _)| *number < last) {
            let kept = self.path.join(format!("before-boot{}-{number}.threadwise", last));
            durable::rename(path, &kept)?;
            let name = kept.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.notes.push(format!(
                "the study began on an earlier boot or another machine: its results there are kept as {name}, and the result is \
                 of the last boot alone"
            ));
        }
        durable::rename(&newest, &self.new_study())
    }
}

/// An unused name: the time in nanoseconds and the process, in 36 digits.
fn new_name(cells: &Path, cell: &CellId) -> Result<PathBuf, FleetError> {
    let since =
        std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    let named = |number: u32| {
        let mut rest = since.as_nanos() as u64 ^ (u64::from(std::process::id()) << 32) ^ u64::from(number);
        let mut suffix = String::new();
        for _ in 0..6 {
            suffix.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
            rest /= 36;
        }
        cells.join(format!(".{cell}.{suffix}"))
    };
    (0..1000)
        .map(named)
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| FleetError::broken(cells, format!("no unused name for a folder of {cell}")))
}

fn made(cells: &Path, cell: &CellId) -> Result<PathBuf, FleetError> {
    let path = new_name(cells, cell)?;
    std::fs::create_dir(&path).map_err(|error| FleetError::file("make", &path, &error))?;
    Ok(path)
}

/// The work folder of an earlier attempt: the one with a study, if there are several.
fn aside(cells: &Path, cell: &CellId) -> Result<Option<PathBuf>, FleetError> {
    let failed = |error: std::io::Error| FleetError::file("read", cells, &error);
    let prefix = format!(".{cell}.");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(cells).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_its =
            name.to_str().and_then(|name| name.strip_prefix(&prefix)).is_some_and(|rest| !rest.contains('.'));
        if is_its && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    found.sort_by_key(|path| (!path.join(STUDY_FILE).exists(), path.clone()));
    Ok(found.into_iter().next())
}

/// Locks a folder. `None` if it was renamed meanwhile.
fn locked(path: &Path, cell: &CellId) -> Result<Option<File>, FleetError> {
    let lock_path = path.join(LOCK);
    let lock = match OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.exists() => return Ok(None),
        Err(error) => return Err(FleetError::file("make", &lock_path, &error)),
    };
    match lock.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let why = "another process is measuring it: wait until it has ended, or end its job";
            return Err(FleetError::Refused(format!("{cell}: {why}")));
        }
        Err(std::fs::TryLockError::Error(error)) if journal::has_no_locks(&error) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(FleetError::file("lock", &lock_path, &error)),
    }
    let is_same = |found: std::fs::Metadata, ours: std::fs::Metadata| {
        (found.dev(), found.ino()) == (ours.dev(), ours.ino())
    };
    let same = std::fs::metadata(&lock_path).ok().zip(lock.metadata().ok());
    Ok(same.is_some_and(|(found, ours)| is_same(found, ours)).then_some(lock))
}

#[cfg(test)]
mod tests;
