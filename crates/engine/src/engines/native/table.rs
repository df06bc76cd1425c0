//! The table: rows in append-only vectors, found by a hash index of chains.
//!
//! Method: a chain is a linked list that only grows at its head, by compare-and-swap (R. K. Treiber,
//! "Systems Programming: Coping with Parallelism", IBM RJ 5118, 1986; M. M. Michael, "High
//! performance dynamic lock-free hash tables and list-based sets", SPAA 2002, for chains of a hash
//! index). Nothing is removed while sessions work, so a head never comes back to an old value. The
//! locked variant has the same chains behind mutexes, each for every n-th bucket.
//!
//! Each session appends to its own vectors (`boxcar`, whose appends take no lock and whose rows never
//! move): inserts share no counter, and a row lies on the NUMA node of the session that inserted it. Seeded
//! and added rows are in separate vectors, so that the table can be reset; memory of removed rows is used
//! again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::pad::Padded;
use super::row::Row;
use crate::workloads::insert::key_check;

/// No row.
const NONE: u64 = 0;

/// Bits of a row's address that hold its session, above the bit that says "added".
const SESSION_BITS: u32 = 16;

/// How chains are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Heads by compare-and-swap.
    LockFree,
    /// By this many mutexes, a power of two.
    Locked(usize),
}

/// Cost of inserts and lookups so far, counted by their session alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walked {
    /// Rows of chains that were compared.
    pub chain_steps: u64,
    /// Lock-free: heads that another session had changed meanwhile. Locked: mutexes that were held.
    pub retries: u64,
}

/// Number of rows and sum of their keys' checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Content {
    /// Rows.
    pub rows: u64,
    /// Sum of `key_check` of their keys.
    pub key_sum: u64,
}

impl Content {
    /// Counts one key.
    #[inline]
    pub fn add(&mut self, key: i64) {
        self.rows += 1;
        self.key_sum += key_check(key) as u64;
    }

    /// Sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, key_sum: self.key_sum + other.key_sum }
    }
}

/// The part of the table that a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrigin {
    /// Rows from the start.
    Seed,
    /// Rows that [`Table::put_back`] removes.
    Added,
}

/// A row with a key.
pub trait Keyed {
    /// The key.
    fn key(&self) -> i64;
}

impl Keyed for Row {
    #[inline]
    fn key(&self) -> i64 {
        self.c1
    }
}

struct Stored<R> {
    row: R,
    next: AtomicU64,
}

/// Rows of one session.
struct Heap<R> {
    seed: boxcar::Vec<Stored<R>>,
    added: boxcar::Vec<Stored<R>>,
}

impl<R> Default for Heap<R> {
    fn default() -> Self {
        Self { seed: boxcar::Vec::new(), added: boxcar::Vec::new() }
    }
}

/// The table. Inserts need a shared reference; [`Table::put_back`] an exclusive one.
pub struct Table<R = Row> {
    heads: Box<[AtomicU64]>,
    locks: Box<[Padded<Mutex<()>>]>,
    heaps: Box<[Padded<Heap<R>>]>,
}

impl<R: Keyed> Table<R> {
    /// An empty table with this many chains, a power of two. The heads lie on the node of the calling thread,
    /// which touches them here.
    pub fn new(index: Index, buckets: usize, sessions: usize) -> Self {
        let locks = match index {
            Index::LockFree => 0,
            Index::Locked(stripes) => stripes,
        };
        Self {
            heads: (0..buckets.next_power_of_two()).map(|_| AtomicU64::new(NONE)).collect(),
            locks: (0..locks).map(|_| Padded::default()).collect(),
            heaps: (0..sessions).map(|_| Padded::default()).collect(),
        }
    }

    /// Inserts a row for a session. Gives `false`, and inserts nothing, if its key is stored already.
    #[inline]
    pub fn insert(&self, part: RowOrigin, session: usize, row: R, walked: &mut Walked) -> bool {
        let key = row.key();
        let bucket = hash(key) as usize & (self.heads.len() - 1);
        match self.locks.len() {
            0 => self.insert_lock_free(part, session, bucket, row, walked),
            stripes => {
                let lock = &self.locks[bucket & (stripes - 1)].0;
                let _held = lock.try_lock().unwrap_or_else(|error| match error {
                    TryLockError::Poisoned(held) => held.into_inner(),
                    TryLockError::WouldBlock => {
                        walked.retries += 1;
                        lock.lock().unwrap_or_else(PoisonError::into_inner)
                    }
                });
                let head = self.heads[bucket].load(Ordering::Relaxed);
                if self.chain_has(key, head, NONE, walked) {
                    return false;
                }
                let at = self.append(part, session, row, head);
                self.heads[bucket].store(at, Ordering::Relaxed);
                true
            }
        }
    }

