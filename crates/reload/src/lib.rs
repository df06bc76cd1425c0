//! Backup, restore, check and swap of many database files by several jobs at once, so that no file and
//! no committed row is ever lost: killed at any moment, with writers trying all the while.
//!
//! `driver` says what an engine has to be able to do; `sqlite` and `firebird` do it. Everything else
//! knows no engine.

pub mod apart;
pub mod dir;
pub mod driver;
pub mod error;
mod escape;
pub mod firebird;
mod folder;
pub mod generate;
mod ground;
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
pub mod search;
pub mod sqlite;
mod start;
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
