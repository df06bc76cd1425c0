//! The tests of this crate from outside, in one program.

mod faults;
mod support;
mod transaction;
mod workload;
