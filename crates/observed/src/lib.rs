//! Statements in production: what a server's statistics say at a moment, and what was executed between two of them.
//! Pure data: no clock, no server, no file.
//!
//! A server counts calls and execution time of each statement since some moment. A [`Snapshot`] is a copy of these
//! counters; [`difference`] of two of them is an [`Interval`], or a [`Gap`] with its reason where the counters of both
//! do not belong together. docs/OBSERVE.md describes the file that holds intervals.

mod difference;
pub mod exposition;
mod interval;
mod neighbours;
mod snapshot;
#[cfg(test)]
mod tests;

pub use difference::{Look, difference};
pub use interval::{Count, Gap, Host, Interval, Lost, States};
pub use neighbours::{Neighbours, Tally, Unseen};
pub use snapshot::{Snapshot, StatementCount, StatementText};
