//! MariaDB and MySQL: what differs between them, as data.
//!
//! Sources: MariaDB Knowledge Base, "Incompatibilities and Feature Differences Between MariaDB and MySQL 8.0"; MySQL 9
//! Reference Manual, "Server System Variables" (max_execution_time, which ends SELECT alone), "The threads Table"
//! (THREAD_OS_ID), "Performance Schema Status Variable Tables".

use threadwise_engine::EngineError;
use threadwise_engine_sql::Dialect;

use crate::dialect::DIALECT;
use crate::error::advice;

/// A product that speaks this protocol.
#[derive(Debug)]
pub(crate) struct Product {
    /// Its name in texts.
    pub title: &'static str,
    /// Its SQL and facts; the name of the engine among them.
    pub dialect: Dialect,
    /// The oldest supported version, as one number and as text.
    pub oldest: u32,
    pub oldest_text: &'static str,
    /// Setting by which the server ends a statement, for no limit, and for one in seconds.
    pub no_limit: &'static str,
    pub limit: fn(u32) -> String,
    /// Ways of the optimiser that are turned off for equal plans.
    pub plain_plans: &'static str,
    /// The kernel's number of the thread that serves this connection, and those of all connections.
    pub own_thread: &'static str,
    pub connections: &'static str,
    /// A function that gives a digest as digits of base 16, and what follows its text: MySQL from 9.6 on has MD5 as a
    /// component alone.
    pub digest: [&'static str; 2],
    /// Limits of connections, and connections in use.
    pub limits: &'static str,
    /// Table of the server's status variables.
    pub status: &'static str,
}

impl Product {
    /// Name of the engine.
    pub(crate) fn engine(&self) -> &'static str {
        self.dialect.engine
    }

    /// An error of its engine.
    pub(crate) fn failed(&self, action: impl Into<String>, why: impl ToString) -> EngineError {
        EngineError::Failed { engine: self.engine().into(), action: action.into(), why: why.to_string() }
    }

    /// The error of a statement.
    pub(crate) fn query(&self, action: impl Into<String>, cause: &mysql::Error) -> EngineError {
        self.failed(action, advice(cause))
    }

    /// The product of a version's text, such as `10.11.19-MariaDB-0+deb12u1` or `8.4.6`; `None` for others that speak
    /// the same protocol and name themselves.
    pub(crate) fn of(version: &str) -> Option<&'static Self> {
        let lower = version.to_lowercase();
        match lower.contains("mariadb") {
            true => Some(&MARIADB),
            false => ["tidb", "vitess", "dolt", "doris", "starrocks", "oceanbase"]
                .iter()
                .all(|other| !lower.contains(other))
                .then_some(&MYSQL),
        }
    }
}

/// MariaDB from 10.5 on: the first with one buffer pool instance and one redo log file, for which the counters and
/// settings here are made (mariadb.com/kb/en/changes-improvements-in-mariadb-105).
pub(crate) static MARIADB: Product = Product {
    title: "MariaDB",
    dialect: DIALECT,
    oldest: 100_500,
    oldest_text: "10.5",
    no_limit: "max_statement_time=0",
    limit: |seconds| format!("max_statement_time={seconds}"),
    plain_plans: "mrr=off,rowid_filter=off",
    own_thread: "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    connections: "SELECT TID FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon'",
    digest: ["MD5", ""],
    limits: include_str!("sql/limits.sql"),
    status: "information_schema.GLOBAL_STATUS",
};

/// MySQL from 8.0 on.
pub(crate) static MYSQL: Product = Product {
    title: "MySQL",
    dialect: Dialect { engine: "mysql", ..DIALECT },
    oldest: 80_000,
    oldest_text: "8.0",
    no_limit: "max_execution_time=0",
    limit: |seconds| format!("max_execution_time={}", u64::from(seconds) * 1000),
    plain_plans: "mrr=off",
    own_thread: "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
    connections: "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' AND \
                  THREAD_OS_ID IS NOT NULL AND PROCESSLIST_COMMAND <> 'Daemon'",
    digest: ["SHA2", ", 256"],
    limits: include_str!("sql/limits_mysql.sql"),
    status: "performance_schema.global_status",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_told_by_their_version() {
        let title = |version: &str| Product::of(version).map(|product| product.title);
        for (version, wanted) in [
            ("10.11.19-MariaDB-0+deb12u1", Some("MariaDB")),
            ("8.0.36", Some("MySQL")),
            ("9.7.4-2", Some("MySQL")),
            ("8.0.36-28.1", Some("MySQL")),
            ("8.0.11-TiDB-v7.5.0", None),
        ] {
            assert_eq!(title(version), wanted, "{version}");
        }
        assert_eq!((MYSQL.limit)(600), "max_execution_time=600000");
    }
}
