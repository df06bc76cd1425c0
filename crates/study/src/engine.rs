//! What an engine says of itself, as far as others plan, measure and report by it: pure data.
//!
//! An engine of this program gives it by `Engine::properties` of the crate `engine`, a worker program in
//! another language by its `hello` (docs/WORKER.md). It is stored with the study.

use crate::{OptionValue, Options};
use serde::{Deserialize, Serialize};

/// Most bytes of a block.
const MAX_BLOCK_BYTES: u64 = 16 << 20;

/// Most bytes of anything that is only estimated: a pebibyte.
const MAX_ESTIMATE_BYTES: u64 = 1 << 50;

/// Most characters of the name of a dialect.
const MAX_DIALECT_CHARS: usize = 100;

/// Engine option that names a server of the user's by its address.
pub const URL: &str = "url";

/// Engine option of a server that is bound as a whole: [`AFFINITY_SET`] where it is bound to the placement of each
/// treatment for its runs.
pub const AFFINITY: &str = "affinity";

/// The server is bound to each treatment's logical CPUs, and put back at the end.
pub const AFFINITY_SET: &str = "set";

/// Whether these options bind the server as a whole.
pub fn binds_server(options: &Options) -> bool {
    matches!(options.get(AFFINITY), Some(OptionValue::Text(word)) if word == AFFINITY_SET)
}

/// The server is left as it is.
pub const AFFINITY_KEEP: &str = "keep";

/// What an engine is like. The default is what is assumed of an engine that says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Properties {
    /// Whether its results come from a model and not from a machine.
    pub simulated: bool,
    /// Bytes of the block that it reads at once: its page. Data levels are sized by it.
    pub block_bytes: u64,
    /// Whether it has service threads (log writer, checkpointer, …) that a study can place.
    pub service_threads: bool,
    /// Dialect of SQL of its queries, by the name of its texts in the crate `tpch`; `None` where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Whether it reads a data set's own files, unless the workload option `storage` says otherwise. Others
    /// load the data set into tables.
    pub reads_files: bool,
    /// Whether the workload option `hold_plan` keeps its plans the same from treatment to treatment.
    pub holds_plans: bool,
    /// Bytes on disk of a row of the workload `insert` with its index; 0 where rows lie in memory.
    pub row_bytes: u64,
    /// Bytes of memory of a row of `insert` where rows lie in memory and not on disk, those that are inserted included.
    pub row_memory_bytes: u64,
    /// Bytes on disk of a data set of TPC-H of scale factor 1 that it has loaded, indexes included; 0 where
    /// it loads none, or nobody has measured it.
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
            // SQLite's file has as many.
            row_bytes: 165,
            row_memory_bytes: 0,
            tpch_bytes: 0,
        }
    }
}

impl Properties {
    /// What is wrong with properties that others wrote, or nothing.
    pub fn fault(&self) -> Option<String> {
        let within = |name: &str, bytes: u64, least: u64, most: u64| {
            (!(least..=most).contains(&bytes))
                .then(|| format!("{name} is {bytes}, and {least} to {most} is allowed"))
        };
        let is_word = |name: &String| {
            name.chars().count() <= MAX_DIALECT_CHARS
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        within("block_bytes", self.block_bytes, 1, MAX_BLOCK_BYTES)
            .or_else(|| within("row_bytes", self.row_bytes, 0, MAX_ESTIMATE_BYTES))
            .or_else(|| within("row_memory_bytes", self.row_memory_bytes, 0, MAX_ESTIMATE_BYTES))
            .or_else(|| within("tpch_bytes", self.tpch_bytes, 0, MAX_ESTIMATE_BYTES))
            .or_else(|| {
                let strange = self.dialect.as_ref().is_some_and(|name| !is_word(name));
                strange.then(|| {
                    format!("dialect is no word of at most {MAX_DIALECT_CHARS} letters, digits, '-' and '_'")
                })
            })
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
