//! Firebird's own check of a database in the work folder, in one line.
//!
//! Source: `gfix(1)`, "-validate": with `-full` all records, with `-no_update` nothing is repaired. It ends
//! successfully even if it finds errors, prints nothing if there are none, and otherwise a heading and
//! the number of each kind (Firebird 3.0's `src/alice/exe.cpp`). Warnings (pages without a table, as a
//! killed server leaves them) lose nothing.

use super::copy::copy;
use super::facts;
use super::lock::locked;
use super::tools::{Tool, ToolError, Tools};
use crate::driver::{Depth, ReloadItem};
use crate::error::ItemError;
use crate::report::Checked;
use std::fs;
use std::io;

/// The copy of a new file for its second check.
const COPY: &str = "swapped";

/// The damage of a database, as the first kind and the number of the others; `None` if there is none.
///
/// # Errors
/// See [`ToolError`].
pub(super) fn findings(tools: &Tools, reload: &ReloadItem, file: &str) -> Result<Option<String>, ToolError> {
    let database = format!("./{file}");
    let args = ["-v", "-full", "-n", "-user", "SYSDBA", &database];
    let said = tools.run(&reload.folder, Tool::Gfix, &args, "validate", &|| reload.is_stopped())?;
    Ok(brief(&said))
}

fn brief(said: &str) -> Option<String> {
    let lines = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let is_finding = |line: &String| {
        !line.is_empty() && !line.starts_with("Summary of validation errors") && !line.contains(" warnings")
    };
    let mut found = lines.filter(is_finding);
    let first = found.next()?;
    Some(match found.count() {
        0 => first,
        more => format!("{first}, {more} more"),
    })
}

/// Checks the new file under its name, by a copy that is made while no other process has it open.
///
/// # Errors
/// The damage.
pub(super) fn verify(tools: &Tools, reload: &ReloadItem, depth: Depth) -> Result<Option<Checked>, ItemError> {
    let path = reload.folder.join(COPY);
    match fs::remove_file(&path) {
        // From an earlier recovery that was killed.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(ItemError::failed(error)),
        _ => {}
    }
    match locked(reload) {
        Err(ItemError::Skip(_)) if depth == Depth::Check => return Ok(None),
        Err(error) => return Err(error),
        Ok(file) => copy(&file, &path, reload)?,
    }
    let found = findings(tools, reload, COPY).map_err(|error| error.of("gfix cannot check the new file"))?;
    if let Some(finding) = found {
        return Err(ItemError::failed(format!("the new file is damaged: {finding}")));
    }
    let found = facts::ask(tools, &reload.folder, COPY, &|| reload.is_stopped())
        .map_err(|error| error.of("isql cannot read the new file"))?;
    Ok((depth == Depth::Count).then_some(Checked { tables: found.tables, rows: found.rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_one_line_and_warnings_are_none() {
        assert_eq!(brief(""), None);
        let said = "Summary of validation errors\n\n\tNumber of record level errors\t: 2\n\
                    \tNumber of index page errors\t: 1\n\tNumber of database page warnings\t: 3\n";
        assert_eq!(brief(said).unwrap(), "Number of record level errors : 2, 1 more");
        assert_eq!(brief("Summary of validation errors\n\n\tNumber of database page warnings\t: 3\n"), None);
        assert_eq!(brief("something new").unwrap(), "something new");
    }
}
