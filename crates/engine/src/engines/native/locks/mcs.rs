//! The queue lock: every waiter spins on its own word and is served in order of arrival.
//!
//! Method: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization on
//! shared-memory multiprocessors", ACM Transactions on Computer Systems 9(1), 1991. Nodes are numbered,
//! one per session, so there is nothing to allocate and no pointer.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::yield_now;

use super::super::pad::Padded;
use super::waits::Waits;
use crate::clock;

/// No session; session s is s + 1.
const NOBODY: u32 = 0;

/// Looks after which a waiter yields its logical CPU between looks (see the spinlock); more than there, since looks
/// are one pause apart here.
const PATIENCE: u64 = 2000;

#[derive(Debug, Default)]
struct Node {
    waits: AtomicBool,
    next: AtomicU32,
}

/// The lock.
#[derive(Debug)]
pub struct QueueLock {
    last: Padded<AtomicU32>,
    nodes: Box<[Padded<Node>]>,
}

impl QueueLock {
    /// A free lock for this many sessions.
    pub fn new(sessions: usize) -> Self {
        Self {
            last: Padded(AtomicU32::new(NOBODY)),
            nodes: (0..sessions).map(|_| Padded::default()).collect(),
        }
    }

    /// Takes the lock; times are read as in the spinlock.
    #[inline]
    pub fn acquire(&self, session: usize, waits: &mut Waits) {
        waits.acquisitions += 1;
        if !self.join(session) {
            self.wait(session, waits);
        }
    }

    /// Joins the queue; `true` if it was empty and the lock is taken.
    #[inline]
    fn join(&self, session: usize) -> bool {
        let node = &self.nodes[session].0;
        node.next.store(NOBODY, Ordering::Relaxed);
        node.waits.store(true, Ordering::Relaxed);
        // Release: the next one sees this node ready. Acquire: what the last holder wrote.
        let before = self.last.0.swap(session as u32 + 1, Ordering::AcqRel);
        if before == NOBODY {
            return true;
        }
        self.nodes[before as usize - 1].0.next.store(session as u32 + 1, Ordering::Release);
        false
    }

    #[cold]
    fn wait(&self, session: usize, waits: &mut Waits) {
        let began_ns = clock::monotonic_ns();
        let mut looks = 1;
        while !self.is_served(session) {
            looks += 1;
            pause(looks, waits);
        }
        waits.contended += 1;
        waits.spins += looks;
        waits.spin_ns += clock::monotonic_ns().saturating_sub(began_ns);
    }

    #[inline]
    fn is_served(&self, session: usize) -> bool {
        !self.nodes[session].0.waits.load(Ordering::Acquire)
    }

    /// Hands the lock to the next in the queue. If one is just joining, this waits for its last step, which
    /// counts as spinning too.
    #[inline]
    pub fn release(&self, session: usize, waits: &mut Waits) {
        let node = &self.nodes[session].0;
        let mut next = node.next.load(Ordering::Acquire);
        if next == NOBODY {
            let left = self.last.0.compare_exchange(
                session as u32 + 1,
                NOBODY,
                Ordering::Release,
                Ordering::Relaxed,
            );
            if left.is_ok() {
                return;
            }
            next = Self::await_next(node, waits);
        }
        self.nodes[next as usize - 1].0.waits.store(false, Ordering::Release);
    }

    #[cold]
    fn await_next(node: &Node, waits: &mut Waits) -> u32 {
        let began_ns = clock::monotonic_ns();
        let mut looks = 0;
        let next = loop {
            looks += 1;
            match node.next.load(Ordering::Acquire) {
                NOBODY => pause(looks, waits),
                next => break next,
            }
        };
        waits.spins += looks;
        waits.spin_ns += clock::monotonic_ns().saturating_sub(began_ns);
        next
    }
}

#[inline]
fn pause(looks: u64, waits: &mut Waits) {
    spin_loop();
    if looks > PATIENCE {
        waits.yields += 1;
        yield_now();
    }
}

#[cfg(test)]
impl QueueLock {
    /// Whether a session waits behind this one, which holds the lock.
    pub fn has_waiter_behind(&self, session: usize) -> bool {
        self.nodes[session].0.next.load(Ordering::Acquire) != NOBODY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_served_in_the_order_in_which_they_came() {
        let lock = QueueLock::new(5);
        let waits = &mut Waits::default();
        let order = [3, 0, 4, 1, 2];
        assert!(lock.join(order[0]));
        for session in &order[1..] {
            assert!(!lock.join(*session));
        }
        for pair in order.windows(2) {
            let (now, next) = (pair[0], pair[1]);
            let waiting = |session: &usize| !lock.is_served(*session);
            let behind = order.iter().skip_while(|session| **session != now).skip(1);
            assert!(behind.clone().all(waiting));
            lock.release(now, waits);
            assert!(lock.is_served(next));
            assert!(behind.skip(1).all(waiting));
        }
        lock.release(order[4], waits);
        // Free again: the next one need not wait, and a second one must.
        assert!(lock.join(2) && !lock.join(3));
        assert_eq!(*waits, Waits::default());
    }

    #[test]
    fn one_that_came_back_stands_at_the_end() {
        let lock = QueueLock::new(3);
        let waits = &mut Waits::default();
        assert!(lock.join(0));
        assert!(!lock.join(1));
        lock.release(0, waits);
        assert!(!lock.join(2));
        assert!(!lock.join(0));
        lock.release(1, waits);
        assert!(lock.is_served(2) && !lock.is_served(0));
        lock.release(2, waits);
        assert!(lock.is_served(0));
    }
}
