//! Fleets: the same study on many machines, placed by an engine that users already have.
//!
//! `file` reads a fleet.toml; `plan` draws from it which machine measures when, and determines everything else; `cell`
//! is one study on one machine, with its record; `engine` is the trait of what places cells (Slurm and others, in
//! `engines`): a pure function from a plan to files and commands. `folder` is a fleet's folder on the disk, and `drive`
//! submits missing cells. Nothing here measures.

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
