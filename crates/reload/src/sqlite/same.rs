//! Comparing two SQLite files outside of a reload.

use super::compare;
use crate::driver::Checked;
use crate::error::ItemError;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Compares two databases as a reload compares them: settings, schema, and every value of every row.
///
/// # Errors
/// The first difference, or what cannot be read.
pub fn same_rows(old: &Path, new: &Path) -> Result<Checked, ItemError> {
    let open = |path: &Path| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags)
            .map_err(|error| ItemError::failed(format!("{} cannot be opened: {error}", path.display())))
    };
    compare::compare(&open(old)?, &open(new)?, &|| Ok(()))
}
