//! Errors of the Kubernetes engine.

use crate::FleetError;

/// Its name, in fleet.toml and in errors.
pub(super) const NAME: &str = "kubernetes";

/// An error of this engine: what is not supported, and what to do.
pub(super) fn refused(why: impl Into<String>) -> FleetError {
    FleetError::Engine { engine: NAME, why: why.into() }
}
