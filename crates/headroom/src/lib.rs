//! How much of a machine's capacity is used, and how much is left, from busy times of logical CPUs, the topology and
//! the SMT yield: shares with their bounds. Pure: no clock, no system.
//!
//! With y the SMT yield, S the busy time of a core's logical CPUs added up and U the time in which at least one of them
//! was busy, a core did (y - 1) S + (2 - y) U of work, in seconds of one busy logical CPU that has its core to itself.
//! Busy times do not show when a logical CPU was busy, so U has bounds; task switches give it exactly.
//! docs/HEADROOM.md has the derivation, the assumptions, and an example.

pub mod core_time;
pub mod exposition;
pub mod layout;
pub mod rows;
pub mod screen;
pub mod smt_yield;
pub mod switches;
pub mod table;

pub use core_time::{CoreTime, CpuTime, cpu_times, of_window};
pub use layout::{CoreCpus, Layout, Scope};
pub use rows::{Bounds, Row, rows};
pub use smt_yield::{SmtYield, YieldError};
