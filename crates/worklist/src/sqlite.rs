//! The two steps of the recipe `sqlite`, each in its own process: `VACUUM INTO`, and SQLite's own check.
//!
//! Source: sqlite.org, "VACUUM" (lang_vacuum.html: with INTO it reads the original only, and the new file
//! has to be empty or absent), "PRAGMA integrity_check" (pragma.html), and "URI filenames" (uri.html: a
//! name that begins with `file:` may mean something else, a path that begins with `/` does not).

use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

/// Number of reported findings; there may be a hundred.
const FINDINGS: usize = 3;

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The file cannot be used at all.
    #[error("{path} cannot be {what}: {why}", path = .path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// The error of the system or SQLite.
        why: String,
    },
    /// The check found damage.
    #[error("{path} is damaged: {findings}", path = .path.display())]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// The first findings.
        findings: String,
    },
}

/// Writes a new database with the contents of another one, rebuilt. The original is opened read-only. If it has a
/// write-ahead log, SQLite leaves an empty one beside it, which a reader may not remove (sqlite.org/wal.html,
/// "Read-Only Databases").
///
/// # Errors
/// [`SqliteError::File`]; the new file is then removed, unless it was there before.
pub fn vacuum_into(from: &Path, to: &Path) -> Result<(), SqliteError> {
    let connection = open(from)?;
    let to = absolute(to)?;
    let failed = |why: String| fault("written", &to, why);
    let name = to.to_str().ok_or_else(|| failed("its name is not UTF-8".to_owned()))?;
    // Exclusively, so that an existing file, also an empty one or a link, is refused.
    let made = OpenOptions::new().write(true).create_new(true).open(&to);
    made.map_err(|error| failed(error.to_string()))?;
    connection.execute("VACUUM INTO ?1", [name]).map(drop).map_err(|error| {
        // The file is new and incomplete. A failed removal does not change the reported error.
        let _ = fs::remove_file(&to);
        fault("copied", from, error.to_string())
    })
}

/// Runs SQLite's check.
///
/// # Errors
/// [`SqliteError::Damaged`], or the file cannot be checked.
pub fn integrity_check(path: &Path) -> Result<(), SqliteError> {
    let connection = open(path)?;
    let read = || -> rusqlite::Result<Vec<String>> {
        connection.prepare("PRAGMA main.integrity_check")?.query_map([], |row| row.get(0))?.collect()
    };
    let damaged = |findings: String| SqliteError::Damaged { path: path.to_owned(), findings };
    match read() {
        Ok(rows) if rows == ["ok"] => Ok(()),
        Ok(rows) => Err(damaged(first(&rows))),
        // Some damage ends the check itself.
        Err(error) if is_damage(&error) => Err(damaged(error.to_string())),
        Err(error) => Err(fault("checked", path, error.to_string())),
    }
}

fn open(path: &Path) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(absolute(path)?, flags);
    let trusting = opened.and_then(|connection| {
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    });
    trusting.map_err(|error| fault("opened", path, error.to_string()))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn absolute(path: &Path) -> Result<PathBuf, SqliteError> {
    std::path::absolute(path).map_err(|error| fault("used", path, error.to_string()))
}

fn fault(what: &'static str, path: &Path, why: String) -> SqliteError {
    SqliteError::File { what, path: path.to_owned(), why }
}

/// The first findings on one line, without headings.
fn first(rows: &[String]) -> String {
    let lines = rows.iter().flat_map(|row| row.lines()).map(str::trim);
    let found: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("***")).collect();
    let shown = found[..found.len().min(FINDINGS)].join("; ");
    match found.len().saturating_sub(FINDINGS) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that would mean something else in a statement, in a URI, or to SQLite.
    const ODD: [&str; 5] = ["it's \"so\"", "two\nlines", "file:x?mode=memory", ":memory:", "größe ; --"];

    fn made(path: &Path, journal_mode: &str) {
        // In an absolute name nothing is odd.
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "journal_mode", journal_mode).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX i ON t (v);
                 WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000)
                 INSERT INTO t SELECT x, printf('%064d', x) FROM n;
                 DELETE FROM t WHERE id % 4 = 0;",
            )
            .unwrap();
    }

    fn rows(path: &Path) -> (i64, i64) {
        let connection = Connection::open(path).unwrap();
        connection
            .query_row("SELECT count(*), sum(id) FROM t", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    }

    #[test]
    fn a_copy_holds_the_same_rows_whatever_the_names_are() {
        let folder = tempfile::tempdir().unwrap();
        for (number, name) in ODD.iter().enumerate() {
            let (from, to) = (folder.path().join(name), folder.path().join(format!("new {name}")));
            made(&from, if number == 0 { "wal" } else { "delete" });
            let before = fs::read(&from).unwrap();
            vacuum_into(&from, &to).unwrap();
            integrity_check(&to).unwrap();
            let log = fs::metadata(folder.path().join(format!("{name}-wal"))).map(|log| log.len());
            assert!(log.is_err() && number > 0 || log.is_ok_and(|length| length == 0), "{name}");
            assert_eq!((rows(&to), before), (rows(&from), fs::read(&from).unwrap()), "{name}");
        }
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.retain(|name| !ODD.iter().any(|odd| name.to_string_lossy().ends_with(odd)));
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn nothing_is_written_over_and_nothing_half_written_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        made(&at("from"), "delete");
        fs::write(at("there"), "").unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("link")).unwrap();
        for there in ["there", "link", "from"] {
            let said = vacuum_into(&at("from"), &at(there)).unwrap_err().to_string();
            assert!(said.contains("cannot be written") && said.contains("exists"), "{said}");
        }
        assert!(fs::metadata(at("there")).unwrap().len() == 0 && !at("nowhere").exists());
        assert!(vacuum_into(&at("absent"), &at("new")).unwrap_err().to_string().contains("absent"));
        fs::write(at("text"), "no database at all, but longer than nothing".repeat(50)).unwrap();
        assert!(vacuum_into(&at("text"), &at("new")).unwrap_err().to_string().contains("not a database"));
        assert!(!at("new").exists() && !at("absent").exists());
    }

    #[test]
    fn damage_is_found_and_reported_on_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = |name: &str, damage: &dyn Fn(&Path)| {
            let path = folder.path().join(name);
            made(&path, "delete");
            integrity_check(&path).unwrap();
            damage(&path);
            let said = integrity_check(&path).unwrap_err().to_string();
            assert!(said.contains(" is damaged: ") && !said.contains('\n') && said.len() < 500, "{said}");
            said
        };
        let said = damaged("index", &|path| {
            let sql = "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'i';
                       PRAGMA writable_schema = RESET; UPDATE t SET v = 'other';
                       PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES
                       ('index', 'i', 't', 3, 'CREATE INDEX i ON t (v)')";
            Connection::open(path).unwrap().execute_batch(sql).unwrap();
        });
        assert!(said.contains("index i; ") && said.contains("; and 97 more"), "{said}");
        damaged("schema", &|path| {
            let sql = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'i'";
            Connection::open(path).unwrap().execute_batch(sql).unwrap();
        });
        damaged("header", &|path| fs::write(path, "no database ".repeat(999)).unwrap());
        assert!(integrity_check(&folder.path().join("absent")).is_err());
        assert!(!folder.path().join("absent").exists());
    }
}