    #[inline]
    fn insert_lock_free(
        &self,
        part: RowOrigin,
        session: usize,
        bucket: usize,
        row: R,
        walked: &mut Walked,
    ) -> bool {
        let key = row.key();
        // Acquire here and Release below: a thread that finds a row by a head sees its content and its next.
        let mut seen = self.heads[bucket].load(Ordering::Acquire);
        if self.chain_has(key, seen, NONE, walked) {
            return false;
        }
        let at = self.append(part, session, row, seen);
        while let Err(now) =
            self.heads[bucket].compare_exchange(seen, at, Ordering::AcqRel, Ordering::Acquire)
        {
            walked.retries += 1;
            // Only rows in front of the head that was compared before can be new.
            if self.chain_has(key, now, seen, walked) {
                return false; // The appended row stays in its vector, in no chain.
            }
            if let Some(stored) = self.at(at) {
                stored.next.store(now, Ordering::Relaxed);
            }
            seen = now;
        }
        true
    }

    /// Whether a chain has the key, from a head to an address that is not compared.
    #[inline]
    fn chain_has(&self, key: i64, head: u64, end: u64, walked: &mut Walked) -> bool {
        let mut address = head;
        while address != end {
            let Some(stored) = self.at(address) else { return false };
            walked.chain_steps += 1;
            if stored.row.key() == key {
                return true;
            }
            address = stored.next.load(Ordering::Relaxed);
        }
        false
    }

    #[inline]
    fn append(&self, part: RowOrigin, session: usize, row: R, next: u64) -> u64 {
        let stored = Stored { row, next: AtomicU64::new(next) };
        let heap = &self.heaps[session].0;
        let (index, added) = match part {
            RowOrigin::Seed => (heap.seed.push(stored), 0),
            RowOrigin::Added => (heap.added.push(stored), 1),
        };
        1 + (((index as u64) << SESSION_BITS | session as u64) << 1 | added)
    }

    /// The row at an address; `None` for no row.
    #[inline]
    fn at(&self, address: u64) -> Option<&Stored<R>> {
        let address = address.checked_sub(1)?;
        let heap = &self.heaps.get((address >> 1) as usize & ((1 << SESSION_BITS) - 1))?.0;
        let index = (address >> (SESSION_BITS + 1)) as usize;
        match is_added(address + 1) {
            true => heap.added.get(index),
            false => heap.seed.get(index),
        }
    }

    /// The row with this key.
    #[inline]
    pub fn find(&self, key: i64, walked: &mut Walked) -> Option<&R> {
        let mut address = self.heads[hash(key) as usize & (self.heads.len() - 1)].load(Ordering::Acquire);
        loop {
            let stored = self.at(address)?;
            walked.chain_steps += 1;
            if stored.row.key() == key {
                return Some(&stored.row);
            }
            address = stored.next.load(Ordering::Relaxed);
        }
    }

    fn chain(&self, bucket: usize) -> impl Iterator<Item = &Stored<R>> {
        let first = self.at(self.heads[bucket].load(Ordering::Acquire));
        std::iter::successors(first, |stored| self.at(stored.next.load(Ordering::Relaxed)))
    }

    /// All rows that the index finds, chain by chain.
    pub fn rows(&self) -> impl Iterator<Item = &R> {
        (0..self.heads.len()).flat_map(|bucket| self.chain(bucket)).map(|stored| &stored.row)
    }

    /// Number and key sum of these rows.
    pub fn content(&self) -> Content {
        let mut content = Content::default();
        self.rows().for_each(|row| content.add(row.key()));
        content
    }

    /// Touches memory for rows that a session will add. It is not lost: the first rows after the next
    /// [`Table::put_back`] use it.
    pub fn touch(&self, session: usize, rows: u64, blank: impl Fn() -> R) {
        for _ in 0..rows {
            self.append(RowOrigin::Added, session, blank(), NONE);
        }
    }

    /// Removes all added rows, and gives the content that the index had of them. Added rows are at the front of
    /// every chain, since they came last.
    pub fn put_back(&mut self) -> Content {
        let mut content = Content::default();
        for bucket in 0..self.heads.len() {
            let mut address = self.heads[bucket].load(Ordering::Acquire);
            while is_added(address) {
                let Some(stored) = self.at(address) else { break };
                content.add(stored.row.key());
                address = stored.next.load(Ordering::Relaxed);
            }
            self.heads[bucket].store(address, Ordering::Release);
        }
        for heap in &mut self.heaps {
            heap.0.added.clear();
        }
        content
    }
}

fn is_added(address: u64) -> bool {
    address != NONE && (address - 1) & 1 == 1
}

/// Spreads keys over buckets: the finaliser of MurmurHash3 (A. Appleby, public domain), in which every bit of
/// the key changes each bit of the result with a probability near one half. So chains are as long as those of
/// random keys.
#[inline]
fn hash(key: i64) -> u64 {
    let mut bits = key as u64;
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

#[cfg(test)]
mod tests;
