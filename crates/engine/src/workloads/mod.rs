//! Workload definitions that engines share: options, key generators, expected answers. An engine
//! decides how the work is done; the workload decides what is done and what the answer must be.

pub mod logical_io;
