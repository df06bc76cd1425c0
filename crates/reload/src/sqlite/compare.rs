//! Comparing two SQLite databases: persistent settings, schema, and every value of every row in its
//! place. No checksum is needed, since both are available.

use crate::error::ItemError;
use crate::report::Checked;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// Settings that a file carries and that must be the same in both.
const SETTINGS: [&str; 4] = ["auto_vacuum", "encoding", "user_version", "application_id"];
/// Rows between two checks of the stop flag.
const ROWS_BETWEEN_LOOKS: u64 = 10_000;

/// Compares both.
///
/// # Errors
/// The first difference, or what cannot be read.
pub fn compare(
    old: &Connection,
    new: &Connection,
    unless_stopped: &dyn Fn() -> Result<(), ItemError>,
) -> Result<Checked, ItemError> {
    for name in SETTINGS {
        let (before, after) = (setting(old, name)?, setting(new, name)?);
        if before != after {
            return Err(differs(&format!("{name} was {before} and is {after}")));
        }
    }
    let schema = schema(old)?;
    if schema != self::schema(new)? {
        return Err(differs("the schemas are not the same"));
    }
    let mut checked = Checked::default();
    for table in tables(old)? {
        unless_stopped()?;
        checked.rows += rows(old, new, &table, unless_stopped)?;
        checked.tables += 1;
    }
    Ok(checked)
}

fn differs(what: &str) -> ItemError {
    ItemError::failed(format!("the copy differs from the original: {what}; the original was not changed"))
}

fn unreadable(error: &rusqlite::Error) -> ItemError {
    ItemError::failed(format!("cannot be compared: {error}"))
}

/// A pragma's value as text.
///
/// # Errors
/// It cannot be queried.
pub fn setting(connection: &Connection, name: &str) -> Result<String, ItemError> {
    let value = connection.pragma_query_value(None, name, |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        })
    });
    value.map_err(|error| unreadable(&error))
}

/// Everything in the schema except the page numbers.
fn schema(connection: &Connection) -> Result<Vec<[Option<String>; 4]>, ItemError> {
    let read = || -> rusqlite::Result<Vec<[Option<String>; 4]>> {
        let mut statement = connection
            .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name")?;
        let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
        rows.collect()
    };
    read().map_err(|error| unreadable(&error))
}

/// Names of all tables with rows of their own: a virtual table's are in its shadow tables.
///
/// # Errors
/// The schema cannot be read.
pub fn tables(connection: &Connection) -> Result<Vec<String>, ItemError> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    read().map_err(|error| unreadable(&error))
}

/// Compares a table row by row in storage order; returns the number of rows.
fn rows(
    old: &Connection,
    new: &Connection,
    table: &str,
    unless_stopped: &dyn Fn() -> Result<(), ItemError>,
) -> Result<u64, ItemError> {
    let query = query(old, table)?;
    let here =
        |error: rusqlite::Error| ItemError::failed(format!("table {table} cannot be compared: {error}"));
    let mut before = old.prepare(&query).map_err(here)?;
    let mut after = new.prepare(&query).map_err(here)?;
    let columns = before.column_count();
    let (mut before, mut after) = (before.query([]).map_err(here)?, after.query([]).map_err(here)?);
    let mut count = 0;
    loop {
        match (before.next().map_err(here)?, after.next().map_err(here)?) {
            (None, None) => return Ok(count),
            (Some(one), Some(other)) => {
                count += 1;
                if !same(one, other, columns).map_err(here)? {
                    return Err(differs(&format!("row {count} of table {table}")));
                }
            }
            _ => return Err(differs(&format!("table {table} has more or fewer rows than {count}"))),
        }
        if count % ROWS_BETWEEN_LOOKS == 0 {
            unless_stopped()?;
        }
    }
}

fn same(one: &Row<'_>, other: &Row<'_>, columns: usize) -> rusqlite::Result<bool> {
    for column in 0..columns {
        let equal = match (one.get_ref(column)?, other.get_ref(column)?) {
            // Bits, so that every value equals itself.
            (ValueRef::Real(a), ValueRef::Real(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The query that reads a table in storage order: row numbers, and columns that are not computed.
fn query(connection: &Connection, table: &str) -> Result<String, ItemError> {
    let read = || -> rusqlite::Result<(Vec<String>, bool)> {
        // hidden: 0 is an ordinary column, 3 a stored generated one, 2 one computed on reading.
        let mut statement =
            connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden IN (0, 3)")?;
        let columns = statement.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let without_rowid = connection.query_row(
            "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'",
            [table],
            |row| row.get(0),
        )?;
        Ok((columns, without_rowid))
    };
    let (columns, without_rowid) = read()
        .map_err(|error| ItemError::failed(format!("columns of table {table} cannot be read: {error}")))?;
    let mut wanted: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    if !without_rowid {
        // A column may have one of these names and then hides the row's number.
        let free = |name: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        wanted.extend(["rowid", "_rowid_", "oid"].into_iter().find(free).map(str::to_owned));
    }
    // A covering index would give another order.
    Ok(format!("SELECT {} FROM main.{} NOT INDEXED", wanted.join(", "), quoted(table)))
}

/// A name quoted for SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
