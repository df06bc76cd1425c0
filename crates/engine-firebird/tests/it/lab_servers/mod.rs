//! The laboratory: `cargo xtask lab servers`.

pub mod faults;
pub mod transaction;
pub mod workload;
