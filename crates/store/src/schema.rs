//! The schema, its version, and the comparison of a file's schema with it.

use crate::error::{Fault, one_line};
use rusqlite::Connection;

/// The tables of version 1.
const FIRST: &str = include_str!("schema.sql");
/// Additions of version 2. No table of an older version is changed, so that an older file becomes a present one
/// when its study is resumed.
const SECOND: &str = include_str!("schema_2.sql");
/// Additions of version 3.
const THIRD: &str = include_str!("schema_3.sql");
/// Additions of version 4.
const FOURTH: &str = include_str!("schema_4.sql");
/// Additions of version 5.
const FIFTH: &str = include_str!("schema_5.sql");
/// Additions of version 6.
const SIXTH: &str = include_str!("schema_6.sql");
/// Additions of version 7.
const SEVENTH: &str = include_str!("schema_7.sql");
/// Marks the file as threadwise's in SQLite's header: `thwi`.
pub(crate) const APPLICATION_ID: u32 = 0x7468_7769;
/// Current version of the schema, in SQLite's header as `user_version`.
pub const VERSION: i32 = 7;

/// A version that some release wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// Times of every logical CPU by slice.
    One = 1,
    /// Sums for those that a run does not use.
    Two = 2,
    /// Looks.
    Three = 3,
    /// Tests of looks: two logical CPUs without each other.
    Four = 4,
    /// Long windows.
    Five = 5,
    /// Boots.
    Six = 6,
    /// Codes of notes.
    Seven = 7,
}

impl Version {
    /// The current one.
    pub const LAST: Self = Self::Seven;

    /// The version of this number; `None` if there was none.
    pub fn of(number: i32) -> Option<Self> {
        let all = [Self::One, Self::Two, Self::Three, Self::Four, Self::Five, Self::Six, Self::Seven];
        all.into_iter().find(|version| *version as i32 == number)
    }
}

/// Makes the tables in an empty file.
pub(crate) fn make(connection: &Connection) -> Result<(), Fault> {
    connection.execute_batch(FIRST)?;
    bring_up_to_date(connection, Version::One)
}

/// Makes the tables that a file of an older version lacks.
pub(crate) fn bring_up_to_date(connection: &Connection, version: Version) -> Result<(), Fault> {
    Ok(connection.execute_batch(&since(version, Version::LAST))?)
}

/// The tables of a version that older ones lack.
fn since(old: Version, new: Version) -> String {
    let added = [
        (Version::Two, SECOND),
        (Version::Three, THIRD),
        (Version::Four, FOURTH),
        (Version::Five, FIFTH),
        (Version::Six, SIXTH),
        (Version::Seven, SEVENTH),
    ];
    added.into_iter().filter(|(version, _)| *version > old && *version <= new).map(|(_, text)| text).collect()
}

/// One entry of `sqlite_schema`: type, name, table, SQL text.
type Entry = (String, String, String, Option<String>);

/// Checks that the file's tables and indexes are exactly the expected ones: a foreign view, trigger,
/// generated column or CHECK would be run by threadwise's queries.
pub(crate) fn verify(connection: &Connection, version: Version) -> Result<(), Fault> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(FIRST)?;
    ours.execute_batch(&since(Version::One, version))?;
    let expected = entries(&ours)?;
    let found = entries(connection)?;
    if let Some(entry) = found.iter().find(|entry| !expected.contains(entry)) {
        let (kind, name) = (one_line(&entry.0), one_line(&entry.1));
        let known = expected.iter().any(|ours| ours.1 == entry.1);
        let what = if known { "differs" } else { "is unknown" };
        return Err(Fault::NotOurs(format!("its {kind} {name} {what}")));
    }
    match expected.iter().find(|entry| !found.contains(entry)) {
        Some(entry) => Err(Fault::NotOurs(format!("it lacks the {} {}", entry.0, entry.1))),
        None => Ok(()),
    }
}

fn entries(connection: &Connection) -> Result<Vec<Entry>, Fault> {
    // The schema has fewer than 50; more than 100 need not be read to refuse it.
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

    /// Files in the hands of users were made with exactly these texts.
    #[test]
    fn the_schema_of_a_version_never_changes() {
        assert_eq!(
            [FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH].map(hash),
            [
                0x33c4_8770_f9e4_c9fe,
                0xa70f_40d8_b2fe_7c64,
                0x181f_01b4_eb1c_d11f,
                0x6a71_52d7_9598_0ce0,
                0x507e_0b00_d0c5_8349,
                0x8aaf_9487_33a1_88da,
                0x9db8_4664_dac3_4771
            ],
            "a schema changed: give it a new user_version, read the old one too, then set its hash"
        );
        assert_eq!(Version::of(VERSION), Some(Version::LAST));
        assert_eq!((Version::of(0), Version::of(VERSION + 1)), (None, None));
    }

    #[test]
    fn limits_in_the_schema_are_those_of_the_code() {
        use crate::value::{COUNT_MAX, MOMENT_MAX, ORDINAL_MAX};
        for limit in [COUNT_MAX, MOMENT_MAX, ORDINAL_MAX] {
            assert!(FIRST.contains(&format!(" {limit})")), "{limit}");
        }
        assert!(FIRST.contains(&format!(" BETWEEN 1 AND {})", threadwise_study::tpch::QUERIES)));
        assert!(FIRST.contains(&format!("application_id = {APPLICATION_ID:#x}")));
        assert!(SEVENTH.contains(&format!("user_version = {VERSION}")));
        assert!(
            FIFTH.contains(&format!(
                " BETWEEN {} AND {ORDINAL_MAX})",
                threadwise_study::plan::long::FIRST_BLOCK
            ))
        );
    }
}
