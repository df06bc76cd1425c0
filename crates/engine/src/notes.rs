//! Notes of engines that mean something to a report.

use std::fmt::Display;
use threadwise_study::{Note, NoteCode};

/// That a server is not on the placement, and why.
pub fn not_pinned(why: impl Display) -> Note {
    Note::new(NoteCode::NotPlaced, format!("server not pinned: {why}"))
}

/// That a server's memory was placed before the treatment, and why.
pub fn memory_placed_earlier(why: impl Display) -> Note {
    Note::new(NoteCode::MemoryPlacedEarlier, format!("memory placed earlier: {why}"))
}
