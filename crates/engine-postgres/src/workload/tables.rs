//! Tables that sessions work on, each with its procedure.

use postgres::Client;
use threadwise_engine::EngineError;

use super::sql::execute;
use crate::error::query;

/// The procedure that works on a table. It is made last, so that a table with one is complete.
pub(super) fn procedure(table: &str) -> String {
    format!("{table}_work")
}

/// Whether a table exists and is complete. An incomplete one is dropped.
pub(super) fn is_loaded(control: &mut Client, schema: &str, table: &str) -> Result<bool, EngineError> {
    let action = format!("look for table {schema}.{table}");
    let sql = "SELECT to_regclass($1) IS NOT NULL, to_regproc($2) IS NOT NULL";
    let names = [format!("{schema}.{table}"), format!("{schema}.{}", procedure(table))];
    let row =
        control.query_one(sql, &[&names[0], &names[1]]).map_err(|cause| query(action.as_str(), &cause))?;
    let read = |column: usize| row.try_get::<_, bool>(column).map_err(|cause| query(action.as_str(), &cause));
    let (has_table, has_procedure) = (read(0)?, read(1)?);
    if has_table && !has_procedure {
        execute(
            control,
            &format!("drop the unfinished table {}", names[0]),
            &format!("DROP TABLE {}", names[0]),
        )?;
    }
    Ok(has_table && has_procedure)
}
