//! Binding of the server's threads: sessions to their own logical CPUs, all other threads to the service CPUs.
//!
//! mariadbd is one process. The process list names the threads of connections; all others are service
//! threads. InnoDB's thread pool starts and ends threads as it likes, and a new thread inherits the mask of
//! the one that asked for it, so this module looks for service threads again before each slice. It cannot
//! choose which thread writes the redo log: the session that commits does (log0log, `log_write_up_to`), for
//! all that wait with it.

use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use threadwise_engine::servers::{Rights, Thread};
use threadwise_engine::{EngineError, Placed};
use threadwise_machine::CpuSet;

use crate::error::{failed, query};
use crate::workload::Backend;

/// Threads found by the last look: all threads of the server's process, those of connections too.
pub(crate) struct Known {
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
fn without_connections(control: &mut Conn, threads: &BTreeSet<u32>) -> Result<Vec<u32>, EngineError> {
    // After the list: if a thread started in between, it is a connection's and is removed here.
    let connections: Vec<u32> = control
        .query("SELECT TID FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon'")
        .map_err(|cause| query("list the server's threads", &cause))?;
    Ok(threads.iter().copied().filter(|tid| !connections.contains(tid)).collect())
}

/// Names from the performance schema; none if it is off.
fn names(control: &mut Conn) -> BTreeMap<u32, String> {
    let rows: mysql::Result<Vec<(Option<u32>, String)>> =
        control.query("SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE TYPE = 'BACKGROUND'");
    let short = |name: String| {
        let last = name.rsplit('/').next().unwrap_or_default();
        last.strip_suffix("_thread").unwrap_or(last).to_owned()
    };
    rows.unwrap_or_default().into_iter().filter_map(|(tid, name)| Some((tid?, short(name)))).collect()
}

/// Which threads may be bound, and where.
pub(crate) struct Places<'a> {
    /// Logical CPUs of each session.
    pub sessions: &'a [CpuSet],
    /// Logical CPUs of all other threads.
    pub service: &'a CpuSet,
    /// Whether masks may be changed, and are recorded first.
    pub rights: &'a Rights,
    /// Whether other treatments place the service threads elsewhere for their slices.
    pub shared: bool,
}

impl Places<'_> {
    /// Binds the sessions' threads, the control connection's, and all service threads. Shared service threads are
    /// listed without logical CPUs and not bound, since they are placed before each slice.
    ///
    /// # Errors
    /// A thread could not be bound.
    pub(crate) fn bind_all(
        &self,
        control: &mut Conn,
        sessions: &[(u32, Backend)],
        control_thread: Backend,
    ) -> Result<(Vec<Placed>, Known), EngineError> {
        let mut placed = Vec::new();
        for (number, backend) in sessions {
            let cpus = self.sessions.get(*number as usize).unwrap_or(self.service);
            self.bind(*backend, cpus).map_err(|cause| failed(format!("place session {number}"), cause))?;
            placed.push(entry(format!("session {number}"), *backend, cpus));
        }
        self.bind(control_thread, self.service)
            .map_err(|cause| failed("place the control connection", cause))?;
        placed.push(entry("control connection".into(), control_thread, self.service));
        let mut known = Known::nothing(control_thread.pid);
        // Workers of other treatments begin at the same time, and would move shared threads before they are read back.
        let service = match self.shared {
            true => service_threads(control, &mut known)?,
            false => self.bind_service(control, &mut known)?,
        };
        let names = names(control);
        let nowhere = CpuSet::new();
        let cpus = if self.shared { &nowhere } else { self.service };
        placed.extend(service.into_iter().map(|tid| {
            let backend = Backend { pid: known.pid, tid };
            entry(names.get(&tid).cloned().unwrap_or_else(|| kernel_name(backend)), backend, cpus)
        }));
        Ok((placed, known))
    }

    /// Before a slice: binds the service threads that are not in their place. In a server of one treatment only new
    /// ones can be, and mostly there are none.
    ///
    /// # Errors
    /// A thread could not be bound.
    pub(crate) fn keep_service(&self, control: &mut Conn, known: &mut Known) -> Result<(), EngineError> {
        if !self.shared && threads(known.pid).is_subset(&known.threads) {
            return Ok(());
        }
        self.bind_service(control, known).map(drop)
    }

    /// Finds the service threads, and binds those that are not in their place; gives all.
    fn bind_service(&self, control: &mut Conn, known: &mut Known) -> Result<Vec<u32>, EngineError> {
        let service = service_threads(control, known)?;
        let pid = known.pid;
        let threads: Vec<Thread> = service.iter().map(|tid| (pid, *tid)).collect();
        let bound = self.rights.bind_living(&threads, self.service);
        bound.map_err(|cause| failed("place the server's threads", cause))?;
        Ok(service)
    }

    fn bind(&self, backend: Backend, cpus: &CpuSet) -> Result<(), String> {
        self.rights.bind((backend.pid, backend.tid), cpus)
    }
}

/// The current service threads.
fn service_threads(control: &mut Conn, known: &mut Known) -> Result<Vec<u32>, EngineError> {
    known.threads = threads(known.pid);
    without_connections(control, &known.threads)
}

fn entry(name: String, backend: Backend, cpus: &CpuSet) -> Placed {
    Placed { name, pid: backend.pid, tid: backend.tid, cpus: cpus.clone() }
}

/// A name for a thread that the server does not name: the kernel's, which before version 11 is that of the whole
/// process.
fn kernel_name(backend: Backend) -> String {
    let name = |tid: u32| fs::read_to_string(format!("/proc/{}/task/{tid}/comm", backend.pid)).ok();
    match (name(backend.tid), name(backend.pid)) {
        _ if backend.tid == backend.pid => "main".to_owned(),
        (Some(name), process) if process.as_ref() != Some(&name) => name.trim_end().to_owned(),
        _ => "service thread".to_owned(),
    }
}
