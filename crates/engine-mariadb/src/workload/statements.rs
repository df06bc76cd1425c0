//! Statements of the workloads: the names of what they are about, and running them.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
pub(super) use threadwise_engine::servers::statements::{Names, fill};

use crate::error::query;

/// Names of one treatment's objects, quoted as MariaDB does.
pub(crate) fn names<'a>(schema: &'a str, suffix: &'a str) -> Names<'a> {
    Names { schema, suffix, quotes: ['`', '`'] }
}

/// The seed of a table in memory, which no restart keeps.
pub(super) fn seed(names: &Names<'_>) -> String {
    names.object("seed")
}

/// Runs a statement that gives nothing back.
pub(super) fn run(connection: &mut Conn, action: &str, sql: &str) -> Result<(), EngineError> {
    connection.query_drop(sql).map_err(|cause| query(action, &cause))
}
