//! The laboratory: `cargo xtask lab engines`.

pub mod engine_command;
pub mod tpch;
