//! The index structure, and the lock around it.
//!
//! Without a lock the tree is `scc::TreeIndex`, a B+ tree whose lookups take no lock and whose inserts take one only
//! while a node is split; the hash index is the engine's own (`table`), which changes heads by compare-and-swap. With a
//! lock the tree is std's `BTreeMap`; the hash index stays the same, so that the lock is the only difference.
//!
//! The lock is held for each lookup and each insert alone. Inside it, std's tree is in a mutex that is free if the lock
//! is right: it costs two atomic operations on a line that the holder has, and turns a lock that admits two sessions
//! into an error instead of a wrong tree.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use scc::TreeIndex;

use super::super::error::failed;
use super::super::locks::{Lock, LockKind, Waits};
use super::super::table::{self, Content, Keyed, RowOrigin, Table, Walked};
use super::keys::{Value, in_order, value_of};
use super::spec::{Form, IndexSpec};
use crate::EngineError;

/// A row of the hash index: a cache line.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    key: i64,
    value: Value,
}

impl Keyed for Entry {
    #[inline]
    fn key(&self) -> i64 {
        self.key
    }
}

/// Cost of a session's operations so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Of the lock.
    pub waits: Waits,
    /// Of the hash index.
    pub walked: Walked,
}

/// The index of one treatment.
pub enum Structure {
    /// A tree without a lock.
    Tree(TreeIndex<i64, Value>),
    /// A tree behind a lock.
    LockedTree(Lock, Mutex<BTreeMap<i64, Value>>),
    /// A hash index, with or without a lock; read-locked during a slice, exclusive between slices.
    Hash(Lock, RwLock<Table<Entry>>),
}

impl Structure {
    /// An index with all its rows. Its memory is touched here, and so lies on the calling thread's node.
    ///
    /// # Errors
    /// A key could not be inserted.
    pub fn new(spec: &IndexSpec, sessions: usize) -> Result<Self, EngineError> {
        let lock = || Lock::new(spec.lock, sessions);
        let made = match (spec.form, spec.lock) {
            (Form::Hash, _) => {
                let buckets = spec.rows.next_power_of_two() as usize;
                Self::Hash(lock(), RwLock::new(Table::new(table::Index::LockFree, buckets, sessions)))
            }
            (Form::BTree, LockKind::LockFree) => Self::Tree(TreeIndex::new()),
            (Form::BTree, _) => Self::LockedTree(lock(), Mutex::new(BTreeMap::new())),
        };
        let open = made.open();
        for key in in_order(spec.rows) {
            let is_new = open.insert(RowOrigin::Seed, 0, (key, &value_of(key)), &mut Costs::default())?;
            if !is_new {
                return Err(EngineError::WrongAnswer(format!("the key {key} is in the new index already")));
            }
        }
        drop(open);
        Ok(made)
    }

    /// Whether there is a lock around each operation.
    pub fn has_lock(&self) -> bool {
        match self {
            Self::Tree(_) => false,
            Self::LockedTree(lock, _) | Self::Hash(lock, _) => !matches!(lock, Lock::None),
        }
    }

