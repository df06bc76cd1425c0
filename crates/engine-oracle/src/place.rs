//! Binding of the server's processes: those of sessions to their logical CPUs, and log writers, database writers and the
//! checkpoint's to those of the service.
//!
//! Source: Oracle Database Reference 19c, "V$PROCESS" (SPID, STID, PNAME) and "V$SESSION" (SERVER). A process number is no
//! proof: the server may run on another machine or in another PID namespace. So its host name must be this one's, the
//! process must be Oracle's, and it must use CPU time when a block asks for it. Processes that start others (PSP0, LREG and
//! similar) are not bound, since what they start would inherit a mask.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use threadwise_engine::servers::{Rights, Thread};
use threadwise_engine::{EngineError, Placed, Standing, StartRequest};
use threadwise_engine_sql::{Connection, Host, Threads, Usage, Value};
use threadwise_machine::CpuSet;
use threadwise_process::proc;
use threadwise_study::Note;

use crate::connection::OracleConnection;
use crate::error::failed;
use crate::meter::{text, whole};

/// CPU time that the proof must show, nanoseconds, and how often it is tried: the process may have been without a CPU.
const PROOF_NS: u64 = 1_000_000;
const PROOFS: u32 = 5;

/// How long the kernel may take to count it.
const SETTLE: Duration = Duration::from_millis(2);

/// Who a connection is to the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identity {
    /// Its number.
    pub sid: i64,
    /// The instance that it is on.
    pub instance: String,
    /// The server's machine.
    pub host: String,
    /// `tcp` or `tcps`.
    pub protocol: String,
}

impl Identity {
    /// Asks the server.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn ask(connection: &mut OracleConnection) -> Result<Self, EngineError> {
        let rows = connection.rows("ask who it is", include_str!("sql/session_own.sql"), &[])?;
        let row = rows.first().map_or(&[][..], Vec::as_slice);
        let [instance, host, protocol] = [1, 2, 3].map(|at| text(row, at).unwrap_or_default().to_owned());
        Ok(Self { sid: whole(row, 0).unwrap_or_default(), instance, host, protocol })
    }
}

/// The process that serves a connection: `Ok(Err(why))` if it is out of reach.
///
/// # Errors
/// An error of the server.
pub(crate) fn locate(
    connection: &mut OracleConnection,
    identity: &Identity,
) -> Result<Result<Thread, String>, EngineError> {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if short(&identity.host) != short(here.trim_end()) {
        let host = if identity.host.is_empty() { "its name is unknown" } else { &identity.host };
        return Ok(Err(format!("it runs on another machine ({host})")));
    }
    let action = "find the process of a session";
    let Some(rows) = connection.maybe(action, include_str!("sql/session_process.sql"), &[])? else {
        let why = "its processes are unknown: the account lacks SELECT on V_$PROCESS and V_$SESSION (GRANT SELECT ON \
                   SYS.V_$PROCESS TO the account, and likewise)";
        return Ok(Err(why.to_owned()));
    };
    let [row] = rows.as_slice() else { return Ok(Err("its processes are unknown".to_owned())) };
    let kind = text(row, 2).unwrap_or_default();
    if kind != "DEDICATED" {
        return Ok(Err(format!("its sessions have no processes of their own (V$SESSION.SERVER is {kind})")));
    }
    let (process, thread) = (whole(row, 0), whole(row, 1));
    if thread.is_some() && thread != process {
        return Ok(Err("its sessions are threads of a few processes (threaded_execution)".to_owned()));
    }
    let pid = process.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
    if is_oracle(pid) {
        for _ in 0..PROOFS {
            let before = Usage::of_thread(Some((pid, pid))).cpu_ns;
            connection.run(action, include_str!("sql/session_work.sql"))?;
            std::thread::sleep(SETTLE);
            if Usage::of_thread(Some((pid, pid))).cpu_ns >= before + PROOF_NS {
                return Ok(Ok((pid, pid)));
            }
        }
    }
    let why = "is not one of its processes here: it runs in another PID namespace (a container)";
    Ok(Err(format!("process {pid} {why}")))
}

