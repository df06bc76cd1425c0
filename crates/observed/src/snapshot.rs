//! The counters of a server at a moment.

/// Counters of one statement since the server began to count it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementCount {
    /// The server's key of the statement: database, user and number, or digest. The same statement has the same key
    /// after a restart of the server.
    pub key: String,
    /// Completed executions.
    pub calls: u64,
    /// Execution time of all of them, in nanoseconds. Planning is not included.
    pub time_ns: u64,
    /// Rows returned or changed.
    pub rows: u64,
    /// The moment since which the server counts it, in the server's own form, if it says so, with its plan if the server
    /// counts by plan. It changes when the statement is evicted and comes back, or is reset alone.
    pub since: Option<String>,
}

/// Counters of all statements that a server has at a moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// When the server was started, in seconds since 1970 by its own clock; `None` if it does not say.
    pub started_unix_s: Option<f64>,
    /// When its statistics were last reset, in its own form; `None` if it does not say.
    pub reset: Option<String>,
    /// Evictions of statements since the reset, or statements without a place of their own; `None` if unknown.
    pub evictions: Option<u64>,
    /// Statements whose key this login may not see.
    pub hidden: u64,
    /// The statements, in no order. A key may be there several times, by plan, which [`crate::difference`] adds up.
    pub statements: Vec<StatementCount>,
}

/// What a statement is, asked once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementText {
    /// Its key.
    pub key: String,
    /// Name of the database.
    pub database: Option<String>,
    /// Name of the user.
    pub user: Option<String>,
    /// Its text without literals; `None` if it is not known or not wanted.
    pub text: Option<String>,
    /// Whether it is the statement by which these statistics are read.
    pub is_ours: bool,
}
