//! Blocks: attempts at them, which are begun, completed and superseded, each on a boot.

use crate::error::Fault;
use crate::value::{all, first, seconds};
use rusqlite::{Connection, params};
use threadwise_study::Boot;

/// An attempt at a block that is complete.
pub(crate) struct Complete {
    /// The block.
    pub block: u32,
    /// Its boot, if known.
    pub boot: Option<u32>,
}

/// Refuses additions to an attempt that was not started, or is complete or superseded.
pub(crate) fn check_live(connection: &Connection, block: u32, attempt: u32) -> Result<(), Fault> {
    let sql = "SELECT complete_s IS NOT NULL OR superseded FROM blocks WHERE block = ? AND attempt = ?";
    match first(connection, "blocks", sql, [block, attempt], |row| row.flag(0))? {
        Some(false) => Ok(()),
        Some(true) => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} is over"))),
        None => Err(Fault::Unstorable(format!("attempt {attempt} at block {block} was not started"))),
    }
}

/// Begins an attempt at a block.
pub(crate) fn start(
    connection: &Connection,
    block: u32,
    attempt: u32,
    boot: Option<u32>,
    started_s: f64,
) -> Result<(), Fault> {
    let sql = "SELECT attempt FROM blocks WHERE block = ? AND (superseded = 0 OR attempt = ?)";
    if let Some(live) = first(connection, "blocks", sql, [block, attempt], |row| row.ordinal(0))? {
        let what =
            format!("block {block} was started as attempt {live}, which is not superseded or is the same");
        return Err(Fault::Unstorable(what));
    }
    let sql = "INSERT INTO blocks (block, attempt, boot, started_s) VALUES (?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![
        block,
        attempt,
        boot,
        seconds(started_s, "start of the block")?,
    ])?;
    Ok(())
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

/// Marks attempts that were begun but not completed.
pub(crate) fn supersede_incomplete(connection: &Connection) -> Result<Vec<u32>, Fault> {
    let open = "FROM blocks WHERE complete_s IS NULL AND superseded = 0";
    let blocks =
        all(connection, "blocks", &format!("SELECT block {open} ORDER BY block"), |row, _| row.ordinal(0))?;
    connection.execute(
        &format!("UPDATE runs SET superseded = 1 WHERE (block, attempt) IN (SELECT block, attempt {open})"),
        [],
    )?;
    connection.execute("UPDATE blocks SET superseded = 1 WHERE complete_s IS NULL AND superseded = 0", [])?;
    Ok(blocks)
}

/// Complete blocks, ascending, including those of long windows.
pub(crate) fn all_complete(connection: &Connection, boots: &[Boot]) -> Result<Vec<Complete>, Fault> {
    let sql = "SELECT block, attempt, boot, complete_s, superseded FROM blocks ORDER BY block, attempt";
    let mut last = None;
    let blocks = all(connection, "blocks", sql, |row, _| {
        let (block, attempt) = (row.ordinal(0)?, row.ordinal(1)?);
        // This also ends a file whose pages form a loop.
        if last.replace((block, attempt)) >= Some((block, attempt)) {
            return Err(Fault::Damaged("blocks has rows out of order".into()));
        }
        let boot = row.optional_index(2, 1, boots.len())?.map(|at| boots[at].number);
        Ok((row.optional_real(3)?.is_some() && !row.flag(4)?).then_some(Complete { block, boot }))
    })?;
    Ok(blocks.into_iter().flatten().collect())
}

/// One more than the highest attempt at a block, or 0.
pub(crate) fn next_attempt(connection: &Connection, block: u32) -> Result<u32, Fault> {
    let sql = "SELECT attempt FROM blocks WHERE block = ? ORDER BY attempt DESC LIMIT 1";
    let last = first(connection, "blocks", sql, [block], |row| row.ordinal(0))?;
    Ok(last.map_or(0, |attempt| attempt + 1))
}
