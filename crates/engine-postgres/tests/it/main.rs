//! The tests of this crate from outside, in one program.

mod certificates;
mod cluster;
mod connect;
mod faults;
mod parallel;
mod placing;
mod support;
mod tpch;
mod transaction;
mod workload;
