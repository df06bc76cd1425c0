//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A failure here is a failed test with its place.

mod common;
mod faults;
mod flood;
mod leftovers;
mod limit;
mod long_windows;
mod looks;
mod memory;
mod options;
mod study;
mod telemetry;
mod warmup;
