//! The writer's side of the log: taking records, publishing its progress, sleeping.

use std::sync::atomic::{Ordering, fence};
use std::thread;
use std::time::Duration;

use super::super::locks::Lock;
use super::super::record::{self, UNIT_BYTES};
use super::{AWAKE, DOZES, IDLE, Log, LogError, Point};

impl Log {
    /// Makes the calling thread the writer; call it before anything is appended.
    pub fn attach_writer(&self) {
        // A log has one writer in its life.
        let _ = self.writer.0.1.set(thread::current());
    }

    /// For the writer: moves what sessions appended to `bytes`, in order and not much more than `most` bytes at
    /// once, and frees its room. The next call continues behind it.
    ///
    /// # Errors
    /// The buffer holds bytes that no session wrote.
    pub fn drain(&self, most: usize, bytes: &mut Vec<u8>) -> Result<usize, LogError> {
        let from = self.drained.0.load(Ordering::Relaxed);
        let count = match self.lock {
            Lock::None => self.take_published(from, most, bytes)?,
            // Only whole lines are copied, so any number of them will do.
            _ => {
                let count = (self.end.0.load(Ordering::Acquire) - from).min(whole_units(most)) as usize;
                self.ring.take(from, count, bytes);
                count
            }
        };
        if count > 0 {
            self.reached(Point::Drained, from + count as u64);
        }
        Ok(count)
    }

    /// Takes consecutive published records from a place on, and wipes their lines while they are still in the
    /// cache.
    fn take_published(&self, from: u64, most: usize, bytes: &mut Vec<u8>) -> Result<usize, LogError> {
        let mut count = 0;
        while count < most {
            let at = from + count as u64;
            let tag = self.ring.tag(at);
            if tag == 0 {
                break;
            }
            let record = record::tagged_bytes(tag, at)
                .ok_or_else(|| LogError(format!("the log buffer is corrupt at {at}: tag {tag:#x}")))?;
            self.ring.take(at, record, bytes);
            self.ring.wipe_tags(at, record);
            count += record;
        }
        Ok(count)
    }

    /// For the writer: everything before `lsn` is on the disk.
    pub fn synced(&self, lsn: u64) {
        self.reached(Point::Durable, lsn);
    }

    /// Up to where the writer has taken records.
    pub fn drained(&self) -> u64 {
        self.drained.0.load(Ordering::SeqCst)
    }

    /// Up to where everything is on the disk.
    pub fn durable(&self) -> u64 {
        self.durable.0.load(Ordering::SeqCst)
    }

    /// Up to where room has been reserved.
    pub fn end(&self) -> u64 {
        self.end.0.load(Ordering::SeqCst)
    }

    fn reached(&self, point: Point, lsn: u64) {
        self.counter(point).store(lsn, Ordering::SeqCst);
        for waiter in &self.waiters {
            let wanted = waiter.0.wanted.load(Ordering::SeqCst);
            if wanted & 3 == point as u64
                && wanted & !3 <= lsn
                && let Some(thread) = waiter.0.thread.get()
            {
                thread.unpark();
            }
        }
    }

    /// For the writer: sleeps for `time`, or until half of the ring is filled.
    pub fn doze(&self, time: Duration) {
        self.sleep(DOZES, self.half(), || thread::park_timeout(time));
    }

    /// For the writer: sleeps until there is a record.
    pub fn idle(&self) {
        self.sleep(IDLE, 0, thread::park);
    }

    fn sleep(&self, how: u32, bytes: u64, park: impl FnOnce()) {
        let state = &self.writer.0.0;
        state.store(how, Ordering::SeqCst);
        // An append before this fence is seen below; a session that appends after it sees the state.
        fence(Ordering::SeqCst);
        if self.pending() <= bytes && !self.is_stopping() {
            park();
        }
        state.store(AWAKE, Ordering::SeqCst);
    }

    /// Bytes that can be taken, or more if records behind the first are not published yet; 0 if the first one
    /// is not, since nothing can be taken before it is.
    fn pending(&self) -> u64 {
        let from = self.drained();
        match self.lock {
            Lock::None if self.ring.tag(from) == 0 => 0,
            _ => self.end() - from,
        }
    }

    /// Whether the writer sleeps until it is woken.
    pub fn is_idle(&self) -> bool {
        self.writer.0.0.load(Ordering::SeqCst) == IDLE
    }

    /// Asks the writer to write everything and end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(writer) = self.writer.0.1.get() {
            writer.unpark();
        }
    }

    /// Whether [`Log::stop`] was called.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// For the writer: it cannot go on; every waiting session, now or later, gets `why`.
    pub fn fail(&self, why: String) {
        // The first failure is the cause.
        let _ = self.failure.set(why);
        for thread in self.waiters.iter().filter_map(|waiter| waiter.0.thread.get()) {
            thread.unpark();
        }
    }

    /// Why the writer failed.
    pub fn failure(&self) -> Option<LogError> {
        self.failure.get().map(|why| LogError(why.clone()))
    }
}

/// The bytes of the whole units in `bytes`, one unit at least.
fn whole_units(bytes: usize) -> u64 {
    (bytes / UNIT_BYTES).max(1) as u64 * UNIT_BYTES as u64
}
