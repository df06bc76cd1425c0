//! The tests of this crate from outside, in one program.

mod lab_servers;
mod support;