/// Whether a process has Oracle's title: `oracleSID (LOCAL=NO)`, `ora_lgwr_SID`.
fn is_oracle(pid: u32) -> bool {
    let title = proc::title(pid).unwrap_or_default();
    let name = title.rsplit('/').next().unwrap_or_default();
    name.starts_with("oracle") || name.starts_with("ora_")
}

/// Where the server's processes are placed for a treatment.
pub(crate) struct Placing {
    /// Logical CPUs of each session.
    sessions: Vec<CpuSet>,
    /// Logical CPUs of the service.
    service: CpuSet,
    /// Whether masks may be changed, and are recorded first.
    rights: Rights,
    /// Whether parallel execution servers work for the sessions.
    is_parallel: bool,
    /// Log writers and similar, by name, once they were found.
    service_pids: Mutex<Vec<(String, u32)>>,
}

impl Placing {
    /// For a treatment on the user's server.
    pub(crate) fn new(request: &StartRequest, is_parallel: bool) -> Self {
        Self {
            sessions: request.sessions.clone(),
            service: request.service.clone(),
            rights: Rights::of(false, request.journal.as_deref()),
            is_parallel,
            service_pids: Mutex::default(),
        }
    }

    fn bind(&self, name: String, (pid, _): Thread, cpus: &CpuSet) -> Result<Placed, EngineError> {
        let threads: Vec<Thread> = proc::thread_numbers(pid).into_iter().map(|tid| (pid, tid)).collect();
        let bound = self.rights.bind_running(&threads, cpus);
        bound.map_err(|cause| failed(format!("place {name}"), cause))?;
        Ok(Placed { name, pid, tid: pid, cpus: cpus.clone() })
    }

    /// Binds the sessions' processes and the control connection's. Service processes are those of all treatments: they
    /// are listed without logical CPUs, and bound before each slice.
    fn bind_all(
        &self,
        control: &mut OracleConnection,
        threads: &Threads,
    ) -> Result<(Vec<Placed>, Option<Note>), EngineError> {
        let mut placed = Vec::new();
        for (number, thread) in &threads.sessions {
            let cpus = self.sessions.get(*number as usize).unwrap_or(&self.service);
            placed.push(self.bind(format!("session {number}"), *thread, cpus)?);
        }
        if let Some(thread) = threads.control {
            placed.push(self.bind("control connection".to_owned(), thread, &self.service)?);
        }
        let rows =
            control.rows("find the server's processes", include_str!("sql/service_processes.sql"), &[])?;
        let process = |row: &Vec<Value>| {
            let pid = u32::try_from(whole(row, 1)?).ok().filter(|pid| is_oracle(*pid))?;
            Some((text(row, 0)?.to_lowercase(), pid))
        };
        let found: Vec<(String, u32)> = rows.iter().filter_map(process).collect();
        let entry = |(name, pid): &(String, u32)| Placed {
            name: name.clone(),
            pid: *pid,
            tid: *pid,
            cpus: CpuSet::new(),
        };
        placed.extend(found.iter().map(entry));
        let missing =
            found.is_empty().then(|| "the server's log writer was not found, and stays where it is".into());
        *self.service_pids.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok((placed, missing))
    }
}

impl Host<OracleConnection> for Placing {
    fn standing(
        &self,
        control: &mut OracleConnection,
        threads: Result<Threads, String>,
    ) -> Result<Standing, EngineError> {
        let within_reach = threads.and_then(|threads| {
            threads.control.map_or(Ok(()), |thread| self.rights.may_bind(thread)).map(|()| threads)
        });
        let mut notes = vec![Note::memory_placed_earlier("the server is yours and ran before the study")];
        let placed = match within_reach {
            Ok(threads) => {
                let (placed, missing) = self.bind_all(control, &threads)?;
                notes.extend(missing);
                let pool = "parallel execution servers come from the instance's pool and run where they are; only the \
                            coordinators are bound";
                notes.extend(self.is_parallel.then(|| Note::not_pinned(pool)));
                placed
            }
            Err(why) => {
                notes.push(Note::not_pinned(&why));
                Vec::new()
            }
        };
        Ok(Standing { placed, notes })
    }

    fn before(&self, _: &mut OracleConnection) -> Result<(), EngineError> {
        let found = self.service_pids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.into_iter().try_for_each(|(name, pid)| self.bind(name, (pid, pid), &self.service).map(drop))
    }
}
