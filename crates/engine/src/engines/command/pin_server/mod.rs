//! A running server of the user, bound to the placement for a run and restored after it.
//!
//! Every thread of every process is recorded and bound, again and again until no new one is found. A later
//! thread inherits its mask and is looked for all the same, at each poll of the command: a new one that is
//! elsewhere is bound; a bound one that is elsewhere has lost its place, which fails the run.
//! `threadwise_process::find` tells what belongs to the server, `threadwise_process::journal` how masks are
//! restored after threadwise was killed. Source: `sched_setaffinity(2)`, `fork(2)`.

mod cpu;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use threadwise_machine::{CpuSet, pin};
use threadwise_process::find::{self, FindError, Identity, Member, Server};
use threadwise_process::journal::{self, Journal, NO_JOURNAL};
use threadwise_process::masks::{self, MaskError};
use threadwise_process::proc;
use threadwise_study::command::{CommandOptions, PIN_SERVER, ServerName};

use super::error::failed;
use crate::workloads::options::refuse;
use crate::{EngineError, Placed, StartRequest};

/// Polls after which a server counts as one that starts threads faster than they can be bound.
const LOOKS: u32 = 100;

/// Finds a server and refuses one that must not or cannot be bound. Changes nothing.
///
/// # Errors
/// The option `pin_server` and what is wrong with it.
pub fn find(name: &ServerName) -> Result<Server, EngineError> {
    let server = match name {
        ServerName::Pid(pid) => find::by_pid(*pid),
        ServerName::Port(port) => find::by_port(*port),
        ServerName::Socket(path) => find::by_socket(path),
        ServerName::Unit(unit) => find::by_unit(unit),
    };
    let server = server.map_err(|error| match (&error, name) {
        // A number alone is a process; the user may have meant a port.
        (FindError::Absent { .. }, ServerName::Pid(pid)) => match u16::try_from(*pid).map(find::by_port) {
            Ok(Ok(_)) => {
                refuse(PIN_SERVER, format!("there is no process {pid}; the TCP port is named port:{pid}"))
            }
            _ => refuse(PIN_SERVER, error.to_string()),
        },
        _ => refuse(PIN_SERVER, error.to_string()),
    })?;
    match server.refusal() {
        Some(why) => Err(refuse(PIN_SERVER, why)),
        None => Ok(server),
    }
}

/// Refuses logical CPUs that the control groups of a server do not allow. Changes nothing.
///
/// # Errors
/// The option `pin_server`, and which CPUs it may use.
pub fn expect_allowed(server: &Server, cpus: &CpuSet) -> Result<(), EngineError> {
    let members = server.members(&BTreeSet::new());
    let allowed = |member: &Member| Some((member.process.0, find::allowed_cpus(member.process.0)?));
    match members.iter().filter_map(allowed).find(|(_, allowed)| !cpus.is_subset(allowed)) {
        None => Ok(()),
        Some((pid, allowed)) => Err(refuse(
            PIN_SERVER,
            format!(
                "process {pid} of the server may only use logical CPUs {allowed} (its control group), and \
                 {cpus} were requested: choose placements inside, or change the group's cpuset"
            ),
        )),
    }
}

/// A server, and where it is bound.
#[derive(Debug)]
pub(super) struct Pinned {
    name: ServerName,
    cpus: CpuSet,
    journal: Journal,
    /// Path of the journal.
    path: PathBuf,
    state: Mutex<BoundServer>,
}

/// The server with what a run records of it.
#[derive(Debug)]
struct BoundServer {
    server: Server,
    /// Threads that were seen in their place, by process and thread.
    bound: BTreeSet<(u32, u32)>,
    /// Its processes at the last poll.
    seen: BTreeSet<Identity>,
    /// Processes that were recorded because their parents have ended.
    orphans: BTreeSet<Identity>,
    /// Its CPU time at the start of the run, and what it used in the run.
    before_ns: Option<u64>,
    used_ns: Option<u64>,
}

impl BoundServer {
    fn of(server: Server) -> Self {
        let (bound, seen, orphans) = Default::default();
        Self { server, bound, seen, orphans, before_ns: None, used_ns: None }
    }
}

/// A thread of the server and its mask.
struct ThreadMask {
    pid: u32,
    tid: u32,
    mask: CpuSet,
}

