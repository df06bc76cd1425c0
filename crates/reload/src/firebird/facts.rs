//! What must be the same in a database and in its restored copy: settings, objects, sequences, and the
//! rows of every table, as queried by `facts.sql`.
//!
//! Source: Firebird 3.0's system and monitoring tables. `gbak` carries all of these settings over (tested
//! with 3.0.11); the user who restores becomes the owner of the database, so the restore runs under the owner's
//! name.

use super::tools::{Tool, ToolError, Tools};
use std::fs;
use std::path::Path;

const SCRIPT: &str = include_str!("facts.sql");

/// The facts of one database, a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    lines: Vec<String>,
    /// Owner of the database.
    pub owner: String,
    /// Tables whose rows were counted.
    pub tables: u64,
    /// Rows in them.
    pub rows: u64,
}

/// Queries a database in the work folder.
///
/// # Errors
/// See [`ToolError`].
pub(super) fn ask(
    tools: &Tools,
    folder: &Path,
    file: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Facts, ToolError> {
    let text = answer(tools, folder, (file, "facts", SCRIPT), is_stopped)?;
    parse(&text).map_err(ToolError::Failed)
}

/// Output of `isql` for a script on a database in the work folder; `name` is the script's.
///
/// # Errors
/// See [`ToolError`].
pub(super) fn answer(
    tools: &Tools,
    folder: &Path,
    (file, name, script): (&str, &str, &str),
    is_stopped: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let failed = |why: &dyn std::fmt::Display| ToolError::Failed(why.to_string());
    fs::write(folder.join(format!("{name}.sql")), script).map_err(|error| failed(&error))?;
    let output = format!("{file}.{name}");
    let answer = folder.join(&output);
    match fs::remove_file(&answer) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(&error)),
        // isql-fb would append to the file of an earlier query.
        _ => {}
    }
    let (database, input) = (format!("./{file}"), format!("./{name}.sql"));
    // -nod: no trigger of the database may run when this connects. The embedded engine accepts SYSDBA's
    // name from any user who can open the file.
    #[rustfmt::skip]
    let args = [
        "-q", "-b", "-nod", "-ch", "UTF8", "-sql_dialect", "3", "-user", "SYSDBA",
        "-i", &input, "-o", &output, &database,
    ];
    tools.run(folder, Tool::Isql, &args, &format!("{name}-{file}"), is_stopped)?;
    let text = fs::read(&answer).map_err(|error| failed(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn parse(text: &str) -> Result<Facts, String> {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    let value = |name: &str| {
        let found = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.ok_or_else(|| format!("the queries on it gave no `{name}`"))
    };
    let total = lines.last().and_then(|line| line.strip_prefix("all ")?.split_once(' '));
    let total = total.and_then(|(tables, rows)| Some((tables.parse().ok()?, rows.parse().ok()?)));
    let (tables, rows) = total.ok_or("the queries on it gave no complete answer")?;
    if value("id")? != "10" {
        return Err("its table RDB$FILES has another number than in Firebird 3 to 5".to_owned());
    }
    Ok(Facts { owner: value("owner")?.to_owned(), tables, rows, lines })
}

impl Facts {
    /// The same without the facts with these names.
    pub fn without(mut self, names: &[&str]) -> Self {
        self.lines.retain(|line| !names.iter().any(|name| line.starts_with(&format!("{name} "))));
        self
    }

    /// Whether it is read-only and still reserves space in pages for later versions of rows.
    pub fn is_reserved_read_only(&self) -> bool {
        ["read-only 1", "reserve 1"].iter().all(|wanted| self.lines.iter().any(|line| line == wanted))
    }

    /// Why a database cannot be restored as one complete file, if so.
    pub fn refusal(&self) -> Option<&'static str> {
        let none = |name: &str| self.lines.iter().any(|line| line == name);
        if !none("files 0") {
            Some("it has a shadow, a second file or a difference file")
        } else if !none("external 0") {
            Some("it has external tables, whose rows are in other files")
        } else {
            None
        }
    }

    /// The first difference, as text; `None` if there is none.
    pub fn difference(&self, new: &Self) -> Option<String> {
        let lost = self.lines.iter().find(|line| !new.lines.contains(line));
        let made = new.lines.iter().find(|line| !self.lines.contains(line));
        match (lost, made) {
            (None, None) if self.lines.len() == new.lines.len() => None,
            (None, None) => Some(format!("{} facts became {}", self.lines.len(), new.lines.len())),
            (Some(lost), None) => Some(format!("`{lost}` is missing")),
            (None, Some(made)) => Some(format!("`{made}` was not there")),
            (Some(lost), Some(made)) => Some(format!("`{lost}` became `{made}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n\nid 10   \nfiles 0  \nexternal 0\n\nowner MIKE THE 2ND   \nforced writes  1\n\
                        rows 2 in T\nrows 3 in U  \nall 2 5\n";

    fn facts(from: &str, to: &str) -> Facts {
        parse(&TEXT.replacen(from, to, 1)).unwrap()
    }

    #[test]
    fn facts_are_read_from_what_isql_writes() {
        let facts = parse(TEXT).unwrap();
        assert_eq!((facts.tables, facts.rows, facts.owner.as_str()), (2, 5, "MIKE THE 2ND"));
        assert_eq!(facts.refusal(), None);
        assert!(facts.lines.contains(&"forced writes 1".to_owned()));
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        assert!(parse("").unwrap_err().contains("no complete answer"));
        assert!(parse(&TEXT.replace("all 2 5", "")).unwrap_err().contains("no complete answer"));
        assert!(parse(&TEXT.replace("owner", "x")).unwrap_err().contains("owner"));
        assert!(parse(&TEXT.replace("id 10", "id 11")).unwrap_err().contains("RDB$FILES"));
    }

    #[test]
    fn other_files_are_a_refusal() {
        assert!(facts("files 0", "files 1").refusal().unwrap().contains("shadow"));
        assert!(facts("external 0", "external 2").refusal().unwrap().contains("external"));
    }

    #[test]
    fn the_first_difference_is_reported() {
        let old = facts("", "");
        assert_eq!(old.difference(&old), None);
        let lost = facts("rows 3 in U", "rows 2 in U");
        assert_eq!(old.difference(&lost).unwrap(), "`rows 3 in U` became `rows 2 in U`");
        let gone = facts("rows 3 in U", "");
        assert_eq!(old.difference(&gone).unwrap(), "`rows 3 in U` is missing");
        assert_eq!(gone.difference(&old).unwrap(), "`rows 3 in U` was not there");
        let twice = facts("rows 2 in T", "rows 2 in T\nrows 2 in T");
        assert!(old.difference(&twice).unwrap().contains("became"));
    }
}
