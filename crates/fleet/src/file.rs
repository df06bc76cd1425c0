//! fleet.toml: which study, on which machines, how often, by which engine. A strict reader: an unknown key is an error
//! with line and column, and so is any text that could be more than a name in a script (docs/FLEETS.md).

mod check;
mod raw;
mod types;

use crate::FleetError;
pub use types::{
    Boots, EngineOptions, FILE_VERSION, FleetFile, FleetKind, MOST_MACHINES, MOST_REPEATS, Machines,
    Measures, PlannedPrice, RunSettings,
};

impl FleetFile {
    /// Reads and checks the text of a fleet.toml. Errors show `source_name`; `engines` are the known names.
    ///
    /// # Errors
    /// [`FleetError::At`]: the first error, and what is allowed.
    pub fn parse(text: &str, source_name: &str, engines: &[&str]) -> Result<Self, FleetError> {
        let source = raw::Source { name: source_name.to_owned(), text: text.to_owned() };
        check::checked(raw::read(&source)?, &source, engines)
    }
}

#[cfg(test)]
mod tests;
