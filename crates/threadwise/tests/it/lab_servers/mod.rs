//! The laboratory: `cargo xtask lab servers`.

pub mod command_tools;
pub mod connections;
pub mod firebird;
pub mod reload_input;
pub mod servers;
pub mod worklist;
