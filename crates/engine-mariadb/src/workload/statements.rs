//! Statements of the workloads: the names of what they are about, their places filled in, and running them.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;

use crate::error::query;

/// Names of objects of one treatment, ready for statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// The database that they are in.
    pub schema: &'a str,
    /// What the names of this treatment end with.
    pub suffix: &'a str,
}

impl Names<'_> {
    fn quoted(&self, name: &str) -> String {
        format!("`{}`.`{name}`", self.schema)
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

    /// The seed of a table in memory, which no restart keeps.
    pub(crate) fn seed(&self) -> String {
        self.quoted(&format!("seed{}", self.suffix))
    }

    /// What was seeded.
    pub(crate) fn facts(&self) -> String {
        self.quoted(&format!("facts{}", self.suffix))
    }

    /// The loop that inserts.
    pub(crate) fn insert_rows(&self) -> String {
        self.quoted(&format!("insert_rows{}", self.suffix))
    }
}

/// A statement with its places filled in.
pub(super) fn fill(sql: &str, places: &[(&str, &str)]) -> String {
    places.iter().fold(sql.to_owned(), |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
}

/// Runs a statement that gives nothing back.
pub(super) fn run(connection: &mut Conn, action: &str, sql: &str) -> Result<(), EngineError> {
    connection.query_drop(sql).map_err(|cause| query(action, &cause))
}