impl Pinned {
    /// Finds the server that the options name, if any, and binds nothing yet.
    ///
    /// # Errors
    /// There is no such server, it must not be bound, or nothing would restore its masks.
    pub fn of(
        options: &CommandOptions,
        request: &StartRequest,
        cpus: &CpuSet,
    ) -> Result<Option<Self>, EngineError> {
        let Some(name) = options.pin_server.clone() else { return Ok(None) };
        let Some(path) = request.journal.clone() else {
            return Err(refuse(PIN_SERVER, NO_JOURNAL.into()));
        };
        let server = find(&name)?;
        let journal = Journal::open(&path).map_err(|error| failed("bind the server", &error.to_string()))?;
        if let ServerName::Pid(pid) = name {
            let first = journal.server_start(pid);
            let first = first.map_err(|error| failed("bind the server", &error.to_string()))?;
            if first.is_some_and(|start| start != server.root.1) {
                let why = "is not the server of the study's beginning: name the server by its port or unit";
                return Err(refuse(PIN_SERVER, format!("process {pid} {why}")));
            }
        }
        let state = Mutex::new(BoundServer::of(server));
        Ok(Some(Self { name, cpus: cpus.clone(), journal, path, state }))
    }

    /// Binds the whole server, until a poll finds every thread in its place.
    ///
    /// # Errors
    /// It has ended, a thread may not be bound, or it starts threads too fast.
    pub fn bind(&self) -> Result<(), EngineError> {
        let mut state = self.lock();
        if !state.server.is_alive() {
            // A command may have restarted it.
            self.write_orphans(&mut state)?;
            *state = BoundServer::of(find(&self.name)?);
        }
        expect_allowed(&state.server, &self.cpus)?;
        for _ in 0..LOOKS {
            let (threads, _) = look(&mut state);
            let is_first = state.bound.is_empty();
            if !is_first && threads.iter().all(|thread| thread.mask == self.cpus) {
                state.bound = numbers_of(&threads);
                return Ok(());
            }
            // Before anything is bound, no mask is from threadwise.
            let written: Vec<&ThreadMask> =
                threads.iter().filter(|thread| is_first || thread.mask != self.cpus).collect();
            self.bind_all(&mut state, &written)?;
        }
        Err(self.lost("it starts threads faster than they can be bound".into()))
    }

    /// Records threads and binds those that are elsewhere.
    fn bind_all(&self, state: &mut BoundServer, threads: &[&ThreadMask]) -> Result<(), EngineError> {
        let numbers: Vec<(u32, u32)> = threads.iter().map(|thread| (thread.pid, thread.tid)).collect();
        let written = self
            .journal
            .record_server(&state.server, &self.cpus, &numbers)
            .map_err(|error| failed("bind the server", &error.to_string()))?;
        let written: BTreeSet<(u32, u32)> = written.into_iter().collect();
        for thread in threads.iter().filter(|thread| written.contains(&(thread.pid, thread.tid))) {
            let there = thread.mask == self.cpus;
            match if there { Ok(()) } else { masks::set_thread(thread.tid, &self.cpus) } {
                Ok(()) => drop(state.bound.insert((thread.pid, thread.tid))),
                Err(MaskError::Ended { .. }) => {}
                Err(error) => return Err(self.lost(error.to_string())),
            }
        }
        Ok(())
    }

    /// One poll during a run: binds new threads that are elsewhere. Gives a message for one that has lost its place.
    pub fn look(&self) -> Option<String> {
        let mut state = self.lock();
        if !state.server.is_alive() {
            return Some(format!("the server of {} has ended", self.name));
        }
        let (threads, orphans) = look(&mut state);
        let new = |thread: &&ThreadMask| !state.bound.contains(&(thread.pid, thread.tid));
        let astray: Vec<&ThreadMask> = threads.iter().filter(|thread| thread.mask != self.cpus).collect();
        if let Some(ThreadMask { tid, mask, .. }) = astray.iter().copied().find(|thread| !new(thread)) {
            // A thread number is also a process number below /proc (`proc_tid(5)`).
            let (cpus, name) = (&self.cpus, proc::comm(*tid).unwrap_or_default());
            return Some(format!(
                "thread {tid} ({name}) of the server may run on CPUs {mask} instead of {cpus}"
            ));
        }
        let is_orphan = |thread: &ThreadMask| orphans.iter().any(|(pid, _)| *pid == thread.pid);
        let written: Vec<&ThreadMask> =
            threads.iter().filter(|thread| thread.mask != self.cpus || is_orphan(thread)).collect();
        if !written.is_empty()
            && let Err(error) = self.bind_all(&mut state, &written)
        {
            return Some(error.to_string());
        }
        state.orphans.extend(orphans);
        // Without those that have ended: their numbers may be reused.
        state.bound = numbers_of(&threads);
        None
    }

