//! Blocks: attempts at them, which are begun, completed and superseded, each on a boot.

use crate::error::{Fault, StoreError};
use crate::store::Store;
use crate::value::{all, first, seconds};
use rusqlite::{Connection, params};
use threadwise_study::plan::long::is_long;

/// Refuses additions to an attempt that was not started, or is complete or superseded.
pub(crate) fn check_live(connection: &Connection, block: u32, attempt: u32) -> Result<(), Fault> {
    let sql = "SELECT complete_s IS NOT NULL OR superseded FROM blocks WHERE block = ? AND attempt = ?";
    match first(connection, "blocks", sql, [block, attempt], |row| row.flag(0))? {
        Some(false) => Ok(()),
        Some(true) => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} is over"))),
        None => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} was not started"))),
    }
}

/// Completes an attempt at a block.
pub(crate) fn complete(
    connection: &Connection,
    block: u32,
    attempt: u32,
    complete_s: f64,
) -> Result<(), Fault> {
    check_live(connection, block, attempt)?;
    connection
        .prepare_cached("UPDATE blocks SET complete_s = ? WHERE block = ? AND attempt = ?")?
        .execute(params![seconds(complete_s, "end of the block")?, block, attempt])?;
    Ok(())
}

impl Store {
    /// The number of each complete block, ascending, including those of long windows, and its boot, if known.
    fn all_complete(&self) -> Result<Vec<(u32, Option<u32>)>, StoreError> {
        let boots = self.boots()?;
        let sql = "SELECT block, attempt, boot, complete_s, superseded FROM blocks ORDER BY block, attempt";
        let mut last = None;
        let blocks = self.file.reading(|connection| {
            all(connection, "blocks", sql, |row, _| {
                let (block, attempt) = (row.ordinal(0)?, row.ordinal(1)?);
                // This also ends a file whose pages form a loop.
                if last.replace((block, attempt)) >= Some((block, attempt)) {
                    return Err(Fault::Damaged("blocks has rows out of order".into()));
                }
                let boot = row.optional_index(2, 1, boots.len())?.map(|at| boots[at].number);
                Ok((row.optional_real(3)?.is_some() && !row.flag(4)?).then_some((block, boot)))
            })
        })?;
        Ok(blocks.into_iter().flatten().collect())
    }

    /// The number and boot of each complete block whose boot is known, ascending, including those of long windows.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn block_boots(&self) -> Result<Vec<(u32, u32)>, StoreError> {
        Ok(self.all_complete()?.into_iter().filter_map(|(block, boot)| Some((block, boot?))).collect())
    }

    /// Numbers of the blocks of slices that are complete, ascending.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn complete_blocks(&self) -> Result<Vec<u32>, StoreError> {
        Ok(self
            .all_complete()?
            .into_iter()
            .map(|(block, _)| block)
            .filter(|block| !is_long(*block))
            .collect())
    }

    /// The same for long windows.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn complete_long_blocks(&self) -> Result<Vec<u32>, StoreError> {
        Ok(self.all_complete()?.into_iter().map(|(block, _)| block).filter(|block| is_long(*block)).collect())
    }

    /// The number of the next attempt at a block: 0 for a block that was never begun.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn next_attempt(&self, block: u32) -> Result<u32, StoreError> {
        let sql = "SELECT attempt FROM blocks WHERE block = ? ORDER BY attempt DESC LIMIT 1";
        let last = |connection: &Connection| first(connection, "blocks", sql, [block], |row| row.ordinal(0));
        Ok(self.file.reading(last)?.map_or(0, |attempt| attempt + 1))
    }

    /// Records that an attempt at a block begins, `started_s` seconds after the study's start.
    ///
    /// # Errors
    /// The block is complete, or an attempt at it is not superseded yet; else as [`Store::append_run`].
    pub fn block_started(&mut self, block: u32, attempt: u32, started_s: f64) -> Result<(), StoreError> {
        let boot = self.boot;
        self.file.writing(|connection| {
            let sql = "SELECT attempt FROM blocks WHERE block = ? AND (superseded = 0 OR attempt = ?)";
            if let Some(live) = first(connection, "blocks", sql, [block, attempt], |row| row.ordinal(0))? {
                return Err(Fault::Unstorable(format!(
                    "block {block} was started as attempt {live}, which is not superseded or is the same"
                )));
            }
            let row = params![block, attempt, boot, seconds(started_s, "start of the block")?];
            let sql = "INSERT INTO blocks (block, attempt, boot, started_s) VALUES (?, ?, ?, ?)";
            connection.prepare_cached(sql)?.execute(row)?;
            Ok(())
        })
    }

    /// Records that an attempt at a block is complete, `complete_s` seconds after the study's start.
    ///
    /// # Errors
    /// The attempt was not started or is over; else as [`Store::append_run`].
    pub fn block_complete(&mut self, block: u32, attempt: u32, complete_s: f64) -> Result<(), StoreError> {
        self.file.writing(|connection| complete(connection, block, attempt, complete_s))
    }

    /// Marks the blocks that were begun but not completed, and their runs, as superseded. Returns
    /// their numbers, ascending. Deletes nothing.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn supersede_incomplete_blocks(&mut self) -> Result<Vec<u32>, StoreError> {
        let open = "FROM blocks WHERE complete_s IS NULL AND superseded = 0";
        let list = format!("SELECT block {open} ORDER BY block");
        let runs = format!(
            "UPDATE runs SET superseded = 1 WHERE (block, attempt) IN (SELECT block, attempt {open})"
        );
        let blocks = "UPDATE blocks SET superseded = 1 WHERE complete_s IS NULL AND superseded = 0";
        self.file.writing(|connection| {
            let found = all(connection, "blocks", &list, |row, _| row.ordinal(0))?;
            connection.execute(&runs, [])?;
            connection.execute(blocks, [])?;
            Ok(found)
        })
    }
}
