//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Helpers of tests, not a library.

mod frozen;
mod report;
mod support;
