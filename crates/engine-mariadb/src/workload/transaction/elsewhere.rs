//! Names of other databases in statements that may write: only the named database may be written to, and a full name
//! reaches everything that the account may write to.
//!
//! MariaDB does not tell which table a statement writes to before it is executed. So a name of another database before
//! a dot is refused in any place; in a string or a comment the user can avoid it.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::Transaction;
use threadwise_study::transaction::SQL;

use crate::error::query;

/// Refuses statements that may write and that name another database of this server.
///
/// # Errors
/// The first name, with the line of its statement; or an error of the server.
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
                "line {line} names the database '{other}', and only '{named}' may be written to; rename an \
                 alias of that name"
            ),
        )),
    }
}

/// Whether a text contains this name before a dot, with or without backquotes; both in lower case.
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
