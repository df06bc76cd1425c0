//! Statements of the workloads: object names, and execution.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
pub(super) use threadwise_engine::servers::statements::{Names, fill};

use crate::error::query;

/// Names of one treatment's objects, quoted for MariaDB.
pub(crate) fn names<'a>(schema: &'a str, suffix: &'a str) -> Names<'a> {
    Names { schema, suffix, quotes: ['`', '`'] }
}

/// The seed of a table in memory, which is empty after a restart.
pub(super) fn seed(names: &Names<'_>) -> String {
    names.object("seed")
}

/// Executes a statement without a result.
pub(super) fn run(connection: &mut Conn, action: &str, sql: &str) -> Result<(), EngineError> {
    connection.query_drop(sql).map_err(|cause| query(action, &cause))
}
