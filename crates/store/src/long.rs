//! Blocks of long windows, and rows of their sessions by piece.

use crate::error::Fault;
use crate::schema::Version;
use crate::value::{Ascending, COUNT_MAX, ORDINAL_MAX, all, bounded};
use rusqlite::Connection;
use threadwise_study::plan::long::is_long;
use threadwise_study::{Run, SessionSlice};

/// The kind of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those of slices.
    Slices,
    /// Those of long windows.
    LongWindows,
}

impl Which {
    /// Whether a block is one of them.
    pub fn has(self, block: u32) -> bool {
        (self == Self::LongWindows) == is_long(block)
    }

    /// The runs that are these, of all.
    pub fn of(self, runs: Vec<Run>) -> Vec<Run> {
        runs.into_iter().filter(|run| self.has(run.block)).collect()
    }
}

/// Records that a block is one of long windows, if it is.
pub(crate) fn block_started(connection: &Connection, block: u32) -> Result<(), Fault> {
    if is_long(block) {
        connection
            .prepare_cached("INSERT INTO long_blocks (block) VALUES (?) ON CONFLICT DO NOTHING")?
            .execute([block])?;
    }
    Ok(())
}

/// Checks the numbers of blocks: the list has all long ones, and no other.
pub(crate) fn check_blocks(
    connection: &Connection,
    version: Version,
    begun: impl Iterator<Item = u32>,
) -> Result<(), Fault> {
    let listed = match version >= Version::Five {
        true => all(connection, "long_blocks", "SELECT block FROM long_blocks ORDER BY block", |row, _| {
            row.ordinal(0)
        })?,
        false => Vec::new(),
    };
    if let Some(block) = listed.iter().find(|block| !is_long(**block)) {
        return Err(Fault::Damaged(format!("long_blocks has the block {block}, which is not one")));
    }
    match begun.filter(|block| is_long(*block)).find(|block| listed.binary_search(block).is_err()) {
        Some(block) => Err(Fault::Damaged(format!("long_blocks lacks the block {block}"))),
        None => Ok(()),
    }
}

/// Stores the rows of a session's pieces.
pub(crate) fn insert_pieces(connection: &Connection, session: i64, pieces: &[u64]) -> Result<(), Fault> {
    let mut insert = connection
        .prepare_cached("INSERT INTO session_pieces (session_slice, piece, rows) VALUES (?, ?, ?)")?;
    for (piece, rows) in pieces.iter().enumerate() {
        insert.execute([
            session,
            bounded(piece as u64, ORDINAL_MAX, "piece")?,
            bounded(*rows, COUNT_MAX, "rows of a piece")?,
        ])?;
    }
    Ok(())
}

/// Adds the rows of pieces to their sessions, which are numbered from 1.
pub(crate) fn add_pieces(
    connection: &Connection,
    sessions: &mut [(usize, usize, SessionSlice)],
) -> Result<(), Fault> {
    let sql = "SELECT session_slice, piece, rows FROM session_pieces ORDER BY session_slice, piece";
    let mut rows = Ascending::default();
    all(connection, "session_pieces", sql, |row, _| {
        let (session, piece) = (row.index(0, 1, sessions.len())?, row.ordinal(1)?);
        rows.next("session_pieces", session, piece as usize)?;
        let pieces = &mut sessions[session].2.rows_by_piece;
        if pieces.len() != piece as usize {
            return Err(Fault::Damaged(format!("session_pieces lacks a piece before {piece}")));
        }
        pieces.push(row.count(2)?);
        Ok(())
    })?;
    Ok(())
}
