//! Locks whose waiters spin, and count it: one without a queue, one with.

mod mcs;
mod spin;
mod waits;

use self::mcs::QueueLock;
use self::spin::SpinLock;
pub use self::waits::Waits;

/// What protects state that several sessions change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// A spinlock.
    Spin,
    /// A queue lock.
    Mcs,
    /// No lock is needed.
    LockFree,
}

impl LockKind {
    /// In the order of [`LockKind::WORDS`].
    pub const ALL: [Self; 3] = [Self::Spin, Self::Mcs, Self::LockFree];
    /// As options name them.
    pub const WORDS: [&'static str; 3] = ["spin", "mcs", "lock-free"];
}

/// A lock of one of the kinds. It holds no data: its users agree on what it protects.
#[derive(Debug)]
pub enum Lock {
    /// See [`LockKind::Spin`].
    Spin(SpinLock),
    /// See [`LockKind::Mcs`].
    Mcs(QueueLock),
    /// See [`LockKind::LockFree`]: taking it does nothing.
    None,
}

impl Lock {
    /// A free lock for this many sessions.
    pub fn new(kind: LockKind, sessions: usize) -> Self {
        match kind {
            LockKind::Spin => Self::Spin(SpinLock::default()),
            LockKind::Mcs => Self::Mcs(QueueLock::new(sessions)),
            LockKind::LockFree => Self::None,
        }
    }

    /// Takes the lock for a session; each session is one thread.
    #[inline]
    pub fn acquire(&self, session: usize, waits: &mut Waits) {
        match self {
            Self::Spin(lock) => lock.acquire(waits),
            Self::Mcs(lock) => lock.acquire(session, waits),
            Self::None => {}
        }
    }

    /// Releases the lock.
    #[inline]
    pub fn release(&self, session: usize, waits: &mut Waits) {
        match self {
            Self::Spin(lock) => lock.release(),
            Self::Mcs(lock) => lock.release(session, waits),
            Self::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;

    const SESSIONS: usize = 6;
    const EACH: u64 = 5_000;

    /// Whether two threads were ever inside at once, and what a counter comes to that is read and written apart.
    fn crowd(kind: LockKind) -> (bool, u64) {
        let lock = Lock::new(kind, SESSIONS);
        let (inside, met, count) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for session in 0..SESSIONS {
                let (lock, inside, met, count) = (&lock, &inside, &met, &count);
                scope.spawn(move || {
                    let mut waits = Waits::default();
                    for turn in 0..EACH {
                        lock.acquire(session, &mut waits);
                        met.fetch_or(inside.swap(true, Ordering::Relaxed), Ordering::Relaxed);
                        let seen = count.load(Ordering::Relaxed);
                        // Now and then the holder gives its logical CPU away while it is inside.
                        if turn % 500 == 0 {
                            thread::yield_now();
                        }
                        count.store(seen + 1, Ordering::Relaxed);
                        inside.store(false, Ordering::Relaxed);
                        lock.release(session, &mut waits);
                    }
                    if kind != LockKind::LockFree {
                        assert_eq!(waits.acquisitions, EACH);
                        assert!(waits.contended <= EACH && waits.spins >= waits.contended);
                    }
                });
            }
        });
        (met.into_inner(), count.into_inner())
    }

    #[test]
    fn one_at_a_time_is_inside_and_without_a_lock_the_test_notices() {
        for kind in [LockKind::Spin, LockKind::Mcs] {
            assert_eq!(crowd(kind), (false, SESSIONS as u64 * EACH), "{kind:?}");
        }
        // It takes two that meet, which one crowd on a busy machine may not.
        let is_noticed = |(met, count): (bool, u64)| met && count < SESSIONS as u64 * EACH;
        assert!((0..100).any(|_| is_noticed(crowd(LockKind::LockFree))));
    }

    #[test]
    fn kinds_and_words_are_in_one_order() {
        for (kind, word) in LockKind::ALL.into_iter().zip(LockKind::WORDS) {
            let lock = Lock::new(kind, 1);
            assert_eq!(matches!(lock, Lock::None), word == "lock-free");
            assert_eq!(matches!(lock, Lock::Mcs(_)), word == "mcs");
        }
    }

    /// A holder that is there, as long as the other session has not been seen waiting.
    #[test]
    fn a_lock_that_is_taken_is_counted_with_its_spins_and_their_time() {
        let lock = QueueLock::new(2);
        thread::scope(|scope| {
            let holder = &mut Waits::default();
            lock.acquire(0, holder);
            let waiter = scope.spawn(|| {
                let mut waits = Waits::default();
                lock.acquire(1, &mut waits);
                lock.release(1, &mut waits);
                waits
            });
            while !lock.has_waiter_behind(0) {
                thread::yield_now();
            }
            lock.release(0, holder);
            let waits = waiter.join().unwrap();
            assert_eq!((waits.acquisitions, waits.contended), (1, 1));
            assert!(waits.spins >= 1 && waits.spin_ns > 0);
            assert_eq!((holder.acquisitions, holder.contended, holder.spins), (1, 0, 0));
        });
        // Nothing tells that a session waits for the spinlock, so the holder keeps it for a while.
        let waited = |_: u32| {
            let lock = SpinLock::default();
            thread::scope(|scope| {
                lock.acquire(&mut Waits::default());
                let waiter = scope.spawn(|| {
                    let mut waits = Waits::default();
                    lock.acquire(&mut waits);
                    waits
                });
                thread::sleep(std::time::Duration::from_millis(2));
                lock.release();
                waiter.join().unwrap()
            })
        };
        let waits = (0..100).map(waited).find(|waits| waits.contended == 1).unwrap();
        assert!(waits.acquisitions == 1 && waits.spins >= 1 && waits.spin_ns > 0);
    }
}
