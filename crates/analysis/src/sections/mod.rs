//! Sections of studies of every kind, one file each: a function of the [`Facts`](crate::Facts).

pub mod activity;
pub mod cells;
pub mod choices;
pub mod core_time;
pub mod failures;
pub mod hardware;
pub mod latency;
pub mod logical_cpus;
pub mod looks;
pub mod lost_cpu;
pub mod machine;
pub mod memory_nodes;
pub mod method;
pub mod neighbours;
pub mod ratios;
pub mod readings;
pub mod scaling_law;
pub mod server_locks;
pub mod time;
pub mod usage;
