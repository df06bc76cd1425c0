//! Statements: object names, execution, and reading of rows.

use threadwise_engine::EngineError;
pub(crate) use threadwise_engine_sql::fill;
use tiberius::{FromSql, Row};

use crate::client::connect::Connection;
use crate::client::error::query;

/// Executes a statement without a result.
pub(crate) fn run(connection: &mut Connection, action: &str, sql: &str) -> Result<(), EngineError> {
    connection.run(sql).map_err(|cause| query(action, &cause))
}

/// A column of a row; `None` for NULL and for another type.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Option<T> {
    row.try_get(at).ok().flatten()
}

/// A column that has a whole number of any width.
pub(crate) fn whole(row: &Row, at: usize) -> Option<i64> {
    column::<i64>(row, at)
        .or_else(|| column::<i32>(row, at).map(i64::from))
        .or_else(|| column::<i16>(row, at).map(i64::from))
        .or_else(|| column::<u8>(row, at).map(i64::from))
}

/// A column that has text.
pub(crate) fn text(row: &Row, at: usize) -> Option<String> {
    column::<&str>(row, at).map(str::to_owned)
}
