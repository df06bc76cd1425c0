//! The laboratory: `cargo xtask lab servers`.

pub mod firebird;
