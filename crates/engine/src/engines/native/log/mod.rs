//! The log: one ring buffer in which sessions reserve room and copy records, and which one writer
//! drains.
//!
//! Room is reserved in log sequence numbers. With a lock, a session reserves and copies while it
//! holds the lock, and one counter tells the writer how far the buffer is filled. Lock-free, a
//! session reserves by one atomic addition and copies in any order; it publishes its record by storing
//! the record's tag last, and the writer takes records as far as tags are consecutive (after R. Johnson
//! et al., "Aether: a scalable approach to logging", PVLDB 3, 2010, which separates reserving and
//! copying, as PostgreSQL's xlog.c does). The writer wipes the tags that it has taken before it frees
//! the room, so a tag of an earlier lap is never seen.
//!
//! Sessions wait for room in a full ring, and for the disk, asleep and without the lock; these waits are
//! counted apart from spinning.

mod drain;
mod ring;
mod tally;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::thread::{self, Thread};

use self::ring::Ring;
pub use self::tally::Tally;
use super::locks::{Lock, LockKind};
use super::pad::Padded;
use super::record;

/// Why the log takes no more records: the writer's error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LogError(pub String);

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    /// The writer has taken the records before a place.
    Drained = 1,
    /// They are on the disk.
    Durable = 2,
}

/// States of the writer.
const AWAKE: u32 = 0;
/// It sleeps for an interval.
const DOZES: u32 = 1;
/// It sleeps until it is woken.
const IDLE: u32 = 2;

#[derive(Debug, Default)]
struct Waiter {
    /// The log sequence number waited for, with the point in its low bits, which are 0 in such
    /// numbers; 0 for none.
    wanted: AtomicU64,
    thread: OnceLock<Thread>,
}

/// The log. Sessions append; one writer calls the methods marked "for the writer".
#[derive(Debug)]
pub struct Log {
    lock: Lock,
    ring: Ring,
    /// Whether there is a writer; without one, records overwrite each other.
    drained_by_writer: bool,
    /// First free byte: reserved so far (lock-free), reserved and copied (locks).
    end: Padded<AtomicU64>,
    drained: Padded<AtomicU64>,
    durable: Padded<AtomicU64>,
    writer: Padded<(AtomicU32, OnceLock<Thread>)>,
    stop: AtomicBool,
    failure: OnceLock<String>,
    waiters: Box<[Padded<Waiter>]>,
}

impl Log {
    /// An empty log with a ring of at least this many bytes, in which sessions reserve room under a lock or, without
    /// one, by an atomic addition. The calling thread touches its memory.
    pub fn new(reserve: LockKind, ring_bytes: usize, sessions: usize, has_writer: bool) -> Self {
        Self {
            lock: Lock::new(reserve, sessions),
            ring: Ring::new(ring_bytes),
            drained_by_writer: has_writer,
            end: Padded::default(),
            drained: Padded::default(),
            durable: Padded::default(),
            writer: Padded::default(),
            stop: AtomicBool::new(false),
            failure: OnceLock::new(),
            waiters: (0..sessions).map(|_| Padded::default()).collect(),
        }
    }

    /// Makes the calling thread that of a session; call it before its first append.
    pub fn attach(&self, session: usize) {
        // A session has one thread in its life.
        let _ = self.waiters[session].0.thread.set(thread::current());
    }

    /// Appends a record made by [`record::Draft::finish`], and returns the log sequence number of its end.
    ///
    /// # Errors
    /// The writer failed while the session waited for room.
    #[inline]
    pub fn append(&self, session: usize, record: &[u8], tally: &mut Tally) -> Result<u64, LogError> {
        let bytes = record.len() as u64;
        let end = match &self.lock {
            Lock::None => {
                tally.lock.acquisitions += 1;
                let at = self.end.0.fetch_add(bytes, Ordering::Relaxed);
                if !self.has_room(at + bytes, tally) {
                    self.await_room(session, at + bytes, tally)?;
                }
                self.ring.put(at, record, record::tag(at, record.len()));
                at + bytes
            }
            _ => self.append_locked(session, record, tally)?,
        };
        tally.bytes += bytes;
        if self.drained_by_writer {
            self.nudge(end, tally);
        }
        Ok(end)
    }

