//! What Ansible's engine says of a plan that it cannot express.

use crate::FleetError;

/// Its name, in fleet.toml and in errors.
pub(super) const NAME: &str = "ansible";

/// An error of this engine: what cannot be, and what to do.
pub(super) fn refused(why: impl Into<String>) -> FleetError {
    FleetError::Engine { engine: NAME, why: why.into() }
}
