//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A failure here is a failed test with its place.

mod few_studies;
mod lab_simulations;
mod neighbours;
mod observed;
