//! `logical-io` on SQLite: one connection and one file per session.
//!
//! The settings follow SQLite's documentation (pragma.html, threadsafe.html, c3ref): pages of 4 KiB
//! so that a row of 3,500 bytes has a leaf of its own; no memory mapping, which would bypass the page
//! cache and its counters; a cache larger than the file; NOMUTEX and no memory statistics, so
//! that sessions share no lock; the file lock taken once and kept, so that a step makes no system
//! call.
//!
//! A read does not touch a block's whole 4 KiB: it touches the page's header, the row's first bytes
//! and the cache's own entry for the page, some 8 lines of 64 bytes. So a table of 4 KiB blocks
//! outgrows a processor cache at about 8 times the cache's size (on a core with 2 MiB of L2, the time
//! per row rose steeply between 8 and 32 MiB of blocks and not at 2).

mod data;
mod session;
mod spec;

use crate::{EngineError, Running, Session, SessionRequest};
pub(super) use data::load;
pub use session::{READ_SQL, SqliteSession};
pub(super) use spec::spec;

/// SQLite is a library: there is nothing to start before connections are opened.
#[derive(Debug)]
pub(super) struct Connections;

impl Running for Connections {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(SqliteSession::open(request)?))
    }
}
