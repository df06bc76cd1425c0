//! What sessions report as inserted, and the comparison with the table.

use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::super::error::failed;
use crate::EngineError;

/// Rows that sessions report as inserted into a file.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: AtomicU64,
    pub(super) key_sum: AtomicI64,
}

impl Tally {
    /// Called between slices only, so that sessions do not contend here during the measurement.
    pub(super) fn add(&self, rows: u64, key_sum: i64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.key_sum.fetch_add(key_sum, Ordering::Relaxed);
    }
}

/// Compares number of rows and sum of keys with the expected ones.
pub(super) fn check_rows(
    connection: &Connection,
    file: &Path,
    expected: (u64, i64),
) -> Result<(), EngineError> {
    let found = connection
        .query_row(include_str!("check.sql"), [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))
        .map_err(|cause| failed("check the table", format!("{}: {cause}", file.display())))?;
    if found == expected {
        return Ok(());
    }
    Err(EngineError::WrongAnswer(format!(
        "{}: {} rows with key sum {} instead of {} rows with key sum {}",
        file.display(),
        found.0,
        found.1,
        expected.0,
        expected.1
    )))
}
