//! The tests of this crate from outside, in one program.

mod external;
mod faults;
mod placing;
mod support;
mod today;
mod transaction;
mod workload;
