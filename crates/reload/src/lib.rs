//! Backup, restore, check and swap of many database files by several jobs at once, so that no file and
//! no committed row is ever lost: killed at any moment, with writers trying all the while.
//!
//! `chain` says what an engine has to be able to do; `sqlite` and `firebird` do it. Everything else
//! knows no engine.

pub mod apart;
pub mod chain;
mod dir;
pub mod error;
mod escape;
pub mod firebird;
mod folder;
pub mod generate;
mod ground;
pub mod holders;
pub mod identity;
pub mod item;
pub mod list;
mod log;
mod metadata;
pub mod recover;
mod refuse;
pub mod run;
pub mod search;
pub mod sqlite;
mod state;
mod swap;
pub mod watch;

pub use state::Originals;

/// The chain of an engine by its name.
pub fn chain(engine: &str, settings: &chain::Settings) -> Option<Box<dyn chain::Chain>> {
    match engine {
        sqlite::NAME => Some(sqlite::chain(settings)),
        firebird::NAME => Some(firebird::chain(settings)),
        _ => None,
    }
}
