//! Binding of the server's threads: sessions to their own logical CPUs, all other threads to the service CPUs.
//!
//! mariadbd is one process. The process list names the threads of connections; all others are service
//! threads. InnoDB's thread pool starts and ends threads as it likes, and a new thread inherits the mask of
//! the one that asked for it, so this module looks for service threads again before each slice. It cannot
//! choose which thread writes the redo log: the session that commits does (log0log, `log_write_up_to`), for
//! all that wait with it.

use mysql::prelude::Queryable;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::{Rights, Thread, TreatmentServer};
use threadwise_engine::{EngineError, Placed, Standing, StartRequest};
use threadwise_engine_sql::{Connection, Host, Threads};
use threadwise_machine::CpuSet;
use threadwise_study::Note;

use crate::connection::MariadbConnection;
use crate::managed::Setup;

/// Threads found by the last look: all threads of the server's process, those of connections too.
struct Known {
    /// The server's process.
    pid: u32,
    threads: BTreeSet<u32>,
}

impl Known {
    fn nothing(pid: u32) -> Self {
        Self { pid, threads: BTreeSet::new() }
    }
}

/// Thread numbers of a process; empty if it has ended.
fn threads(pid: u32) -> BTreeSet<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return BTreeSet::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Removes the threads of connections from an earlier list.
fn without_connections(
    control: &mut MariadbConnection,
    threads: &BTreeSet<u32>,
) -> Result<Vec<u32>, EngineError> {
    // After the list: if a thread started in between, it is a connection's and is removed here.
    let product = control.product();
    let connections: Vec<u32> = control
        .conn
        .query(product.connections)
        .map_err(|cause| product.query("list the server's threads", &cause))?;
    Ok(threads.iter().copied().filter(|tid| !connections.contains(tid)).collect())
}

/// Names from the performance schema; none if it is off.
fn names(control: &mut MariadbConnection) -> BTreeMap<u32, String> {
    let rows: mysql::Result<Vec<(Option<u32>, String)>> = control
        .conn
        .query("SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE TYPE = 'BACKGROUND'");
    let short = |name: String| {
        let last = name.rsplit('/').next().unwrap_or_default();
        last.strip_suffix("_thread").unwrap_or(last).to_owned()
    };
    rows.unwrap_or_default().into_iter().filter_map(|(tid, name)| Some((tid?, short(name)))).collect()
}

/// A server, and where its threads are placed for a treatment.
pub(crate) struct Placing {
    /// The server of this treatment alone; `None` if others use it, too.
    server: Mutex<Option<Box<TreatmentServer<Setup>>>>,
    /// Whether it is the user's.
    is_theirs: bool,
    /// Whether other treatments place the service threads elsewhere for their slices.
    is_shared: bool,
    /// innodb_flush_log_at_trx_commit to set before each slice, if treatments share a private server.
    flush_at_commit: Option<u8>,
    /// Logical CPUs of each session.
    sessions: Vec<CpuSet>,
    /// Logical CPUs of all other threads.
    service: CpuSet,
    /// Whether masks may be changed, and are recorded first.
    rights: Rights,
    /// The server's threads, once they have been bound.
    known: Mutex<Option<Known>>,
    notes: Vec<Note>,
}

impl Placing {
    /// For a treatment on a server; `notes` tell how it was found.
    pub(crate) fn new(
        server: Option<Box<TreatmentServer<Setup>>>,
        is_theirs: bool,
        request: &StartRequest,
        flush_at_commit: Option<u8>,
        notes: Vec<Note>,
    ) -> Self {
        Self {
            is_shared: server.is_none(),
            server: Mutex::new(server),
            is_theirs,
            flush_at_commit,
            sessions: request.sessions.clone(),
            service: request.service.clone(),
            rights: Rights::of(!is_theirs, request.journal.as_deref()),
            known: Mutex::default(),
            notes,
        }
    }

