//! Sections that studies of every kind have, one file each: a function of the [`Facts`](crate::Facts).

pub mod activity;
pub mod by_state;
pub mod cells;
pub mod failures;
pub mod hardware;
pub mod looks;
pub mod machine;
pub mod method;
pub mod ratios;
pub mod readings;
pub mod time;
pub mod usage;
