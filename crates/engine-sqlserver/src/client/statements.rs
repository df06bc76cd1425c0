//! Statements: the names of what they are about, their places filled in, and running them.

use threadwise_engine::EngineError;
use tiberius::{FromSql, Row};

use crate::client::connect::Connection;
use crate::client::error::query;
use crate::failed;

/// Names of objects of one treatment, ready for statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// The schema that they are in.
    pub schema: &'a str,
    /// What the names of this treatment end with.
    pub suffix: &'a str,
}

impl Names<'_> {
    fn quoted(&self, name: &str) -> String {
        format!("[{}].[{name}]", self.schema)
    }

    /// The table that a session of `logical-io` reads.
    pub(crate) fn blocks(&self, table: u32) -> String {
        self.quoted(&format!("blocks{}_{table}", self.suffix))
    }

    /// The loop over that table.
    pub(crate) fn read_blocks(&self, table: u32) -> String {
        self.quoted(&format!("read_blocks{}_{table}", self.suffix))
    }

    /// The table that is inserted into.
    pub(crate) fn inserted(&self) -> String {
        self.quoted(&format!("inserted{}", self.suffix))
    }

    /// Keys on their way into it.
    pub(crate) fn staging(&self) -> String {
        self.quoted(&format!("keys{}", self.suffix))
    }

    /// What was seeded.
    pub(crate) fn facts(&self) -> String {
        self.quoted(&format!("facts{}", self.suffix))
    }

    /// The loop that inserts.
    pub(crate) fn insert_rows(&self) -> String {
        self.quoted(&format!("insert_rows{}", self.suffix))
    }

    /// One transaction of rows in memory, which that loop calls.
    pub(crate) fn insert_few(&self) -> String {
        self.quoted(&format!("insert_few{}", self.suffix))
    }
}

/// A statement with its places filled in, without its comments.
pub(crate) fn fill(sql: &str, places: &[(&str, &str)]) -> String {
    let bare: Vec<&str> = sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    places.iter().fold(bare.join("\n"), |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
}

/// Runs a statement that gives nothing back.
pub(crate) fn run(connection: &mut Connection, action: &str, sql: &str) -> Result<(), EngineError> {
    connection.run(sql).map_err(|cause| query(action, &cause))
}

/// The first row of a statement that has one.
pub(crate) fn one_row(connection: &mut Connection, action: &str, sql: &str) -> Result<Row, EngineError> {
    let rows = connection.rows(sql).map_err(|cause| query(action, &cause))?;
    rows.into_iter().next().ok_or_else(|| failed(action, "it gave no row"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_comments_left_out() {
        let sql = fill("-- what\nSELECT {a}, {b}\n  -- more\nFROM {a}", &[("a", "x"), ("b", "y")]);
        assert_eq!(sql, "SELECT x, y\nFROM x");
        let names = Names { schema: "s", suffix: "_1" };
        assert_eq!(
            (names.blocks(2), names.inserted()),
            ("[s].[blocks_1_2]".into(), "[s].[inserted_1]".into())
        );
    }
}
