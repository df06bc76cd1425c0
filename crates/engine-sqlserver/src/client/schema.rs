//! Threadwise's schema in the user's database.
//!
//! It contains a table that marks it as threadwise's, and one that lists the objects made. A schema of that name
//! without the mark is refused; at the end only listed objects are dropped, and the schema itself only if nothing else
//! is left in it. A lock of the keeper's session (sp_getapplock) keeps two studies apart; it is released with the
//! session, however that ends.

use threadwise_engine::{EngineError, Loaded};

use crate::client::connect::{Connection, Server};
use crate::client::error::query;
use crate::client::statements::{column, fill, one_row, run, text, whole};
use crate::client::workload::Objects;
use crate::failed;

/// Text of the mark.
const MARK_TEXT: &str = "made by threadwise, dropped at the end of its study";

/// Threadwise's own tables in the schema.
const TABLES: [&str; 3] = ["threadwise_mark", "threadwise_objects", "threadwise_loads"];

/// Makes the schema. One with the mark, which an earlier study left, is dropped first.
///
/// # Errors
/// It exists without the mark, another study is using it, or the login may not create one.
pub(crate) fn make(control: &mut Connection, server: &Server) -> Result<(), EngineError> {
    let schema = server.schema();
    take_lock(control, schema)?;
    if is_there(control, schema)? {
        if !is_ours(control, schema)? {
            let why = format!(
                "schema '{schema}' exists in database '{}' and threadwise did not make it: give another name with \
                 --engine-option schema=NAME",
                server.database()
            );
            return Err(failed("create its schema", why));
        }
        drop_ours(control, schema)?;
    }
    let action = format!(
        "create its schema '{schema}' in database '{}' as '{}'",
        server.database(),
        server.target().user
    );
    let sql = fill(include_str!("../sql/schema.sql"), &[("schema", schema), ("says", MARK_TEXT)]);
    run(control, &action, &sql)
}

fn take_lock(control: &mut Connection, schema: &str) -> Result<(), EngineError> {
    let action = "take the lock of its schema";
    let sql = fill(include_str!("../sql/lock.sql"), &[("schema", schema)]);
    let got = whole(&one_row(control, action, &sql)?, 0);
    match got {
        Some(0 | 1) => Ok(()),
        _ => Err(failed(
            action,
            format!(
                "another study is using '{schema}': wait for its end, or give another name with --engine-option \
                 schema=NAME"
            ),
        )),
    }
}

fn is_there(control: &mut Connection, schema: &str) -> Result<bool, EngineError> {
    let sql = format!("SELECT SCHEMA_ID(N'{schema}')");
    Ok(whole(&one_row(control, "look for its schema", &sql)?, 0).is_some())
}

fn is_ours(control: &mut Connection, schema: &str) -> Result<bool, EngineError> {
    let action = "look for the mark of its schema";
    if !has_table(control, action, schema, TABLES[0])? {
        return Ok(false);
    }
    let row = control.rows(&format!("SELECT says FROM [{schema}].[{}]", TABLES[0]));
    let row = row.map_err(|cause| query(action, &cause))?;
    Ok(row.first().and_then(|row| text(row, 0)).as_deref() == Some(MARK_TEXT))
}

fn has_table(control: &mut Connection, action: &str, schema: &str, table: &str) -> Result<bool, EngineError> {
    let sql = format!("SELECT OBJECT_ID(N'[{schema}].[{table}]')");
    Ok(whole(&one_row(control, action, &sql)?, 0).is_some())
}

/// Drops the listed objects and the schema if it contains nothing else; otherwise nothing.
///
/// # Errors
/// It contains objects that threadwise did not make, which the error names; or an error of the server.
pub(crate) fn drop_ours(control: &mut Connection, schema: &str) -> Result<(), EngineError> {
    let action = format!("drop its schema '{schema}'");
    let listed: Vec<(String, String)> = match has_table(control, &action, schema, TABLES[1])? {
        true => pairs(control, &action, &format!("SELECT kind, name FROM [{schema}].[{}]", TABLES[1]))?,
        // Killed while it was being made.
        false => Vec::new(),
    };
    // Checked first: a refused study leaves the schema unchanged.
    let sql = fill(include_str!("../sql/objects.sql"), &[("schema", schema)]);
    let there = pairs(control, &action, &sql)?;
    let others = foreign(&there, &listed);
    if !others.is_empty() {
        let why = format!(
            "it contains objects that threadwise did not make: {}; move them elsewhere, or give another name with \
             --engine-option schema=NAME",
            others.join(", ")
        );
        return Err(failed(action, why));
    }
    // Procedures first: those that are compiled natively hold their tables.
    for wanted in ["procedure", "table"] {
        for (_, name) in there.iter().filter(|(kind, _)| kind == wanted) {
            run(control, &action, &format!("DROP {wanted} [{schema}].[{}]", name.replace(']', "]]")))?;
        }
    }
    // The server refuses this if objects were made in the meantime.
    for table in TABLES.iter().rev() {
        if has_table(control, &action, schema, table)? {
            run(control, &action, &format!("DROP TABLE [{schema}].[{table}]"))?;
        }
    }
    run(control, &action, &format!("DROP SCHEMA [{schema}]"))
}

