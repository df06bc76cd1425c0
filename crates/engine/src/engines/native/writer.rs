//! The log writer: a thread that drains the log into a file.
//!
//! `durability=full`: it writes all pending records, calls fdatasync(2), and only then wakes the sessions whose
//! records are now on the disk; records that come meanwhile go into the next write (group commit).
//! `durability=relaxed`: it writes every 10 ms, or when half of the ring is filled, and never syncs: the kernel
//! writes the file back in its own time, so a crash of the process loses up to 10 ms of commits, and a crash of
//! the machine some seconds more.
//!
//! Without records it sleeps on its thread's futex and uses no CPU until a session wakes it.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_thread_id, pin_current_thread};

use super::error::failed;
use super::log::{Log, LogError};
use super::recovery::{Recovered, recover};
use super::row::Row;
use crate::workloads::insert::Durability;
use crate::{EngineError, clock};

/// How long the writer sleeps between two writes of a relaxed log.
pub const INTERVAL: Duration = Duration::from_millis(10);

/// Most bytes of one write(2).
const WRITE_BYTES: usize = 1 << 20;

/// How often a thread that waits for the writer to become idle polls it.
const LOOK: Duration = Duration::from_micros(200);

/// Counts of the writer.
#[derive(Debug, Default)]
struct Done {
    writes: AtomicU64,
    syncs: AtomicU64,
    bytes: AtomicU64,
    cpu_ns: AtomicU64,
}

/// A reading of the writer's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Calls of write(2).
    pub writes: u64,
    /// Calls of fdatasync(2).
    pub syncs: u64,
    /// Bytes written.
    pub bytes: u64,
    /// CPU time of the writer's thread.
    pub cpu_ns: u64,
}

/// The running log writer and its file. Dropping it ends the thread and removes the file.
#[derive(Debug)]
pub struct LogWriter {
    log: Arc<Log>,
    done: Arc<Done>,
    durability: Durability,
    file: Arc<File>,
    path: PathBuf,
    /// Log sequence number of the file's first byte.
    first_lsn: Mutex<u64>,
    thread: Option<JoinHandle<()>>,
    tid: u32,
}

