//! The spinlock: test-and-test-and-set with bounded exponential back-off.
//!
//! Method: T. E. Anderson, "The performance of spin lock alternatives for shared-memory
//! multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1(1), 1990. A waiter only
//! reads until the lock is free, and reads less often the longer it waits.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;

use super::super::pad::Padded;
use super::waits::Waits;
use crate::clock;

/// Most pauses between two looks at the lock: some 5,000 cycles at the 140 cycles that a pause lasts
/// on Intel processors since Skylake (Optimization Reference Manual), a few hundred elsewhere.
const MOST_PAUSES: u32 = 32;

/// Looks after which a waiter yields its logical CPU between looks: it has waited for much longer than the lock
/// is ever held, so the holder is not running.
const PATIENCE: u64 = 200;

/// The lock.
#[derive(Debug, Default)]
pub struct SpinLock(Padded<AtomicBool>);

impl SpinLock {
    /// Takes the lock. The clock is read when waiting begins and, with the lock taken, when it ends; not at
    /// all if the lock is free at once.
    #[inline]
    pub fn acquire(&self, waits: &mut Waits) {
        waits.acquisitions += 1;
        if self.0.0.swap(true, Ordering::Acquire) {
            self.wait(waits);
        }
    }

    #[cold]
    fn wait(&self, waits: &mut Waits) {
        let began_ns = clock::monotonic_ns();
        let (mut pauses, mut looks) = (1, 0);
        loop {
            looks += 1;
            if !self.0.0.load(Ordering::Relaxed) && !self.0.0.swap(true, Ordering::Acquire) {
                break;
            }
            (0..pauses).for_each(|_| spin_loop());
            pauses = (pauses * 2).min(MOST_PAUSES);
            if looks > PATIENCE {
                waits.yields += 1;
                yield_now();
            }
        }
        waits.contended += 1;
        waits.spins += looks;
        waits.spin_ns += clock::monotonic_ns().saturating_sub(began_ns);
    }

    /// Releases the lock.
    #[inline]
    pub fn release(&self) {
        self.0.0.store(false, Ordering::Release);
    }
}
