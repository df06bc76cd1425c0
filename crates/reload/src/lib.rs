//! Backup, restore, check and swap of many database files by several jobs at once, without losing a file or
//! a committed row: if killed at any moment, with writers active all the time.
//!
//! `driver` defines what an engine must provide; `sqlite` and `firebird` implement it. Everything else
//! is independent of the engine.

pub mod apart;
pub mod dir;
pub mod driver;
pub mod error;
mod escape;
pub mod firebird;
mod folder;
pub mod generate;
mod holder;
pub mod holders;
pub mod identity;
pub mod item;
pub mod list;
mod log;
mod metadata;
mod options;
pub mod recover;
mod refuse;
mod report;
pub mod run;
mod runs_as;
pub mod search;
pub mod sqlite;
mod state;
mod swap;
pub mod watch;

pub use state::Originals;

/// The driver of an engine by its name.
pub fn driver(engine: &str, settings: &driver::Settings) -> Option<Box<dyn driver::Driver>> {
    match engine {
        sqlite::NAME => Some(sqlite::driver(settings)),
        firebird::NAME => Some(firebird::driver(settings)),
        _ => None,
    }
}
