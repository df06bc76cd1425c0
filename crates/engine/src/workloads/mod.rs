//! What sessions do: one module per workload, shared by the engines that have it.

pub mod burn;
pub mod insert;
pub mod logical_io;
pub mod options;
pub mod parallel_scan;
pub mod rate;
pub mod tpch;
pub mod transaction;
