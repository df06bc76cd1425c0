//! Which servers are supported: MariaDB from 10.5 on.
//!
//! 10.5 is the first with one buffer pool instance and one redo log file, for which the counters and settings here
//! are made (mariadb.com/kb/en/changes-improvements-in-mariadb-105).

use threadwise_engine::EngineError;
use threadwise_machine::text::one_line;

use crate::error::failed;

/// Oldest version: 10.5.
const OLDEST: u32 = 100_500;

/// The number in a text such as `10.11.19-MariaDB-0+deb12u1` or `mariadbd  Ver 11.4.2-MariaDB for …`:
/// 101119, 110402. `None` for MySQL and other servers that do not name themselves MariaDB.
pub(crate) fn parse(text: &str) -> Option<u32> {
    if !text.contains("MariaDB") {
        return None;
    }
    // Old protocols put 5.5.5- before it.
    let text = text.replace("5.5.5-", "");
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '.').find_map(|word| {
        let numbers: Vec<u32> = word.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        match numbers.as_slice() {
            [major, minor, patch] => Some(major * 10_000 + minor * 100 + patch),
            _ => None,
        }
    })
}

/// The number of a supported version.
///
/// # Errors
/// MySQL, or a version before 10.5.
pub(crate) fn require(text: &str, place: &str) -> Result<u32, EngineError> {
    let short = one_line(text, 80);
    match parse(text) {
        Some(version) if version >= OLDEST => Ok(version),
        Some(_) => Err(failed(
            format!("use the server at {place}"),
            format!(
                "MariaDB '{short}' is older than 10.5, the oldest whose counters are known; use a newer one"
            ),
        )),
        None => Err(failed(
            format!("use the server at {place}"),
            format!(
                "'{short}' is not MariaDB, and MySQL's counters have other meanings; use MariaDB 10.5 or newer"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_servers_and_programs() {
        for (text, version) in [
            ("10.11.19-MariaDB-0+deb12u1", Some(101_119)),
            ("5.5.5-10.4.7-MariaDB", Some(100_407)),
            ("mariadbd  Ver 11.4.2-MariaDB-ubu2404 for debian-linux-gnu on x86_64", Some(110_402)),
            ("8.0.36", None),
            ("mysqld  Ver 8.4.0 for Linux on x86_64 (MySQL Community Server - GPL)", None),
            ("MariaDB", None),
        ] {
            assert_eq!(parse(text), version, "{text}");
        }
    }

    #[test]
    fn old_ones_and_mysql_are_refused_with_the_reason() {
        assert_eq!(require("10.5.0-MariaDB", "x").unwrap(), 100_500);
        assert!(require("10.4.34-MariaDB", "x").unwrap_err().to_string().contains("older than 10.5"));
        assert!(require("8.0.36\n", "x").unwrap_err().to_string().contains("'8.0.36' is not MariaDB"));
    }
}
