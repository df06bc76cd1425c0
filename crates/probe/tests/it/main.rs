//! The tests of this crate from outside, in one program.

mod clock;
mod co_runners;
mod latency;
mod live;
mod look;
mod model;
mod siblings;
