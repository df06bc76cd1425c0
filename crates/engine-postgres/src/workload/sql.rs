//! SQL files with placeholders such as `{table}` for names and numbers, which cannot be parameters; and statements that
//! are executed or prepared.

use postgres::Client;
use threadwise_engine::EngineError;

use crate::error::query;

/// The text with each `{name}` replaced. Names and values are threadwise's: identifiers, numbers, or SQL made
/// here; a user's text is never inserted unquoted.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Executes statements without reading rows.
pub(super) fn execute(client: &mut Client, action: &str, sql: &str) -> Result<(), EngineError> {
    client.batch_execute(sql).map_err(|cause| query(action, &cause))
}

pub(super) fn prepare(client: &mut Client, sql: &str) -> Result<postgres::Statement, EngineError> {
    client.prepare(sql).map_err(|cause| query("prepare a statement", &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled() {
        let filled = fill("FROM {schema}.{table} -- {table}", &[("schema", "s"), ("table", "t")]);
        assert_eq!(filled, "FROM s.t -- t");
    }
}
