//! The schema, its version, and the comparison of a file's schema with it.

use crate::error::{Fault, one_line};
use rusqlite::Connection;

/// The statements that make an empty result file.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");
/// Marks the file as ours in SQLite's header: `thwi`.
pub(crate) const APPLICATION_ID: u32 = 0x7468_7769;
/// Version of the schema, in SQLite's header as `user_version`.
pub const VERSION: i32 = 1;

/// One entry of `sqlite_schema`: type, name, table, SQL text.
type Entry = (String, String, String, Option<String>);

/// Checks that the file's tables and indexes are exactly ours, to the letter: a view, a trigger, a
/// generated column or a CHECK of somebody else's would be run by our own queries.
pub(crate) fn verify(connection: &Connection) -> Result<(), Fault> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(SCHEMA)?;
    let expected = entries(&ours)?;
    let found = entries(connection)?;
    if let Some(entry) = found.iter().find(|entry| !expected.contains(entry)) {
        let (kind, name) = (one_line(&entry.0), one_line(&entry.1));
        let known = expected.iter().any(|ours| ours.1 == entry.1);
        let what = if known { "is not as it should be" } else { "is not one of ours" };
        return Err(Fault::NotOurs(format!("its {kind} {name} {what}")));
    }
    match expected.iter().find(|entry| !found.contains(entry)) {
        Some(entry) => Err(Fault::NotOurs(format!("it lacks the {} {}", entry.0, entry.1))),
        None => Ok(()),
    }
}

fn entries(connection: &Connection) -> Result<Vec<Entry>, Fault> {
    // Ours has fewer than 50; more than 100 need not be read to know that it is not ours.
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a, 64 bits.
    fn hash(text: &str) -> u64 {
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Files in the hands of users were made with exactly this text.
    #[test]
    fn the_schema_of_a_version_never_changes() {
        assert_eq!(
            (VERSION, hash(SCHEMA)),
            (1, 0x33c4_8770_f9e4_c9fe),
            "schema.sql changed: give it a new user_version, read the old one too, then set this hash"
        );
    }

    #[test]
    fn limits_in_the_schema_are_those_of_the_code() {
        use crate::value::{COUNT_MAX, MOMENT_MAX, ORDINAL_MAX};
        for limit in [COUNT_MAX, MOMENT_MAX, ORDINAL_MAX] {
            assert!(SCHEMA.contains(&format!(" {limit})")), "{limit}");
        }
        assert!(SCHEMA.contains(&format!(" BETWEEN 1 AND {})", threadwise_study::tpch::QUERIES)));
        assert!(SCHEMA.contains(&format!("application_id = {APPLICATION_ID:#x}")));
        assert!(SCHEMA.contains(&format!("user_version = {VERSION}")));
    }
}
