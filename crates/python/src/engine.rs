//! The engines, as data.

use crate::AnalyticsError;
use crate::requirements::Requirements;
use threadwise_study::Workload;
use threadwise_study::engine::Properties;

/// Engines that check each other's answers, and the generator of their data. They need 397 MiB of
/// installed packages (measured with these versions on x86-64), 123 MiB of downloads
/// meanwhile, and some space.
pub static ANALYTICS: Requirements = Requirements {
    environment: "analytics",
    text: include_str!("../requirements.txt"),
    modules: &["duckdb", "datafusion", "pyarrow"],
    has_generator: true,
    needed_bytes: 600 << 20,
};

/// Only ClickHouse: 703 MiB of installed packages, of which 533 are its library (measured on
/// x86-64), 220 MiB of downloads meanwhile, and some space.
static CLICKHOUSE: Requirements = Requirements {
    environment: "clickhouse",
    text: include_str!("../requirements-clickhouse.txt"),
    modules: &["chdb", "pyarrow"],
    has_generator: false,
    needed_bytes: 1100 << 20,
};

/// The driver of a server: 28 MiB of installed packages (measured with these versions on x86-64), their downloads
/// meanwhile, and some space.
static ORACLE: Requirements = Requirements {
    environment: "oracle",
    text: include_str!("../requirements-oracle.txt"),
    modules: &["oracledb"],
    has_generator: false,
    needed_bytes: 100 << 20,
};

/// An engine in its own Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalyticsEngine {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its package, whose version is the engine's.
    pub package: &'static str,
    /// The packages of its environment.
    pub requirements: &'static Requirements,
    /// Other names that users type for it.
    pub other_names: &'static [&'static str],
    /// One line about it.
    pub about: &'static str,
    /// Its workloads.
    pub workloads: &'static [Workload],
    /// Name of its SQL dialect in the workload.
    pub dialect: &'static str,
    /// The engine whose answers are the reference for its own.
    pub referee: &'static str,
    /// File name of its worker program.
    pub script: &'static str,
    /// Whether the package is the driver of a user's server, whose engine is a crate of its own.
    pub is_client: bool,
}

const KNOWN: [AnalyticsEngine; 4] = [
    AnalyticsEngine {
        name: "duckdb",
        package: "duckdb",
        requirements: &ANALYTICS,
        other_names: &["duck"],
        about: "DuckDB through its Python package, on Parquet files or in memory",
        workloads: &[Workload::Tpch],
        dialect: "duckdb",
        referee: "datafusion",
        script: "duckdb_worker.py",
        is_client: false,
    },
    AnalyticsEngine {
        name: "datafusion",
        package: "datafusion",
        requirements: &ANALYTICS,
        other_names: &[],
        about: "Apache DataFusion through its Python package, on Parquet files or in memory",
        workloads: &[Workload::Tpch],
        dialect: "datafusion",
        referee: "duckdb",
        script: "datafusion_worker.py",
        is_client: false,
    },
    AnalyticsEngine {
        name: "clickhouse",
        package: "chdb-core",
        requirements: &CLICKHOUSE,
        other_names: &["chdb"],
        about: "ClickHouse through its Python package, on Parquet files or in memory",
        workloads: &[Workload::Tpch],
        dialect: "clickhouse",
        referee: "duckdb",
        script: "clickhouse_worker.py",
        is_client: false,
    },
    AnalyticsEngine {
        name: "oracle",
        package: "oracledb",
        requirements: &ORACLE,
        other_names: &[],
        about: "the driver of Oracle Database, for your server (oracle://…)",
        workloads: &[Workload::Tpch],
        dialect: "oracle",
        referee: "duckdb",
        script: "oracle_proxy.py",
        is_client: true,
    },
];

/// The reference engine for engines that are none of these, which also provides their data.
pub const REFEREE: &str = KNOWN[0].name;

impl AnalyticsEngine {
    /// The environments for measuring it: its own, then its referee's if that is another.
    pub fn needs(&self) -> impl Iterator<Item = &'static Requirements> {
        let referee = KNOWN.iter().find(|engine| engine.name == self.referee);
        let other = referee.map(|engine| engine.requirements).filter(|other| *other != self.requirements);
        std::iter::once(self.requirements).chain(other)
    }

    /// Its properties, for planning and reporting studies.
    pub fn properties(&self) -> Properties {
        Properties {
            service_threads: false,
            dialect: Some(self.dialect.to_owned()),
            reads_files: true,
            ..Properties::default()
        }
    }
}

/// All of them, in display order.
pub fn known() -> &'static [AnalyticsEngine] {
    &KNOWN
}

/// All environments, in the order of their engines.
pub fn environments() -> impl Iterator<Item = &'static Requirements> {
    let is_first = |(at, engine): &(usize, &AnalyticsEngine)| {
        KNOWN[..*at].iter().all(|before| before.requirements != engine.requirements)
    };
    KNOWN.iter().enumerate().filter(is_first).map(|(_, engine)| engine.requirements)
}

/// The engine of this name.
///
/// # Errors
/// There is none; the message lists the known ones.
pub fn engine(name: &str) -> Result<&'static AnalyticsEngine, AnalyticsError> {
    KNOWN.iter().find(|engine| engine.name == name).ok_or_else(|| {
        let known = KNOWN.iter().map(|engine| engine.name).collect::<Vec<_>>().join(", ");
        AnalyticsError::Unknown { name: name.to_owned(), known }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts;

    #[test]
    fn every_engine_has_a_package_a_script_and_another_engine_as_referee() {
        for one in known() {
            assert!(one.requirements.pins().any(|pin| pin.name == one.package), "{}", one.name);
            assert!(scripts::names().any(|name| name == one.script), "{}", one.script);
            let referee = engine(one.referee).unwrap();
            assert!(referee.name != one.name && one.workloads.ends_with(referee.workloads));
            assert!(referee.requirements.has_generator, "with which its data is made");
            assert!(!one.about.contains('\n'));
        }
    }

    #[test]
    fn environments_have_names_of_their_own() {
        let mut names: Vec<&str> = environments().map(|requirements| requirements.environment).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), environments().count());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let message = engine("vertica").unwrap_err().to_string();
        assert!(message.contains("vertica") && message.contains("duckdb, datafusion"), "{message}");
    }
}
