//! TPC-H: the 22 queries in four dialects, their parameters, the data sets and where they are kept,
//! and whether an answer is right.
//!
//! Source: *TPC Benchmark H, Standard Specification*, revision 3.0.1; clause numbers in this crate
//! are its. Nothing here runs an engine: a worker does, and the runner asks this crate what to run on
//! what data, and whether what came back is right.
