//! The tests of this crate from outside, in one program.

mod fixtures;
mod placement;
mod placement_parts;
mod placement_properties;
mod placement_support;
mod service;
mod topology;
mod topology_capture;
mod topology_damage;
mod topology_recorded;
mod topology_reported;
