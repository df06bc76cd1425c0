//! The doctor on folders of our own making and on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A failure here is a failed test with its place.

mod damage;
mod limits;
mod measured;
mod settings;
mod support;
mod system;
