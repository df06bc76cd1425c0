//! The tests of this crate from outside, in one program.

mod command;
mod command_parsers;
mod native;
mod worker;
mod worker_page;