    /// Why the server's threads are not bound, although they are within reach.
    fn refusal(&self, control: &mut MariadbConnection, threads: &Threads) -> Option<String> {
        if !self.is_theirs {
            return None;
        }
        if let Some(Err(why)) = threads.control.map(|thread| self.rights.may_bind(thread)) {
            return Some(why);
        }
        let sees_all: mysql::Result<Option<u64>> = control.conn.query_first(
            "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'PROCESS'",
        );
        match sees_all {
            Ok(Some(1..)) => None,
            _ => Some(
                "the account lacks the right PROCESS, without which its service threads are unknown".into(),
            ),
        }
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Binds the sessions' threads, the control connection's, and all service threads. Shared service threads are
    /// listed without logical CPUs and not bound, since they are placed before each slice.
    fn bind_all(
        &self,
        control: &mut MariadbConnection,
        threads: &Threads,
    ) -> Result<Vec<Placed>, EngineError> {
        let mut placed = Vec::new();
        for (number, thread) in &threads.sessions {
            let cpus = self.sessions.get(*number as usize).unwrap_or(&self.service);
            let bound = self.rights.bind(*thread, cpus);
            bound.map_err(|cause| control.product().failed(format!("place session {number}"), cause))?;
            placed.push(entry(format!("session {number}"), *thread, cpus));
        }
        let Some(control_thread) = threads.control else { return Ok(placed) };
        let bound = self.rights.bind(control_thread, &self.service);
        bound.map_err(|cause| control.product().failed("place the control connection", cause))?;
        placed.push(entry("control connection".into(), control_thread, &self.service));
        let mut known = Known::nothing(control_thread.0);
        // Workers of other treatments begin at the same time, and would move shared threads before they are read back.
        let service = match self.is_shared {
            true => service_threads(control, &mut known)?,
            false => self.bind_service(control, &mut known)?,
        };
        let names = names(control);
        let nowhere = CpuSet::new();
        let cpus = if self.is_shared { &nowhere } else { &self.service };
        placed.extend(service.into_iter().map(|tid| {
            let thread = (known.pid, tid);
            entry(names.get(&tid).cloned().unwrap_or_else(|| kernel_name(thread)), thread, cpus)
        }));
        *self.known() = Some(known);
        Ok(placed)
    }

    /// Finds the service threads, and binds those that are not in their place; gives all.
    fn bind_service(
        &self,
        control: &mut MariadbConnection,
        known: &mut Known,
    ) -> Result<Vec<u32>, EngineError> {
        let service = service_threads(control, known)?;
        let pid = known.pid;
        let threads: Vec<Thread> = service.iter().map(|tid| (pid, *tid)).collect();
        let bound = self.rights.bind_running(&threads, &self.service);
        bound.map_err(|cause| control.product().failed("place the server's threads", cause))?;
        Ok(service)
    }
}

impl Host<MariadbConnection> for Placing {
    fn standing(
        &self,
        control: &mut MariadbConnection,
        threads: Result<Threads, String>,
    ) -> Result<Standing, EngineError> {
        let mut notes = self.notes.clone();
        let placed = match &threads {
            Ok(threads) => match self.refusal(control, threads) {
                None => self.bind_all(control, threads)?,
                Some(why) => {
                    notes.push(Note::not_pinned(why));
                    Vec::new()
                }
            },
            Err(why) => {
                notes.push(Note::not_pinned(why));
                notes.push(
                    "the server's threads are out of reach: its CPU time is unknown and given as 0".into(),
                );
                Vec::new()
            }
        };
        Ok(Standing { placed, notes })
    }

    /// Binds the service threads that are not in their place. In a server of one treatment only new ones can be, and
    /// mostly there are none.
    fn before(&self, control: &mut MariadbConnection) -> Result<(), EngineError> {
        if let Some(known) = self.known().as_mut()
            && (self.is_shared || !threads(known.pid).is_subset(&known.threads))
        {
            self.bind_service(control, known)?;
        }
        match self.flush_at_commit {
            Some(value) => control.run(
                "set the durability of commits",
                &format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}"),
            ),
            None => Ok(()),
        }
    }

    fn finish(&self, _: bool) -> Result<(), EngineError> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map_or(Ok(()), |server| server.finish())
    }
}

/// The current service threads.
fn service_threads(control: &mut MariadbConnection, known: &mut Known) -> Result<Vec<u32>, EngineError> {
    known.threads = threads(known.pid);
    without_connections(control, &known.threads)
}

fn entry(name: String, (pid, tid): Thread, cpus: &CpuSet) -> Placed {
    Placed { name, pid, tid, cpus: cpus.clone() }
}

/// A name for a thread that the server does not name: the kernel's, which before version 11 is that of the whole
/// process.
fn kernel_name((pid, tid): Thread) -> String {
    let name = |tid: u32| fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok();
    match (name(tid), name(pid)) {
        _ if tid == pid => "main".to_owned(),
        (Some(name), process) if process.as_ref() != Some(&name) => name.trim_end().to_owned(),
        _ => "service thread".to_owned(),
    }
}