    /// The index for the operations of a slice.
    pub fn open(&self) -> Open<'_> {
        match self {
            Self::Tree(tree) => Open::Tree(tree),
            Self::LockedTree(lock, tree) => Open::LockedTree(lock, tree),
            Self::Hash(lock, table) => Open::Hash(lock, table.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Removes added rows from a hash index, and gives their content; `None` for trees, from which sessions remove
    /// their keys themselves. Call it while all sessions are parked.
    pub fn put_back(&self) -> Option<Content> {
        let Self::Hash(_, table) = self else { return None };
        Some(table.write().unwrap_or_else(PoisonError::into_inner).put_back())
    }

    /// The content of the index. Call it while all sessions are parked.
    ///
    /// # Errors
    /// A key has another key's value.
    pub fn content(&self) -> Result<Content, EngineError> {
        let mut content = Content::default();
        let mut wrong = None;
        let mut count = |key: i64, value: &Value| {
            content.add(key);
            if *value != value_of(key) {
                wrong = Some(key);
            }
        };
        match self.open() {
            Open::Tree(tree) => {
                tree.iter(&scc::Guard::new()).for_each(|(key, value)| count(*key, value));
            }
            Open::LockedTree(_, tree) => {
                let tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
                tree.iter().for_each(|(key, value)| count(*key, value));
            }
            Open::Hash(_, table) => table.rows().for_each(|row| count(row.key, &row.value)),
        }
        wrong.map_or(Ok(content), |key| Err(wrong_value(key)))
    }
}

/// A key was found with another key's value.
pub fn wrong_value(key: i64) -> EngineError {
    EngineError::WrongAnswer(format!("the key {key} has the value of another key"))
}

/// An index during a slice.
pub enum Open<'a> {
    /// See [`Structure::Tree`].
    Tree(&'a TreeIndex<i64, Value>),
    /// See [`Structure::LockedTree`].
    LockedTree(&'a Lock, &'a Mutex<BTreeMap<i64, Value>>),
    /// See [`Structure::Hash`].
    Hash(&'a Lock, RwLockReadGuard<'a, Table<Entry>>),
}

impl Open<'_> {
    /// Looks up a key: whether it has the given value; `None` if it is not stored.
    ///
    /// # Errors
    /// The lock let two sessions in.
    #[inline]
    pub fn find(
        &self,
        session: usize,
        (key, value): (i64, &Value),
        costs: &mut Costs,
    ) -> Result<Option<bool>, EngineError> {
        match self {
            Self::Tree(tree) => Ok(tree.peek_with(&key, |_, found| found == value)),
            Self::LockedTree(lock, tree) => {
                lock.acquire(session, &mut costs.waits);
                let found = inside(tree).map(|tree| tree.get(&key).map(|found| found == value));
                lock.release(session, &mut costs.waits);
                found
            }
            Self::Hash(lock, table) => {
                lock.acquire(session, &mut costs.waits);
                let found = table.find(key, &mut costs.walked).map(|row| row.value == *value);
                lock.release(session, &mut costs.waits);
                Ok(found)
            }
        }
    }

    /// Inserts a key. Gives `false`, and changes nothing, if the key is stored already.
    ///
    /// # Errors
    /// The lock let two sessions in.
    #[inline]
    pub fn insert(
        &self,
        part: RowOrigin,
        session: usize,
        (key, value): (i64, &Value),
        costs: &mut Costs,
    ) -> Result<bool, EngineError> {
        match self {
            Self::Tree(tree) => Ok(tree.insert_sync(key, *value).is_ok()),
            Self::LockedTree(lock, tree) => {
                lock.acquire(session, &mut costs.waits);
                let is_new = inside(tree).map(|mut tree| match tree.entry(key) {
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(*value);
                        true
                    }
                    std::collections::btree_map::Entry::Occupied(_) => false,
                });
                lock.release(session, &mut costs.waits);
                is_new
            }
            Self::Hash(lock, table) => {
                lock.acquire(session, &mut costs.waits);
                let entry = Entry { key, value: *value };
                let is_new = table.insert(part, session, entry, &mut costs.walked);
                lock.release(session, &mut costs.waits);
                Ok(is_new)
            }
        }
    }

    /// Removes a key from a tree: whether it was there with the given value. Not for a hash index
    /// ([`Structure::put_back`]).
    ///
    /// # Errors
    /// The lock let two sessions in.
    pub fn remove(
        &self,
        session: usize,
        (key, value): (i64, &Value),
        costs: &mut Costs,
    ) -> Result<bool, EngineError> {
        match self {
            Self::Tree(tree) => Ok(tree.remove_if_sync(&key, |found| found == value)),
            Self::LockedTree(lock, tree) => {
                lock.acquire(session, &mut costs.waits);
                let was = inside(tree).map(|mut tree| tree.remove(&key));
                lock.release(session, &mut costs.waits);
                Ok(was?.is_some_and(|found| found == *value))
            }
            Self::Hash(..) => Err(failed("remove a key", "a hash index is reset as a whole")),
        }
    }

    /// Memory for rows that a session will add to a hash index; see [`Table::touch`].
    pub fn touch(&self, session: usize, rows: u64) {
        if let Self::Hash(_, table) = self {
            table.touch(session, rows, || Entry { key: 0, value: [0; 7] });
        }
    }
}

/// The tree behind a lock that the calling session holds.
#[inline]
fn inside(tree: &Mutex<BTreeMap<i64, Value>>) -> Result<MutexGuard<'_, BTreeMap<i64, Value>>, EngineError> {
    tree.try_lock().or_else(|error| match error {
        TryLockError::Poisoned(held) => Ok(held.into_inner()),
        TryLockError::WouldBlock => Err(failed("lock its tree", "the lock let two sessions in at once")),
    })
}
