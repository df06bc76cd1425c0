//! The workload `index`: option names and sizes.

use crate::{OptionValue, Options};

/// Option: what sessions do.
pub const OPERATION: &str = "operation";
/// Sessions look up keys.
pub const SEARCH: &str = "search";
/// Sessions insert keys.
pub const INSERT: &str = "insert";
/// Option: initial rows of an index.
pub const ROWS: &str = "rows";
/// Default rows where the cache sizes are unknown.
pub const USUAL_ROWS: u64 = 1 << 20;
/// Bytes of a row that a lookup touches: a cache line, which holds key and value.
pub const TOUCHED_BYTES: u64 = 64;
/// Bytes of a row in memory with its share of nodes, in trees with a lock. A worker with 2^20 rows in std's tree used
/// 136 MiB on a virtual machine in 2026.
pub const ROW_BYTES: u64 = 128;
/// The same for the tree without a lock, with which a worker used 232 MiB.
pub const MOST_ROW_BYTES: u64 = 240;

/// Whether sessions insert.
pub fn inserts(options: &Options) -> bool {
    options.get(OPERATION).and_then(OptionValue::text) == Some(INSERT)
}
