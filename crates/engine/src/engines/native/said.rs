//! What sessions said that they inserted, until the worker asks.

use std::sync::{Mutex, PoisonError};

use super::pad::Padded;
use super::table::Content;

/// A place for each session.
pub struct Said(Box<[Padded<Mutex<Content>>]>);

impl Said {
    /// For so many sessions, none of which has said anything.
    pub fn new(sessions: usize) -> Self {
        Self((0..sessions).map(|_| Padded::default()).collect())
    }

    /// A session says what it has inserted since it last said so; at the end of its slice.
    pub fn add(&self, session: usize, content: Content) {
        let mut said = self.0[session].0.lock().unwrap_or_else(PoisonError::into_inner);
        *said = said.plus(content);
    }

    /// What all sessions said since this was last asked.
    pub fn take(&self) -> Content {
        let taken = self
            .0
            .iter()
            .map(|said| std::mem::take(&mut *said.0.lock().unwrap_or_else(PoisonError::into_inner)));
        taken.fold(Content::default(), Content::plus)
    }
}
