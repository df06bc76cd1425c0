//! Names of other databases in statements that may write: only the one that was named may be written to, and a name in
//! full reaches all that the account may write to.
//!
//! Which table a statement writes to MariaDB does not tell before it is done. So a name of another database before a
//! dot is refused, wherever it stands: in a text or a comment it can be avoided, and there it does no harm.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::Transaction;
use threadwise_study::transaction::SQL;

use crate::error::query;

/// Refuses statements that may write where they name another database of this server.
///
/// # Errors
/// The first name, with the line of its statement; or the server's.
pub(super) fn check(connection: &mut Conn, transaction: &Transaction) -> Result<(), EngineError> {
    let Some(named) = &transaction.may_write else { return Ok(()) };
    let all: Vec<String> = connection
        .query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")
        .map_err(|cause| query("list the databases", &cause))?;
    let others: Vec<String> =
        all.iter().filter(|name| *name != named).map(|name| name.to_lowercase()).collect();
    let first = transaction.statements.iter().find_map(|statement| {
        let text = statement.text(|_| "?".to_owned()).to_lowercase();
        Some((statement.line, others.iter().find(|name| names(&text, name))?))
    });
    match first {
        None => Ok(()),
        Some((line, other)) => Err(refuse(
            SQL,
            format!(
                "line {line} is about the database '{other}', and only '{named}' may be written to; an alias of that \
                 name needs another one"
            ),
        )),
    }
}

/// Whether a text has this name before a dot, in backquotes or without; both in small letters.
fn names(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].trim_end_matches('`'), &text[at + name.len()..]);
        let begins = before.len() < at || !before.ends_with(is_part);
        begins && after.trim_start_matches('`').trim_start().starts_with('.')
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_database_is_named_before_a_dot() {
        for text in ["update other.t set", "insert into `other`.`t`", "select * from other . t", "(other.t)"]
        {
            assert!(names(text, "other"), "{text}");
        }
        for text in
            ["update another.t", "update other_.t", "select other from t", "select t.other, 1", "other"]
        {
            assert!(!names(text, "other"), "{text}");
        }
        assert!(names("x.a, other.b", "other") && names("my-shop.t", "my-shop"));
    }
}
