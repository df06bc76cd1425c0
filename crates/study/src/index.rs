//! The workload `index`: names of its options, and sizes.

use crate::{OptionValue, Options};

/// Name of the workload.
pub const WORKLOAD: &str = "index";
/// Option that says what sessions do.
pub const OPERATION: &str = "operation";
/// They look keys up.
pub const SEARCH: &str = "search";
/// They insert keys.
pub const INSERT: &str = "insert";
/// Option that gives the rows which an index has before.
pub const ROWS: &str = "rows";
/// Rows where nobody gives them, and nobody knows the caches.
pub const USUAL_ROWS: u64 = 1 << 20;
/// Bytes of a row that a lookup touches: a cache line, which is key and value.
pub const TOUCHED_BYTES: u64 = 64;
/// Bytes of a row in memory with its part of the nodes around it, where there is a lock. A worker with 2^20 rows in std's
/// tree had 136 MiB on a virtual machine of 2026.
pub const ROW_BYTES: u64 = 128;
/// The same of the tree without a lock, of which a worker had 232 MiB.
pub const MOST_ROW_BYTES: u64 = 240;

/// Whether sessions insert.
pub fn inserts(options: &Options) -> bool {
    matches!(options.get(OPERATION), Some(OptionValue::Text(word)) if word == INSERT)
}
