//! Errors of the Slurm engine.

use crate::FleetError;

/// Name of the engine, in fleet.toml and in errors.
pub(super) const NAME: &str = "slurm";

/// An error of this engine.
pub(super) fn refused(why: impl Into<String>) -> FleetError {
    FleetError::Engine { engine: NAME, why: why.into() }
}
