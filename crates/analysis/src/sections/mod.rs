//! Sections that studies of every kind have, one file each: a function of the [`Facts`](crate::Facts).

pub mod activity;
pub mod arms;
pub mod by_state;
pub mod cells;
pub mod changed_with;
pub mod choices;
pub mod core_time;
pub mod drift;
pub mod external_arms;
pub mod failures;
pub mod halves;
pub mod hardware;
pub mod latency;
pub mod logical_cpus;
pub mod long_windows;
pub mod looks;
pub mod lost_cpu;
pub mod machine;
pub mod method;
pub mod order;
pub mod quota;
pub mod ratios;
pub mod readings;
pub mod scaling_law;
pub mod time;
pub mod usage;
