//! Threadwise's database, in a private server or in the user's.
//!
//! In the user's server it contains a table that marks it as threadwise's, and one that lists the objects made. A
//! database of that name without the mark is refused; at the end only listed objects are dropped, and the
//! database itself only if nothing else is left in it. A lock of the keeper's connection (GET_LOCK) keeps
//! two studies apart; it is released with the connection, however that ends.

use mysql::prelude::Queryable;
use mysql::{Conn, params};
use threadwise_engine::{EngineError, Loaded};

use crate::Server;
use crate::error::{failed, query};
use crate::workload::Objects;

/// Table that marks a database as threadwise's.
const MARK: &str = "threadwise_mark";
/// Objects that threadwise made.
const OBJECTS: &str = "threadwise_objects";
/// Data that is complete.
const LOADS: &str = "threadwise_loads";
/// Text of the mark.
const MARK_TEXT: &str = "made by threadwise, dropped at the end of its study";

/// Statements that make the database's own tables.
const MAKE: [&str; 4] = [
    "CREATE TABLE {s}.threadwise_mark (says VARCHAR(100) NOT NULL) ENGINE=InnoDB",
    "INSERT INTO {s}.threadwise_mark VALUES ('{says}')",
    "CREATE TABLE {s}.threadwise_objects (kind VARCHAR(9) NOT NULL, name VARCHAR(64) NOT NULL, \
     PRIMARY KEY (kind, name)) ENGINE=InnoDB CHARACTER SET ascii COLLATE ascii_bin",
    "CREATE TABLE {s}.threadwise_loads (suffix VARCHAR(64) NOT NULL PRIMARY KEY, bytes BIGINT NOT NULL, \
     counted BIGINT NOT NULL, notes TEXT NOT NULL) ENGINE=InnoDB CHARACTER SET utf8mb4",
];

/// Makes the database. One that an earlier study left is dropped first.
///
/// # Errors
/// It belongs to another program, another study is using it, or the account may not create one.
pub(crate) fn make(control: &mut Conn, server: &Server) -> Result<(), EngineError> {
    let schema = server.schema();
    take_lock(control, schema)?;
    if is_there(control, schema)? {
        if !is_ours(control, schema)? {
            return Err(failed(
                "create its database",
                format!(
                    "database '{schema}' exists and threadwise did not make it: give another name with \
                     --engine-option schema=NAME"
                ),
            ));
        }
        drop_ours(control, schema)?;
    }
    let quoted = format!("`{schema}`");
    let action = format!("create its database '{schema}' as '{}'", server.user());
    let create = format!("CREATE DATABASE {quoted} CHARACTER SET latin1");
    for sql in std::iter::once(create.as_str()).chain(MAKE) {
        let sql = sql.replace("{s}", &quoted).replace("{says}", MARK_TEXT);
        control.query_drop(sql).map_err(|cause| query(action.clone(), &cause))?;
    }
    Ok(())
}

fn take_lock(control: &mut Conn, schema: &str) -> Result<(), EngineError> {
    let name = format!("threadwise:{schema}");
    let got: Option<Option<i64>> = control
        // A connection that was closed a moment ago may still hold it.
        .exec_first("SELECT GET_LOCK(?, 3)", (&name,))
        .map_err(|cause| query("take the lock of its database", &cause))?;
    match got.flatten() {
        Some(1) => Ok(()),
        _ => Err(failed(
            "take the lock of its database",
            format!(
                "another study is using '{schema}': wait for its end, or give another name with \
                 --engine-option schema=NAME"
            ),
        )),
    }
}

fn is_there(control: &mut Conn, schema: &str) -> Result<bool, EngineError> {
    let found: Option<u64> = control
        .exec_first("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", (schema,))
        .map_err(|cause| query("look for its database", &cause))?;
    Ok(found.unwrap_or(0) > 0)
}

fn is_ours(control: &mut Conn, schema: &str) -> Result<bool, EngineError> {
    let marked: Option<u64> = control
        .exec_first(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
            (schema, MARK),
        )
        .map_err(|cause| query("look for the mark of its database", &cause))?;
    if marked.unwrap_or(0) == 0 {
        return Ok(false);
    }
    let says: Option<String> = control
        .query_first(format!("SELECT says FROM `{schema}`.{MARK}"))
        .map_err(|cause| query("read the mark of its database", &cause))?;
    Ok(says.as_deref() == Some(MARK_TEXT))
}

