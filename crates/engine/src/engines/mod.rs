//! The light engines, and their registry: a new engine is a module named in [`all`].

pub mod command;
pub mod native;
pub mod simulated;
pub mod sqlite;

use crate::{Engine, EngineError};

/// The built-in engines, in the order in which `threadwise list` shows them.
pub fn all() -> &'static [&'static dyn Engine] {
    &[&sqlite::Sqlite, &native::Native, &command::Command, &simulated::Simulated]
}

/// The built-in engine of this name.
///
/// # Errors
/// No engine has this name; the error lists the engines.
pub fn find(name: &str) -> Result<&'static dyn Engine, EngineError> {
    find_in(all(), name)
}

/// The engine of this name among the given ones.
///
/// # Errors
/// No engine has this name; the error lists the engines.
pub fn find_in(engines: &[&'static dyn Engine], name: &str) -> Result<&'static dyn Engine, EngineError> {
    engines.iter().copied().find(|engine| engine.name() == name).ok_or_else(|| {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        let why = format!("no engine is called '{name}'; there are: {}", names.join(", "));
        EngineError::Option { option: "engine".into(), why }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_found_by_their_own_names() {
        for engine in all() {
            assert_eq!(find(engine.name()).map(|found| found.name()), Ok(engine.name()));
            assert!(!engine.about().contains('\n') && !engine.workloads().is_empty());
        }
        let message = find("oracle").map(|engine| engine.name()).unwrap_err().to_string();
        assert!(message.contains("sqlite, native, command, simulated"), "{message}");
    }
}
