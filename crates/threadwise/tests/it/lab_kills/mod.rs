//! The laboratory: `cargo xtask lab kills`.

pub mod fleet_cell;
pub mod killed;
pub mod reload_root;
