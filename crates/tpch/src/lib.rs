//! TPC-H: the 22 queries in the dialects of the engines, their parameters, the data sets and their folders,
//! and checking answers.
//!
//! Source: *TPC Benchmark H, Standard Specification*, revision 3.0.1; clause numbers in this crate
//! refer to it. Nothing here runs an engine: a worker does, and the runner asks this crate for the queries and
//! the data, and whether the answers are right.

pub mod answers;
pub mod dataset;
pub mod options;
pub mod parameters;
pub mod queries;
mod query;
mod sealed;

pub use answers::{Answer, Mismatch, Reference, compare};
pub use dataset::{Cluster, Dataset, DatasetError, Key};
pub use options::{OptionFault, TpchOptions};
pub use parameters::{Date, Parameters, Value};
pub use queries::{Dialect, QueryError, sql};
