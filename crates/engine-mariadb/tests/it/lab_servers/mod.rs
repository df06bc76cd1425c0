//! The laboratory: `cargo xtask lab servers`.

pub mod burn;
pub mod external;
pub mod faults;
pub mod placing;
pub mod today;
pub mod transaction;
pub mod workload;
