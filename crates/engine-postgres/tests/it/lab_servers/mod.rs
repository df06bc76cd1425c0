//! The laboratory: `cargo xtask lab servers`.

pub mod burn;
pub mod certificates;
pub mod cluster;
pub mod connect;
pub mod faults;
pub mod numa;
pub mod parallel;
pub mod placing;
pub mod tpch;
pub mod transaction;
pub mod workload;
