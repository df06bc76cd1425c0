//! Where the server's threads run: sessions on their own logical CPUs, everything else on the service
//! CPUs.
//!
//! mariadbd is one process. Threads of connections are those that the process list names; all others
//! are its service threads. InnoDB's thread pool starts and ends threads as it likes, and a new thread
//! inherits the mask of the one that asked for it, so service threads are looked for again before each
//! slice. Which thread writes the redo log is no choice of ours: the session that commits does
//! (log0log, `log_write_up_to`), for all that wait with it.

use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_engine::{EngineError, Placed};
use threadwise_machine::{CpuSet, pin};
use threadwise_server::journal::Journal;
use threadwise_server::masks::{self, MaskError};
use threadwise_server::proc;

use crate::error::{failed, query};
use crate::workload::Backend;

/// The service threads by number, with the kernel's names.
fn service_threads(control: &mut Conn, pid: u32) -> Result<Vec<(u32, String)>, EngineError> {
    let action = "list the server's threads";
    // Before the process list: a thread that starts in between is a connection's and listed there.
    let threads = proc::threads(pid);
    let connections: Vec<u32> = control
        .query("SELECT TID FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon'")
        .map_err(|cause| query(action, &cause))?;
    let connections: BTreeSet<u32> = connections.into_iter().collect();
    Ok(threads.into_iter().filter(|(tid, _)| !connections.contains(tid)).collect())
}

/// Names from the performance schema; none where it is off.
fn names(control: &mut Conn) -> BTreeMap<u32, String> {
    let rows: mysql::Result<Vec<(Option<u32>, String)>> =
        control.query("SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE TYPE = 'BACKGROUND'");
    let short = |name: String| {
        let last = name.rsplit('/').next().unwrap_or_default();
        last.strip_suffix("_thread").unwrap_or(last).to_owned()
    };
    rows.unwrap_or_default().into_iter().filter_map(|(tid, name)| Some((tid?, short(name)))).collect()
}

/// Who may be bound, and where to.
pub(crate) struct Places<'a> {
    /// Logical CPUs of each session.
    pub sessions: &'a [CpuSet],
    /// Logical CPUs of the rest.
    pub service: &'a CpuSet,
    /// Where masks are written down first; `None` for a server of ours, which dies with its masks.
    pub journal: Option<&'a Journal>,
}

impl Places<'_> {
    /// Binds the sessions' threads, that of the control connection, and all service threads.
    ///
    /// # Errors
    /// A thread could not be bound.
    pub(crate) fn bind_all(
        &self,
        control: &mut Conn,
        sessions: &[(u32, Backend)],
        control_thread: Backend,
    ) -> Result<Vec<Placed>, EngineError> {
        let mut placed = Vec::new();
        for (number, backend) in sessions {
            let cpus = self.sessions.get(*number as usize).unwrap_or(self.service);
            self.record(&[(backend.pid, backend.tid)])?;
            self.bind(*backend, cpus).map_err(|cause| failed(format!("place session {number}"), cause))?;
            placed.push(entry(format!("session {number}"), *backend, cpus));
        }
        self.record(&[(control_thread.pid, control_thread.tid)])?;
        self.bind(control_thread, self.service)
            .map_err(|cause| failed("place the control connection", cause))?;
        placed.push(entry("control connection".into(), control_thread, self.service));
        let pid = control_thread.pid;
        let threads = self.bind_service(control, pid)?;
        let names = names(control);
        placed.extend(threads.into_iter().map(|(tid, comm)| {
            let own = if tid == pid { "main".to_owned() } else { comm };
            entry(names.get(&tid).cloned().unwrap_or(own), Backend { pid, tid }, self.service)
        }));
        Ok(placed)
    }

    /// Binds the service threads that are not where they should be; gives all of them.
    ///
    /// # Errors
    /// A thread could not be bound.
    pub(crate) fn bind_service(
        &self,
        control: &mut Conn,
        pid: u32,
    ) -> Result<Vec<(u32, String)>, EngineError> {
        let threads = service_threads(control, pid)?;
        let astray = |tid: u32| pin::thread_affinity(pid, tid).is_ok_and(|mask| mask != *self.service);
        let moving: Vec<(u32, u32)> =
            threads.iter().filter(|(tid, _)| astray(*tid)).map(|(tid, _)| (pid, *tid)).collect();
        self.record(&moving)?;
        for (_, tid) in &moving {
            match self.bind(Backend { pid, tid: *tid }, self.service) {
                Ok(()) | Err(MaskError::Ended { .. }) => {}
                Err(cause) => return Err(failed("place the server's threads", cause)),
            }
        }
        Ok(threads)
    }

    fn record(&self, threads: &[(u32, u32)]) -> Result<(), EngineError> {
        match self.journal {
            Some(journal) if !threads.is_empty() => journal
                .record_all(threads)
                .map(drop)
                .map_err(|cause| failed("write down the masks of the server's threads", cause)),
            _ => Ok(()),
        }
    }

    fn bind(&self, backend: Backend, cpus: &CpuSet) -> Result<(), MaskError> {
        masks::set_thread(backend.tid, cpus)
    }
}

fn entry(name: String, backend: Backend, cpus: &CpuSet) -> Placed {
    Placed { name, pid: backend.pid, tid: backend.tid, cpus: cpus.clone() }
}

/// Whether we may bind a thread at all: its present mask is set again.
pub(crate) fn may_bind(backend: Backend) -> Result<(), String> {
    let present = pin::thread_affinity(backend.pid, backend.tid).map_err(|cause| cause.to_string())?;
    masks::set_thread(backend.tid, &present).map_err(|cause| cause.to_string())
}
