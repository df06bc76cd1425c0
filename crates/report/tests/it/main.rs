//! The tests of this crate from outside, in one program.

mod frozen;
mod report;
mod support;
