//! Which engines there are, as data.

use crate::AnalyticsError;
use threadwise_study::engine::Properties;

/// An engine that runs on its own Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalyticsEngine {
    /// Its name on the command line, also that of its package and of its module.
    pub name: &'static str,
    /// Other names that people type for it.
    pub other_names: &'static [&'static str],
    /// One line about it.
    pub about: &'static str,
    /// Workloads that it runs.
    pub workloads: &'static [&'static str],
    /// Name of its dialect of SQL among those of the workload.
    pub dialect: &'static str,
    /// The engine whose answers its own are compared with.
    pub referee: &'static str,
    /// File name of its worker program.
    pub script: &'static str,
}

const KNOWN: [AnalyticsEngine; 2] = [
    AnalyticsEngine {
        name: "duckdb",
        other_names: &["duck"],
        about: "DuckDB in a worker of its own Python package, on Parquet files or in memory",
        workloads: &["tpch"],
        dialect: "duckdb",
        referee: "datafusion",
        script: "duckdb_worker.py",
    },
    AnalyticsEngine {
        name: "datafusion",
        other_names: &[],
        about: "Apache DataFusion in a worker of its own Python package, on Parquet files or in memory",
        workloads: &["tpch"],
        dialect: "datafusion",
        referee: "duckdb",
        script: "datafusion_worker.py",
    },
];

/// The engine whose answers count for engines that are none of these, and with which they get their data.
pub const REFEREE: &str = KNOWN[0].name;

impl AnalyticsEngine {
    /// What it is like, for those who plan and report studies of it.
    pub fn properties(&self) -> Properties {
        Properties {
            service_threads: false,
            dialect: Some(self.dialect.to_owned()),
            reads_files: true,
            ..Properties::default()
        }
    }
}

/// All of them, in the order in which they are shown.
pub fn known() -> &'static [AnalyticsEngine] {
    &KNOWN
}

/// The engine of this name.
///
/// # Errors
/// There is none; the message lists those that are known.
pub fn engine(name: &str) -> Result<&'static AnalyticsEngine, AnalyticsError> {
    KNOWN.iter().find(|engine| engine.name == name).ok_or_else(|| {
        let known = KNOWN.iter().map(|engine| engine.name).collect::<Vec<_>>().join(", ");
        AnalyticsError::Unknown { name: name.to_owned(), known }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{requirements, scripts};

    #[test]
    fn every_engine_has_a_package_a_script_and_another_engine_as_referee() {
        for one in known() {
            assert!(requirements::pins().any(|pin| pin.name == one.name), "{}", one.name);
            assert!(scripts::names().any(|name| name == one.script), "{}", one.script);
            let referee = engine(one.referee).unwrap();
            assert!(referee.name != one.name && referee.workloads == one.workloads);
            assert!(!one.about.contains('\n'));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let message = engine("oracle").unwrap_err().to_string();
        assert!(message.contains("oracle") && message.contains("duckdb, datafusion"), "{message}");
    }
}