impl LogWriter {
    /// Makes the file, which must not exist, and starts the thread on its logical CPUs.
    ///
    /// # Errors
    /// The file cannot be made, or the thread cannot be started or bound.
    pub fn start(
        log: Arc<Log>,
        path: PathBuf,
        cpus: &CpuSet,
        durability: Durability,
    ) -> Result<Self, EngineError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|cause| failed("make its log", format!("{}: {cause}", path.display())))?;
        let (file, done) = (Arc::new(file), Arc::new(Done::default()));
        let mut writer = Self {
            log: Arc::clone(&log),
            done: Arc::clone(&done),
            durability,
            file: Arc::clone(&file),
            path,
            first_lsn: Mutex::new(0),
            thread: None,
            tid: 0,
        };
        let (placed, answer) = channel();
        let (cpus, shown) = (cpus.clone(), writer.path.clone());
        let body = move || {
            if place(&log, &cpus, &placed) {
                let life = catch_unwind(AssertUnwindSafe(|| work(&log, &file, &shown, &done, durability)));
                if let Err(why) = life.unwrap_or_else(|_| Err(LogError("the log writer panicked".into()))) {
                    log.fail(why.0);
                }
            }
        };
        let started = thread::Builder::new().name("log-writer".into()).spawn(body);
        let thread = started.map_err(|cause| failed("start the log writer's thread", cause))?;
        writer.thread = Some(thread);
        let answer = answer.recv().unwrap_or_else(|_| Err("its thread ended".into()));
        writer.tid = answer.map_err(|why| failed("place the log writer", why))?;
        Ok(writer)
    }

    /// The writer's thread id.
    pub fn tid(&self) -> u32 {
        self.tid
    }

    /// The writer's counts; exact while it is idle.
    pub fn written(&self) -> Written {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Written {
            writes: read(&self.done.writes),
            syncs: read(&self.done.syncs),
            bytes: read(&self.done.bytes),
            cpu_ns: read(&self.done.cpu_ns),
        }
    }

    /// Waits until everything is written and the writer sleeps. No session may append meanwhile.
    ///
    /// # Errors
    /// The writer failed.
    pub fn settle(&self) -> Result<(), EngineError> {
        loop {
            if let Some(error) = self.log.failure() {
                return Err(failed("write its log", error));
            }
            let end = self.log.end();
            let on_disk = self.durability == Durability::Relaxed || self.log.durable() == end;
            if self.log.drained() == end && on_disk && self.log.is_idle() {
                return Ok(());
            }
            if self.log.drained() != end {
                self.log.wake_writer();
            }
            thread::sleep(LOOK);
        }
    }

    /// Reads the file back; call [`LogWriter::settle`] before.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_back(&self, each: impl FnMut(u16, &Row)) -> Result<Recovered, EngineError> {
        let first_lsn = *self.first_lsn.lock().unwrap_or_else(PoisonError::into_inner);
        File::open(&self.path)
            .and_then(|file| recover(BufReader::with_capacity(WRITE_BYTES, file), first_lsn, each))
            .map_err(|cause| failed("read its log back", format!("{}: {cause}", self.path.display())))
    }

    /// Empties the file; call [`LogWriter::settle`] before.
    ///
    /// # Errors
    /// It cannot be emptied.
    pub fn empty(&self) -> Result<(), EngineError> {
        // The file is open for appending, so the next write goes to its new end.
        self.file
            .set_len(0)
            .map_err(|cause| failed("empty its log", format!("{}: {cause}", self.path.display())))?;
        *self.first_lsn.lock().unwrap_or_else(PoisonError::into_inner) = self.log.end();
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.log.stop();
        if let Some(thread) = self.thread.take() {
            // The thread catches its own panics.
            let _ = thread.join();
        }
        // The folder is the study's own and is removed at its end, with all its files.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds the calling thread, makes it the log's writer, and gives its id.
fn place(log: &Log, cpus: &CpuSet, placed: &Sender<Result<u32, String>>) -> bool {
    let answer = pin_current_thread(cpus)
        .map_err(|cause| cause.to_string())
        .and_then(|()| current_thread_id().ok_or_else(|| "/proc/thread-self cannot be read".to_owned()));
    let bound = answer.is_ok();
    log.attach_writer();
    placed.send(answer).is_ok() && bound
}

/// The writer's loop.
fn work(
    log: &Log,
    mut file: &File,
    path: &Path,
    done: &Done,
    durability: Durability,
) -> Result<(), LogError> {
    let fail = |action: &str, cause| LogError(format!("{action} {}: {cause}", path.display()));
    let mut bytes = Vec::with_capacity(WRITE_BYTES);
    loop {
        // Records that come during this pass wait for the next one: otherwise sessions that never pause would
        // cause ever smaller writes.
        let upto = log.end();
        let mut moved = 0;
        while log.drained() < upto {
            bytes.clear();
            let count = log.drain(WRITE_BYTES, &mut bytes)?;
            if count == 0 {
                break;
            }
            file.write_all(&bytes).map_err(|cause| fail("write to", cause))?;
            moved += count;
            done.writes.fetch_add(1, Ordering::Relaxed);
            done.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
        if moved > 0 && durability == Durability::Full {
            let written = log.drained();
            file.sync_data().map_err(|cause| fail("sync", cause))?;
            done.syncs.fetch_add(1, Ordering::Relaxed);
            log.synced(written);
        }
        done.cpu_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
        match (moved, durability) {
            (0, _) if log.is_stopping() => return Ok(()),
            (0, _) => log.idle(),
            (_, Durability::Relaxed) => log.doze(INTERVAL),
            // Sessions that waited for the disk have slept until now; more records will come.
            (_, Durability::Full) => {}
        }
    }
}

#[cfg(test)]
mod tests;
