//! Properties of an engine that planning, measuring and reporting depend on: pure data.
//!
//! A built-in engine returns them from `Engine::properties` of the crate `engine`, a worker program in its `hello`
//! (docs/WORKER.md). They are stored with the study.

use crate::{OptionValue, Options};
use serde::{Deserialize, Serialize};

/// Maximum bytes of a block.
const MAX_BLOCK_BYTES: u64 = 16 << 20;

/// Upper limit of estimated sizes: a pebibyte.
const MAX_ESTIMATE_BYTES: u64 = 1 << 50;

/// Maximum length of a dialect's name, characters.
const MAX_DIALECT_CHARS: usize = 100;

/// Engine option: address of the user's server.
pub const URL: &str = "url";

/// Engine option: [`AFFINITY_SET`] binds the whole server to the placement of each treatment during its runs.
pub const AFFINITY: &str = "affinity";

/// The server is bound to each treatment's logical CPUs, and restored at the end.
pub const AFFINITY_SET: &str = "set";

/// Whether these options bind the whole server.
pub fn binds_server(options: &Options) -> bool {
    options.get(AFFINITY).and_then(OptionValue::text) == Some(AFFINITY_SET)
}

/// The server is not bound.
pub const AFFINITY_KEEP: &str = "keep";

/// Properties of an engine. The default is assumed of an engine that reports none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Properties {
    /// Whether its results come from a model, not from a machine.
    pub simulated: bool,
    /// Bytes of its page. Data levels are multiples of it.
    pub block_bytes: u64,
    /// Whether it has service threads (log writer, checkpointer, …) that a study can place.
    pub service_threads: bool,
    /// SQL dialect of its queries, as named in the crate `tpch`; `None` without queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Whether it reads a data set's files in place, unless the workload option `storage` says otherwise. Others load
    /// the data set into tables.
    pub reads_files: bool,
    /// Whether the workload option `hold_plan` keeps its plans the same from treatment to treatment.
    pub holds_plans: bool,
    /// Bytes on disk of a row of the workload `insert` with its index; 0 where rows are in memory.
    pub row_bytes: u64,
    /// Bytes of memory of a row of `insert`, added ones included, where rows are in memory and not on disk.
    pub row_memory_bytes: u64,
    /// Bytes on disk of a loaded TPC-H data set of scale factor 1, indexes included; 0 where it loads none, or the
    /// size is unknown.
    pub tpch_bytes: u64,
}

impl Default for Properties {
    fn default() -> Self {
        Self {
            simulated: false,
            block_bytes: 4096,
            service_threads: true,
            dialect: None,
            reads_files: false,
            holds_plans: false,
            // Same as SQLite's file.
            row_bytes: 165,
            row_memory_bytes: 0,
            tpch_bytes: 0,
        }
    }
}

impl Properties {
    /// The error in properties that a worker program reports, if any.
    pub fn fault(&self) -> Option<String> {
        let sizes = [
            ("block_bytes", self.block_bytes, 1, MAX_BLOCK_BYTES),
            ("row_bytes", self.row_bytes, 0, MAX_ESTIMATE_BYTES),
            ("row_memory_bytes", self.row_memory_bytes, 0, MAX_ESTIMATE_BYTES),
            ("tpch_bytes", self.tpch_bytes, 0, MAX_ESTIMATE_BYTES),
        ];
        let within = |(name, bytes, least, most): (&str, u64, u64, u64)| {
            (!(least..=most).contains(&bytes))
                .then(|| format!("{name} is {bytes}, and {least} to {most} is allowed"))
        };
        let is_word = |name: &String| {
            name.chars().count() <= MAX_DIALECT_CHARS
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        let form = format!("a word of at most {MAX_DIALECT_CHARS} letters, digits, '-' and '_'");
        let is_strange = self.dialect.as_ref().is_some_and(|name| !is_word(name));
        let dialect = || is_strange.then(|| format!("dialect is not {form}"));
        sizes.into_iter().find_map(within).or_else(dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_and_names_are_told() {
        let usual = Properties::default();
        assert_eq!(usual.fault(), None);
        let fault = |one: Properties| one.fault().unwrap();
        assert!(fault(Properties { block_bytes: 0, ..usual.clone() }).starts_with("block_bytes is 0"));
        assert!(fault(Properties { block_bytes: 1 << 40, ..usual.clone() }).contains("block_bytes"));
        assert!(fault(Properties { row_bytes: u64::MAX, ..usual.clone() }).contains("row_bytes"));
        assert!(
            fault(Properties { row_memory_bytes: u64::MAX, ..usual.clone() }).contains("row_memory_bytes")
        );
        assert!(fault(Properties { tpch_bytes: u64::MAX, ..usual.clone() }).contains("tpch_bytes"));
        for name in ["two words", "a\nb", "ü", &"x".repeat(101)] {
            let strange = Properties { dialect: Some(name.to_owned()), ..usual.clone() };
            assert!(fault(strange).contains("dialect"), "{name}");
        }
        assert_eq!(Properties { dialect: Some("my-sql_2".into()), ..usual }.fault(), None);
    }
}
