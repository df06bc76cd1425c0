//! Queries by their numbers, dialects, and errors.

use std::fmt;

/// Number of queries.
pub const QUERIES: u8 = threadwise_study::tpch::QUERIES;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// DuckDB.
    DuckDb,
    /// Apache DataFusion.
    DataFusion,
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
    /// ClickHouse.
    ClickHouse,
    /// Transact-SQL: SQL Server from 2014 on, and Babelfish for PostgreSQL.
    SqlServer,
    /// Oracle Database from 12.1 on.
    Oracle,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 7] = [
        Self::DuckDb,
        Self::DataFusion,
        Self::Postgres,
        Self::Sqlite,
        Self::ClickHouse,
        Self::SqlServer,
        Self::Oracle,
    ];

    /// Its name, which is that of its engine.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::DataFusion => "datafusion",
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
            Self::ClickHouse => "clickhouse",
            Self::SqlServer => "sqlserver",
            Self::Oracle => "oracle",
        }
    }

    /// The dialect of this name, as an engine reports it (`Properties::dialect` of the crate `study`).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a query's text is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No such query.
    #[error("there is no query {0}: TPC-H has 1 to {QUERIES}")]
    Unknown(u8),
    /// Parameters of another query.
    #[error("query {query} got the parameters of query {given}")]
    OtherQuery {
        /// The query.
        query: u8,
        /// The query that the parameters are for.
        given: u8,
    },
    /// The text has a placeholder that the parameters lack: an error of this program.
    #[error("query {query} for {dialect} has a placeholder :{name} that its parameters lack; report this")]
    Placeholder {
        /// The query.
        query: u8,
        /// The dialect.
        dialect: Dialect,
        /// The placeholder.
        name: String,
    },
    /// The text does not use a parameter: an error of this program.
    #[error("query {query} for {dialect} does not use its parameter {name}; report this")]
    Unused {
        /// The query.
        query: u8,
        /// The dialect.
        dialect: Dialect,
        /// The parameter.
        name: String,
    },
}

/// Refuses numbers without a query.
pub(crate) fn check_query(query: u8) -> Result<(), QueryError> {
    if (1..=QUERIES).contains(&query) { Ok(()) } else { Err(QueryError::Unknown(query)) }
}