    /// Reads the server's CPU time before a run.
    pub fn begin(&self) {
        let mut state = self.lock();
        state.before_ns = cpu::used_ns(&state.server, &state.seen);
        state.used_ns = None;
    }

    /// Reads it again, right after a run.
    pub fn end(&self) {
        let mut state = self.lock();
        let now_ns = cpu::used_ns(&state.server, &state.seen);
        state.used_ns = now_ns.zip(state.before_ns).and_then(|(now, before)| now.checked_sub(before));
    }

    /// CPU time that the server used in the last run, if known.
    pub fn used_ns(&self) -> Option<u64> {
        self.lock().used_ns
    }

    /// The server's bound threads, for the runner to read back.
    pub fn placed(&self) -> Vec<Placed> {
        let state = self.lock();
        let place = |&(pid, tid): &(u32, u32)| Placed {
            name: proc::comm(pid).unwrap_or_else(|| "server".into()),
            pid,
            tid,
            cpus: self.cpus.clone(),
        };
        state.bound.iter().map(place).collect()
    }

    /// Notes for the report; the same for every run.
    pub fn note(&self) -> String {
        format!(
            "the server of {} was bound to the placement too; the counter server_cpu_ns has its CPU time",
            self.name
        )
    }

    /// Restores the mask of every thread.
    ///
    /// # Errors
    /// A mask could not be restored.
    pub fn put_back(&self) -> Result<(), EngineError> {
        let fail = |why: &str| failed("restore the server's masks", why);
        // Recorded masks are restored also if no more can be recorded, as on a full disk.
        let written = self.write_orphans(&mut self.lock());
        let restored = journal::restore(&self.path).map_err(|error| fail(&error.to_string()))?;
        written?;
        restored.failed.first().map_or(Ok(()), |why| Err(fail(why)))
    }

    /// Records processes whose parents have ended since the last poll, which only this process knows.
    fn write_orphans(&self, state: &mut BoundServer) -> Result<(), EngineError> {
        let (threads, orphans) = look(state);
        let is_orphan = |thread: &&ThreadMask| orphans.iter().any(|(pid, _)| *pid == thread.pid);
        let numbers: Vec<(u32, u32)> =
            threads.iter().filter(is_orphan).map(|thread| (thread.pid, thread.tid)).collect();
        if !numbers.is_empty() {
            let written = self.journal.record_server(&state.server, &self.cpus, &numbers);
            written.map_err(|error| failed("restore the server's masks", &error.to_string()))?;
        }
        state.orphans.extend(orphans);
        Ok(())
    }

    fn lost(&self, why: String) -> EngineError {
        EngineError::Command { kind: "lost-pin", what: format!("the server of {}: {why}", self.name) }
    }

    fn lock(&self) -> MutexGuard<'_, BoundServer> {
        // After a thread's panic this is at worst the state of the poll before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn numbers_of(threads: &[ThreadMask]) -> BTreeSet<(u32, u32)> {
    threads.iter().map(|thread| (thread.pid, thread.tid)).collect()
}

/// All threads of the server now, and those of its processes that have to be recorded because their parents
/// have ended.
fn look(state: &mut BoundServer) -> (Vec<ThreadMask>, Vec<Identity>) {
    let members = state.server.members(&state.seen);
    state.seen = members.iter().map(|member| member.process).collect();
    let is_new = |member: &&Member| member.is_orphan && !state.orphans.contains(&member.process);
    let orphans = members.iter().filter(is_new).map(|member| member.process).collect();
    let threads = members.iter().flat_map(|member| {
        let pid = member.process.0;
        proc::thread_numbers(pid).into_iter().filter_map(move |tid| {
            let mask = pin::thread_affinity(pid, tid).ok()?;
            Some(ThreadMask { pid, tid, mask })
        })
    });
    (threads.collect(), orphans)
}

#[cfg(test)]
mod tests;
