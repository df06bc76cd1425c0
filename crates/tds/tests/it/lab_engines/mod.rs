//! The laboratory: `cargo xtask lab engines`.

pub mod python;
