//! Requests to the transaction manager.
//!
//! Source: \[MS-TDS\] 2.2.6.9 (`TransMgrReq`).

use crate::fault::{Fault, unknown};
use crate::headers;
use crate::reader::Reader;

/// A request to the transaction manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transaction {
    /// Begin a transaction.
    Begin {
        /// Its isolation level.
        isolation: Isolation,
        /// Its name, usually empty.
        name: String,
    },
    /// Commit it.
    Commit {
        /// The name, usually empty.
        name: String,
        /// Isolation level of another transaction to begin at once, if requested.
        next: Option<Isolation>,
    },
    /// Roll it back, or back to a savepoint.
    Rollback {
        /// The name of the savepoint, or empty.
        name: String,
        /// Isolation level of another transaction to begin at once, if requested.
        next: Option<Isolation>,
    },
    /// Set a savepoint.
    Save {
        /// Its name.
        name: String,
    },
}

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// The session's current level.
    Current,
    /// `READ UNCOMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
    /// `SNAPSHOT`.
    Snapshot,
}

/// Parses a request, to the last byte. `transaction` is the open one, 0 for none.
pub fn read(payload: &[u8], transaction: u64) -> Result<Transaction, Fault> {
    let mut reader = Reader::new("transaction manager request", payload);
    headers::read(&mut reader, transaction)?;
    let request = match reader.u16()? {
        5 => Transaction::Begin { isolation: isolation(&mut reader)?, name: name(&mut reader)? },
        7 => Transaction::Commit { name: name(&mut reader)?, next: next(&mut reader)? },
        8 => Transaction::Rollback { name: name(&mut reader)?, next: next(&mut reader)? },
        9 => match name(&mut reader)? {
            name if name.is_empty() => return Err(reader.fault("a savepoint without a name")),
            name => Transaction::Save { name },
        },
        kind => return Err(unknown(format!("request {kind} to the transaction manager"))),
    };
    reader.finish()?;
    match (&request, transaction) {
        (Transaction::Begin { .. }, _) | (_, 1..) => Ok(request),
        _ => Err(reader.fault(format!("{request:?} without a transaction"))),
    }
}

fn isolation(reader: &mut Reader<'_>) -> Result<Isolation, Fault> {
    match reader.u8()? {
        0 => Ok(Isolation::Current),
        1 => Ok(Isolation::ReadUncommitted),
        2 => Ok(Isolation::ReadCommitted),
        3 => Ok(Isolation::RepeatableRead),
        4 => Ok(Isolation::Serializable),
        5 => Ok(Isolation::Snapshot),
        level => Err(reader.fault(format!("isolation level {level}"))),
    }
}

/// A name: its length is in bytes here (`B_VARBYTE`).
fn name(reader: &mut Reader<'_>) -> Result<String, Fault> {
    let bytes = reader.u8()?;
    reader.utf16(usize::from(bytes))
}

/// The transaction to begin after this one.
fn next(reader: &mut Reader<'_>) -> Result<Option<Isolation>, Fault> {
    match reader.u8()? {
        0 => Ok(None),
        1 => {
            let level = isolation(reader)?;
            match name(reader)? {
                name if name.is_empty() => Ok(Some(level)),
                name => Err(unknown(format!("a name, {name}, for the transaction after this one"))),
            }
        }
        flags => Err(unknown(format!("XACT_FLAGS {flags:#04x}"))),
    }
}
