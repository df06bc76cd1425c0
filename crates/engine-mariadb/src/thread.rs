//! The server's threads: which one serves a connection.
//!
//! Source: information_schema.PROCESSLIST.TID is the kernel's thread number
//! (mariadb.com/kb/en/information-schema-processlist-table); so is THREAD_OS_ID of MySQL's performance_schema.threads,
//! which needs a right. The number alone proves nothing: the
//! server may run on another machine or in another PID namespace, where it belongs to another thread. So the
//! thread must be one of such a server, and must use CPU time when a query asks for it.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine_sql::Usage;
use threadwise_process::proc;

use crate::Server;
use crate::error::code;

/// CPU time that the proof needs, nanoseconds: the query uses several times that.
const PROOF_NS: u64 = 1_000_000;

/// The error of an account that may not read a table.
const DENIED: u16 = 1142;

/// The thread that serves this connection: `Ok(Err(why))` if it is out of reach.
///
/// # Errors
/// An error of the server.
pub(crate) fn locate(connection: &mut Conn, server: &Server) -> Result<Result<Thread, String>, EngineError> {
    if !server.near() {
        return Ok(Err(format!("it runs on another machine ({})", server.place())));
    }
    let (action, product) = ("find the thread of a session", server.product());
    let handling: Option<String> =
        connection.query_first("SELECT @@thread_handling").map_err(|cause| product.query(action, &cause))?;
    if handling.as_deref() != Some("one-thread-per-connection") {
        let why = format!(
            "its sessions have no threads of their own (thread_handling={})",
            handling.unwrap_or_default()
        );
        return Ok(Err(why));
    }
    let tid: Option<u32> = match connection.query_first(product.own_thread) {
        Err(cause) if code(&cause) == Some(DENIED) => {
            let why = "its threads are unknown: the account lacks the right (GRANT SELECT ON \
                       performance_schema.threads TO the account)";
            return Ok(Err(why.to_owned()));
        }
        found => found.map_err(|cause| product.query(action, &cause))?,
    };
    let elsewhere = || Ok(Err("it runs on another machine or in another PID namespace".to_owned()));
    let Some(thread) = tid.and_then(process_of) else { return elsewhere() };
    let before = Usage::of_thread(Some(thread));
    let question = "SELECT BENCHMARK(20000, SHA2(RAND(), 256))";
    connection.query_drop(question).map_err(|cause| product.query(action, &cause))?;
    if Usage::of_thread(Some(thread)).cpu_ns < before.cpu_ns + PROOF_NS {
        return elsewhere();
    }
    Ok(Ok(thread))
}

/// The server that a thread belongs to.
fn process_of(tid: u32) -> Option<Thread> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let pid: u32 = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
    let title = proc::title(pid)?;
    let program = title.split(' ').next()?.rsplit('/').next()?;
    ["mariadbd", "mysqld"].contains(&program).then_some((pid, tid))
}
