//! The options of `tpch`.

use threadwise_study::Options;
use threadwise_tpch::dataset::Cluster;
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::EngineError;
use crate::workloads::options::refuse;
use crate::workloads::tpch::read;

/// Largest scale factor: each session keeps the whole file in its own cache.
const MAX_SCALE: f64 = 1.0;

/// Options that SQLite does not support, and why.
const UNFOLLOWED: [(&str, &str); 9] = [
    ("storage", "SQLite keeps tables in its own file; leave it out"),
    ("short", "SQLite has no short queries beside its streams; leave it out, or use postgres or duckdb"),
    ("batch_rows", "SQLite works row by row; leave it out"),
    ("memory_limit_mb", "SQLite's cache holds all of the data; leave it out"),
    ("spill_dir", "SQLite sorts in memory here; leave it out"),
    ("spill_limit_mb", "SQLite sorts in memory here; leave it out"),
    ("jit", "SQLite has no compiler; leave it out"),
    ("hold_plan", "SQLite has no parallel plans; leave it out"),
    ("settings.", "SQLite takes no settings here; leave it out"),
];

/// The workload with its options.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Spec {
    pub(super) options: TpchOptions,
}

impl Spec {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first option that is unknown, impossible, or not supported by SQLite.
    pub(in super::super) fn of(given: &Options) -> Result<Self, EngineError> {
        let options = read(given, &UNFOLLOWED)?;
        if options.dop.is_some_and(|dop| dop > 1) {
            return Err(refuse("dop", "SQLite executes a query on one thread: give --dop 1".into()));
        }
        if options.scale > MAX_SCALE {
            let why = format!(
                "'{}': SQLite is the serial reference here, and each session keeps all data in its own cache; at most \
                 {MAX_SCALE} is allowed",
                options.scale
            );
            return Err(refuse("scale", why));
        }
        if options.cluster != Cluster::OrderKey {
            return Err(refuse(
                "cluster",
                "SQLite's table lies in the order of loading; orderkey is allowed".into(),
            ));
        }
        if options.cache == Cache::Cold {
            return Err(refuse("cache", "SQLite's own cache holds the data; warm is allowed".into()));
        }
        Ok(Self { options })
    }
}
