//! The server's threads: which one serves a connection, and what it used.
//!
//! Source: information_schema.PROCESSLIST.TID is the kernel's thread number
//! (mariadb.com/kb/en/information-schema-processlist-table). The number alone proves nothing: the
//! server may run on another machine or in another PID namespace, where it belongs to another thread. So the
//! thread must be one of a MariaDB server, and must use CPU time when a query asks for it.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_process::proc;

use crate::Server;
use crate::error::query;

/// CPU time that the proof needs, nanoseconds: the query uses several times that.
const PROOF_NS: u64 = 1_000_000;

/// A thread of a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backend {
    /// The server's process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

/// What a thread has used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub cpu_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub wait_ns: Option<u64>,
}

impl Backend {
    /// The current values. Zeros if it has ended, which the connection's error reports.
    pub(super) fn usage(self) -> Usage {
        let times = proc::thread_times(self.pid, self.tid);
        let switches = proc::switches(self.pid, self.tid).unwrap_or_default();
        Usage {
            cpu_ns: times.map_or(0, |times| times.cpu_ns),
            voluntary: switches.voluntary,
            involuntary: switches.involuntary,
            wait_ns: times.map(|times| times.wait_ns),
        }
    }

    /// The same for a thread that may be out of reach; zeros if it is.
    pub(super) fn usage_of(backend: Option<Self>) -> Usage {
        backend.map(Self::usage).unwrap_or_default()
    }
}

/// The thread that serves this connection: `Ok(Err(why))` if it is out of reach.
///
/// # Errors
/// An error of the server.
pub(crate) fn locate(connection: &mut Conn, server: &Server) -> Result<Result<Backend, String>, EngineError> {
    if !server.near() {
        return Ok(Err(format!("it runs on another machine ({})", server.place())));
    }
    let action = "find the thread of a session";
    let handling: Option<String> =
        connection.query_first("SELECT @@thread_handling").map_err(|cause| query(action, &cause))?;
    if handling.as_deref() != Some("one-thread-per-connection") {
        let why = format!(
            "its sessions have no threads of their own (thread_handling={})",
            handling.unwrap_or_default()
        );
        return Ok(Err(why));
    }
    let tid: Option<u32> = connection
        .query_first("SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")
        .map_err(|cause| query(action, &cause))?;
    let elsewhere = || Ok(Err("it runs on another machine or in another PID namespace".to_owned()));
    let Some(backend) = tid.and_then(process_of) else { return elsewhere() };
    let before = backend.usage();
    let question = "SELECT BENCHMARK(20000, MD5(RAND()))";
    connection.query_drop(question).map_err(|cause| query(action, &cause))?;
    if backend.usage().cpu_ns < before.cpu_ns + PROOF_NS {
        return elsewhere();
    }
    Ok(Ok(backend))
}

/// The MariaDB server that a thread belongs to.
fn process_of(tid: u32) -> Option<Backend> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let pid: u32 = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
    let title = proc::title(pid)?;
    let program = title.split(' ').next()?.rsplit('/').next()?;
    ["mariadbd", "mysqld"].contains(&program).then_some(Backend { pid, tid })
}
