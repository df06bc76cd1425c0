//! Statements that are executed or prepared.

use postgres::Client;
use threadwise_engine::EngineError;

use crate::error::query;

/// Executes statements without reading rows.
pub(crate) fn execute(client: &mut Client, action: &str, sql: &str) -> Result<(), EngineError> {
    client.batch_execute(sql).map_err(|cause| query(action, &cause))
}

pub(super) fn prepare(client: &mut Client, sql: &str) -> Result<postgres::Statement, EngineError> {
    client.prepare(sql).map_err(|cause| query("prepare a statement", &cause))
}
