//! Engines that run on their own Python packages.
//!
//! Engines that are each other's referees are in one private virtual environment under the user's data
//! folder, together with the generator of their data; one with large packages has a separate environment.
//! Versions and hashes of all packages are pinned (`requirements*.txt`). A user's own environment
//! can replace each. The worker programs that drive the engines are part of this crate and are written beside it.
//!
//! | folder or file below the data folder | what it is |
//! |---|---|
//! | `engines/NAME/` | an environment (`environment.rs`) |
//! | `engines/NAME.lock` | held while it is made or removed (`lock.rs`) |
//! | `workers-HASH/` | the worker programs with these contents (`scripts.rs`) |
//! | `workers.lock` | held while they are checked and written |
//!
//! Nothing else is written. Sources: the XDG base directory specification for the data folder; PEP
//! 405 (virtual environments); pip's documentation of `--require-hashes`.

pub mod add;
pub mod engine;
pub mod environment;
pub mod error;
pub mod find;
pub mod folder;
mod lock;
mod pip;
mod private;
pub mod programs;
mod python;
pub mod requirements;
mod run;
pub mod scripts;

#[cfg(test)]
mod fake;

pub use add::{Add, Added};
pub use engine::{AnalyticsEngine, REFEREE, engine, environments, known};
pub use environment::{Complete, EnvironmentState};
pub use error::AnalyticsError;
pub use find::EngineInstallation;
pub use folder::Engines;
