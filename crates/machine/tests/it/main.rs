//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A failure here is a failed test with its place.

mod fixtures;
mod lab_machines;
mod locality;
mod placement;
mod placement_parts;
mod placement_properties;
mod placement_support;
mod service;
mod topology;
mod topology_capture;
mod topology_damage;
mod topology_reported;
