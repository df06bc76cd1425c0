//! Fleets: the same study on many machines, placed by an engine that people already have.
//!
//! `file` reads a fleet.toml; `plan` draws from it which machine measures when, and is what everything else is a
//! function of; `cell` is one study on one machine, with what is said of it; `engine` is the trait of what places cells
//! (Slurm and others, in `engines`): a pure function from a plan to files and commands. `folder` is a fleet's folder on
//! the disk, and `drive` submits what is missing. Nothing here measures.

pub mod cell;
pub mod command;
pub mod drive;
pub mod durable;
pub mod engine;
pub mod engines;
mod error;
pub mod evidence;
pub mod file;
pub mod folder;
pub mod journal;
pub mod names;
pub mod paths;
pub mod plan;
pub mod quote;
pub mod standing;
pub mod state;
pub mod work_folder;

pub use error::FleetError;
