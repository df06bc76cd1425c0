//! Reloading SQLite databases by the crate's own functions: one binary, one module per concern.

// Tests may unwrap: a failure here is a failed test with its place.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod after;
mod bench;
mod dry;
mod refusals;
mod room;
mod runs;
mod stale;
mod steps;
mod whole;
