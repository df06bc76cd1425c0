//! The result file: one SQLite file that holds a study, its machine and all results; and the file of observed
//! statements ([`ObservedStore`]), which is another kind with its tables.
//!
//! A writer appends one durable transaction per run, so that whatever was stored survives a kill at any
//! moment. A reader trusts nothing in a file, because result files are mailed
//! and attached to tickets. The tables are described in docs/STORE.md.

// The hand-made studies of tests/ name the crate as any other user does.
#[cfg(test)]
extern crate self as threadwise_store;

mod blocks;
mod changes;
mod connection;
mod error;
mod file;
mod header;
mod json;
mod observed;
mod queries;
mod records;
mod runs;
mod store;
mod studies;
#[cfg(test)]
mod tests;
mod value;

pub use changes::Expectation;
pub use error::{Problem, StoreError, VERSION};
pub use observed::{About, ObservedStore};
pub use records::StoredProbe;
pub use store::Store;
pub use studies::{EndState, Versions};
