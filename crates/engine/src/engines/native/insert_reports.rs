//! What sessions report as inserted, until the worker takes it.

use std::sync::{Mutex, PoisonError};

use super::pad::Padded;
use super::table::Content;

/// The reports, one place for each session.
pub struct InsertReports(Box<[Padded<Mutex<Content>>]>);

impl InsertReports {
    /// No reports, for this many sessions.
    pub fn new(sessions: usize) -> Self {
        Self((0..sessions).map(|_| Padded::default()).collect())
    }

    /// Adds what a session has inserted since its last report; at the end of its slice.
    pub fn add(&self, session: usize, content: Content) {
        let mut reported = self.0[session].0.lock().unwrap_or_else(PoisonError::into_inner);
        *reported = reported.plus(content);
    }

    /// Takes what all sessions have reported since the last call.
    pub fn take(&self) -> Content {
        let taken = self
            .0
            .iter()
            .map(|reported| std::mem::take(&mut *reported.0.lock().unwrap_or_else(PoisonError::into_inner)));
        taken.fold(Content::default(), Content::plus)
    }
}