    #[inline]
    fn append_locked(&self, session: usize, record: &[u8], tally: &mut Tally) -> Result<u64, LogError> {
        loop {
            self.lock.acquire(session, &mut tally.lock);
            let at = self.end.0.load(Ordering::Relaxed);
            let end = at + record.len() as u64;
            if self.has_room(end, tally) {
                self.ring.put(at, record, record::tag(at, record.len()));
                // Release: a thread that sees the end sees the record.
                self.end.0.store(end, Ordering::Release);
                self.lock.release(session, &mut tally.lock);
                return Ok(end);
            }
            self.lock.release(session, &mut tally.lock);
            self.await_room(session, end, tally)?;
        }
    }

    /// Whether records up to `end` fit beside those that the writer has not taken.
    #[inline]
    fn has_room(&self, end: u64, tally: &mut Tally) -> bool {
        if !self.drained_by_writer || end <= tally.drained_seen + self.ring.bytes() {
            return true;
        }
        // Acquire: the writer has read and wiped what is overwritten now.
        tally.drained_seen = self.drained.0.load(Ordering::Acquire);
        end <= tally.drained_seen + self.ring.bytes()
    }

    #[cold]
    fn await_room(&self, session: usize, end: u64, tally: &mut Tally) -> Result<(), LogError> {
        tally.full_waits += 1;
        let needed = end - self.ring.bytes();
        self.wait(session, Point::Drained, needed)?;
        tally.drained_seen = self.drained.0.load(Ordering::Acquire);
        Ok(())
    }

    /// Waits, asleep, until everything before `end` is on the disk.
    ///
    /// # Errors
    /// The writer failed.
    pub fn await_durable(&self, session: usize, end: u64) -> Result<(), LogError> {
        self.wait(session, Point::Durable, end)
    }

    fn wait(&self, session: usize, point: Point, lsn: u64) -> Result<(), LogError> {
        let waiter = &self.waiters[session].0;
        // Sequentially consistent on both sides (here and in `reached`): either the writer sees the
        // request, or this sees that the point is reached already.
        waiter.wanted.store(lsn | point as u64, Ordering::SeqCst);
        let waited = loop {
            if self.counter(point).load(Ordering::SeqCst) >= lsn {
                break Ok(());
            }
            if let Some(why) = self.failure.get() {
                break Err(LogError(why.clone()));
            }
            self.wake_writer();
            thread::park();
        };
        waiter.wanted.store(0, Ordering::SeqCst);
        waited
    }

    fn counter(&self, point: Point) -> &AtomicU64 {
        match point {
            Point::Drained => &self.drained.0,
            Point::Durable => &self.durable.0,
        }
    }

    /// Wakes the writer if it has to; one relaxed load if it is awake.
    ///
    /// There is no fence, so this can miss a writer that falls asleep at the same moment. The next append sees
    /// it, or [`Log::wake_writer`] at the end of the session's slice, or a session that waits.
    #[inline]
    fn nudge(&self, end: u64, tally: &mut Tally) {
        match self.writer.0.0.load(Ordering::Relaxed) {
            AWAKE => {}
            DOZES if end - tally.drained_seen <= self.half() => {}
            DOZES => {
                tally.drained_seen = self.drained.0.load(Ordering::Acquire);
                if end.saturating_sub(tally.drained_seen) > self.half() {
                    self.unpark_writer();
                }
            }
            _ => self.unpark_writer(),
        }
    }

    fn half(&self) -> u64 {
        self.ring.bytes() / 2
    }

    /// Wakes the writer from either sleep.
    pub fn wake_writer(&self) {
        fence(Ordering::SeqCst);
        if self.writer.0.0.load(Ordering::SeqCst) != AWAKE {
            self.unpark_writer();
        }
    }

    #[cold]
    fn unpark_writer(&self) {
        // Only one of the sessions that found it asleep makes the system call.
        if self.writer.0.0.swap(AWAKE, Ordering::SeqCst) != AWAKE
            && let Some(writer) = self.writer.0.1.get()
        {
            writer.unpark();
        }
    }
}

#[cfg(test)]
mod tests;
