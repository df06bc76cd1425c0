//! The tests of this crate from outside, in one program.

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
