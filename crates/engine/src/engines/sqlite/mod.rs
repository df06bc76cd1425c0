//! The engine `sqlite`: SQLite inside the worker process, one connection and one file per session.
//!
//! The settings follow SQLite's documentation (pragma.html, threadsafe.html, c3ref): pages of 4 KiB
//! so that a row of 3,500 bytes has a leaf of its own; no memory mapping, or the page cache and its
//! counters would be passed by; a cache larger than the file; NOMUTEX and no memory statistics, so
//! that sessions share no lock; the file lock taken once and kept, so that a step makes no system
//! call.
//!
//! A read does not touch a block's whole 4 KiB: it touches the page's header, the row's first bytes
//! and the cache's own entry for the page, some 8 lines of 64 bytes. So a table of 4 KiB blocks
//! leaves a processor cache at about 8 times the cache's size (on a core with 2 MiB of L2, the time
//! per row rose steeply between 8 and 32 MiB of blocks and not at 2).

mod data;
mod ffi;
mod session;

use crate::workloads::logical_io::{self, LogicalIo};
use crate::{Engine, EngineError, LoadRequest, Loaded, Session, SessionRequest};
pub use ffi::{CacheCounters, take_cache_counters};
pub use session::{READ_SQL, SqliteSession};

/// Bytes of a page.
const PAGE_BYTES: u64 = logical_io::BLOCK_BYTES;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn version(&self) -> String {
        rusqlite::version().to_owned()
    }

    fn about(&self) -> &'static str {
        "SQLite inside the worker: no server, no configuration, one file per session"
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        spec(request).map(drop)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        data::load(request, &spec(request)?)
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(SqliteSession::open(request)?))
    }
}

/// Checks the whole request and gives the workload's options.
fn spec(request: &LoadRequest) -> Result<LogicalIo, EngineError> {
    let refuse = |option: &str, why: String| EngineError::Option { option: option.to_owned(), why };
    if request.workload != logical_io::NAME {
        let why = format!("sqlite has no '{}'; it has: {}", request.workload, logical_io::NAME);
        return Err(refuse("workload", why));
    }
    if let Some(name) = request.engine_options.keys().next() {
        return Err(refuse(name, "unknown to sqlite; it has no engine options".into()));
    }
    if request.sessions == 0 {
        return Err(refuse("sessions", "0 sessions do no work; ask for at least 1".into()));
    }
    let spec = LogicalIo::parse(&request.options)?;
    if spec.shared && spec.updates() {
        let why = "SQLite's cache belongs to one session: an update by one empties that of all others; \
                   use shared=false or update_pct=0";
        return Err(refuse("shared", why.into()));
    }
    Ok(spec)
}

fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: "sqlite".into(), action: action.into(), why: why.to_string() }
}

/// Called before any connection is opened.
fn initialise() -> Result<(), EngineError> {
    ffi::memory_statistics_off().map_err(|code| {
        failed("turn memory statistics off", format!("result code {code}; this process used SQLite before"))
    })
}