fn pairs(control: &mut Connection, action: &str, sql: &str) -> Result<Vec<(String, String)>, EngineError> {
    let rows = control.rows(sql).map_err(|cause| query(action, &cause))?;
    Ok(rows.iter().filter_map(|row| Some((text(row, 0)?.trim().to_owned(), text(row, 1)?))).collect())
}

/// Names of the objects in a schema that are not in a list of kinds and names.
fn foreign(there: &[(String, String)], listed: &[(String, String)]) -> Vec<String> {
    there.iter().filter(|object| !listed.contains(object)).map(|(_, name)| name.clone()).collect()
}

/// Lists objects before they are made, and drops what an interrupted load left of them.
///
/// # Errors
/// An error of the server, or the schema is not threadwise's.
pub(crate) fn announce(
    control: &mut Connection,
    server: &Server,
    objects: &Objects,
) -> Result<(), EngineError> {
    let schema = server.schema();
    let kinds = [("procedure", &objects.procedures), ("table", &objects.tables)];
    for (kind, name) in kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*kind, name))) {
        let sql =
            fill(include_str!("../sql/announce.sql"), &[("schema", schema), ("kind", kind), ("name", name)]);
        run(control, "list the objects to be made", &sql)?;
    }
    for (kind, name) in kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*kind, name))) {
        let sql = format!("IF OBJECT_ID(N'[{schema}].[{name}]') IS NOT NULL DROP {kind} [{schema}].[{name}]");
        run(control, "drop what an interrupted load left", &sql)?;
    }
    Ok(())
}

/// Result of an earlier load of the same data, if it was finished.
///
/// # Errors
/// An error of the server: the schema does not exist.
pub(crate) fn loaded(
    control: &mut Connection,
    schema: &str,
    suffix: &str,
) -> Result<Option<Loaded>, EngineError> {
    let sql = format!("SELECT bytes, counted, notes FROM [{schema}].[threadwise_loads] WHERE suffix = @P1");
    let rows = control.query(&sql, &[&suffix]).map_err(|cause| query("look for its data", &cause))?;
    let number = |row, at| column::<i64>(row, at).and_then(|number| u64::try_from(number).ok());
    Ok(rows.first().and_then(|row| {
        Some(Loaded {
            bytes_per_session: number(row, 0)?,
            rows_per_session: number(row, 1)?,
            notes: text(row, 2)?.lines().map(str::to_owned).collect(),
        })
    }))
}

/// Records that data is complete.
///
/// # Errors
/// An error of the server.
pub(crate) fn finished(
    control: &mut Connection,
    schema: &str,
    suffix: &str,
    loaded: &Loaded,
) -> Result<(), EngineError> {
    let sql = format!(
        "INSERT INTO [{schema}].[threadwise_loads] (suffix, bytes, counted, notes) VALUES (@P1, @P2, @P3, @P4)"
    );
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (bytes, rows) = (number(loaded.bytes_per_session), number(loaded.rows_per_session));
    let notes = loaded.notes.join("\n");
    control
        .change(&sql, &[&suffix, &bytes, &rows, &notes.as_str()])
        .map(drop)
        .map_err(|cause| query("record that its data is complete", &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_list_by_kind_and_name_is_foreign() {
        let objects = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
        };
        let listed = objects(&[("table", "blocks_0"), ("procedure", "read_0")]);
        assert_eq!(foreign(&listed, &listed), [""; 0]);
        let there =
            objects(&[("table", "blocks_0"), ("view", "blocks_0"), ("table", "Blocks_0"), ("other", "w")]);
        assert_eq!(foreign(&there, &listed), ["blocks_0", "Blocks_0", "w"]);
    }
}
