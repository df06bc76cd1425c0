//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A failure here is a failed test with its place.

mod arms;
mod bad_files;
mod command;
mod compare;
mod dop;
mod external;
mod index;
mod instances;
mod jobs;
mod lab_machines;
mod lab_simulations;
mod levels;
mod long_windows;
mod looks;
mod looks_missing;
mod memory;
mod odd_looks;
mod order;
mod overrides;
mod parsers;
mod plan;
mod published;
mod quota;
mod resolve;
mod rows;
mod schema;
mod support;
mod sweep;
mod text;