/// Drops the listed objects and the database if it contains nothing else; otherwise nothing.
///
/// # Errors
/// It contains objects that threadwise did not make, which the error names; or an error of the server.
pub(crate) fn drop_ours(control: &mut Conn, schema: &str) -> Result<(), EngineError> {
    let action = format!("drop its database '{schema}'");
    let refuse = |cause: &mysql::Error| query(action.clone(), cause);
    let listed: Vec<(String, String)> = match has_list(control, schema).map_err(|cause| refuse(&cause))? {
        true => control
            .query(format!("SELECT kind, name FROM `{schema}`.{OBJECTS}"))
            .map_err(|cause| refuse(&cause))?,
        // Killed while it was being made.
        false => Vec::new(),
    };
    // Checked first: a refused study leaves the database unchanged.
    let look = |control: &mut Conn, listed: &[(String, String)]| {
        let there = objects(control, schema).map_err(|cause| refuse(&cause))?;
        let others = foreign(&there, listed);
        if others.is_empty() {
            return Ok(());
        }
        let why = format!(
            "it contains objects that threadwise did not make: {}; move them elsewhere, or give another name \
             with --engine-option schema=NAME",
            others.join(", ")
        );
        Err(failed(action.clone(), why))
    };
    look(control, &listed)?;
    for (kind, name) in &listed {
        let kind = if kind == "procedure" { "PROCEDURE" } else { "TABLE" };
        let sql = format!("DROP {kind} IF EXISTS `{schema}`.`{}`", name.replace('`', "``"));
        control.query_drop(sql).map_err(|cause| refuse(&cause))?;
    }
    // DROP DATABASE drops everything, so objects made in the meantime need a second check.
    look(control, &[])?;
    control.query_drop(format!("DROP DATABASE `{schema}`")).map_err(|cause| refuse(&cause))
}

/// Names of the objects in a database that are not in a list of kinds and names.
fn foreign(there: &[(String, String)], listed: &[(String, String)]) -> Vec<String> {
    there.iter().filter(|object| !listed.contains(object)).map(|(_, name)| name.clone()).collect()
}

fn has_list(control: &mut Conn, schema: &str) -> mysql::Result<bool> {
    let found: Option<u64> = control.exec_first(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
        (schema, OBJECTS),
    )?;
    Ok(found.unwrap_or(0) > 0)
}

/// Kind and name of the tables, views, routines, events and triggers of the database, without its own three tables.
/// Threadwise's kinds are `table` and `procedure`.
fn objects(control: &mut Conn, schema: &str) -> mysql::Result<Vec<(String, String)>> {
    control.exec(
        "SELECT IF(TABLE_TYPE = 'BASE TABLE', 'table', LOWER(TABLE_TYPE)), TABLE_NAME \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA = :schema AND \
         TABLE_NAME NOT IN (:mark, :objects, :loads) UNION ALL \
         SELECT LOWER(ROUTINE_TYPE), ROUTINE_NAME FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = :schema UNION ALL \
         SELECT 'event', EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = :schema UNION ALL \
         SELECT 'trigger', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = :schema",
        params! { "schema" => schema, "mark" => MARK, "objects" => OBJECTS, "loads" => LOADS },
    )
}

/// Lists objects before they are made, and drops what an interrupted load left of them.
///
/// # Errors
/// An error of the server, or the database is not threadwise's.
pub(crate) fn announce(control: &mut Conn, server: &Server, objects: &Objects) -> Result<(), EngineError> {
    let schema = server.schema();
    let action = "list the objects to be made";
    for (kind, names) in [("procedure", &objects.procedures), ("table", &objects.tables)] {
        for name in names {
            control
                .exec_drop(format!("REPLACE INTO `{schema}`.{OBJECTS} VALUES (?, ?)"), (kind, name))
                .map_err(|cause| query(action, &cause))?;
            control
                .query_drop(format!("DROP {kind} IF EXISTS `{schema}`.`{name}`"))
                .map_err(|cause| query("drop what an interrupted load left", &cause))?;
        }
    }
    Ok(())
}

/// Result of an earlier load of the same data, if it was finished.
///
/// # Errors
/// An error of the server: the database does not exist.
pub(crate) fn loaded(control: &mut Conn, schema: &str, suffix: &str) -> Result<Option<Loaded>, EngineError> {
    let row: Option<(u64, u64, String)> = control
        .exec_first(
            format!("SELECT bytes, counted, notes FROM `{schema}`.{LOADS} WHERE suffix = ?"),
            (suffix,),
        )
        .map_err(|cause| query("look for its data", &cause))?;
    Ok(row.map(|(bytes_per_session, rows_per_session, notes)| Loaded {
        bytes_per_session,
        rows_per_session,
        notes: notes.lines().map(str::to_owned).collect(),
    }))
}

/// Records that data is complete.
///
/// # Errors
/// An error of the server.
pub(crate) fn finished(
    control: &mut Conn,
    schema: &str,
    suffix: &str,
    loaded: &Loaded,
) -> Result<(), EngineError> {
    control
        .exec_drop(
            format!("INSERT INTO `{schema}`.{LOADS} VALUES (?, ?, ?, ?)"),
            (suffix, loaded.bytes_per_session, loaded.rows_per_session, loaded.notes.join("\n")),
        )
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
        let there = objects(&[
            ("table", "blocks_0"),
            ("view", "blocks_0"),
            ("function", "read_0"),
            ("table", "Blocks_0"),
            ("trigger", "watch"),
        ]);
        assert_eq!(foreign(&there, &listed), ["blocks_0", "read_0", "Blocks_0", "watch"]);
    }
}
