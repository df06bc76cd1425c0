//! Whether every thread that works for a treatment may run only where it should.
//!
//! Source: `proc_pid_task(5)`; `sched_setaffinity(2)`: a thread inherits the mask of its creator, and
//! may change it.

use super::treatment_run::TreatmentRun;
use crate::memory;
use crate::worker_process::WorkerProcess;
use std::io;
use threadwise_engine::Placed;
use threadwise_machine::{CpuSet, pin};

/// Compares every session's mask with its placement, and the memory policy with the requested one;
/// a worker that differs takes no slices.
pub(super) fn check(run: &mut TreatmentRun<'_>) {
    let Some(pid) = run.worker.as_ref().map(WorkerProcess::pid) else { return };
    let read = |tid: &u32| pin::thread_affinity(pid, *tid);
    let masks: Vec<io::Result<CpuSet>> = run.tids.iter().map(read).collect();
    let lost = lost_pin(&run.placement.sessions, &masks)
        .or_else(|| lost_server_pin(&run.placed))
        .or_else(|| astray(&threads(pid), &at_home(run)));
    if let Some(message) = lost {
        run.worker = None;
        run.invalidate("lost-pin", message);
    } else if let Some(message) = memory::lost_policy(run.memory, pid, &run.tids) {
        run.worker = None;
        run.invalidate("lost-memory-policy", message);
    }
}

/// The first wrong mask, in one line; `None` if all are right.
fn lost_pin(wanted: &[CpuSet], masks: &[io::Result<CpuSet>]) -> Option<String> {
    let mut pairs = wanted.iter().zip(masks).enumerate();
    pairs.find_map(|(session, (wanted, mask))| match mask {
        Ok(mask) if mask == wanted => None,
        Ok(mask) => Some(format!("session {session} may run on CPUs {mask} instead of {wanted}")),
        Err(error) => Some(format!("the mask of session {session} cannot be read: {error}")),
    })
}

/// Logical CPUs of the worker's threads: the treatment's and those of its service threads.
/// Empty for a treatment without a placement.
fn at_home(run: &TreatmentRun<'_>) -> CpuSet {
    match (run.placement.set(), run.service) {
        (set, Some(service)) if !set.is_empty() => set.union(service),
        (set, _) => set,
    }
}

/// Every thread of a process and its mask, except those that ended in between.
fn threads(pid: u32) -> Vec<(u32, CpuSet)> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let tids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    tids.filter_map(|tid| Some((tid, pin::thread_affinity(pid, tid).ok()?))).collect()
}

/// A thread that may run outside of `home`: libraries start threads, and some bind them
/// (DuckDB does so from 64 threads on).
fn astray(threads: &[(u32, CpuSet)], home: &CpuSet) -> Option<String> {
    if home.is_empty() {
        return None;
    }
    let outside = |mask: &CpuSet| mask.iter().any(|cpu| !home.contains(cpu));
    let (tid, mask) = threads.iter().find(|(_, mask)| outside(mask))?;
    Some(format!("thread {tid} of the worker may run on CPUs {mask}, outside of {home}"))
}

/// The same for the bound threads of a server.
fn lost_server_pin(placed: &[Placed]) -> Option<String> {
    placed.iter().filter(|thread| !thread.cpus.is_empty()).find_map(|thread| {
        let (name, wanted) = (&thread.name, &thread.cpus);
        match pin::thread_affinity(thread.pid, thread.tid) {
            Ok(mask) if mask == *wanted => None,
            Ok(mask) => Some(format!("{name} of the server may run on CPUs {mask} instead of {wanted}")),
            // Pool threads of servers come and go; sessions stay while their connections are open.
            Err(_) if !name.starts_with("session") => None,
            Err(error) => Some(format!("the mask of {name} of the server cannot be read: {error}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_compared_session_by_session() {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        let wanted = [set("0"), set("1")];
        assert_eq!(lost_pin(&wanted, &[Ok(set("0")), Ok(set("1"))]), None);
        let message = lost_pin(&wanted, &[Ok(set("0")), Ok(set("0-1"))]).unwrap();
        assert_eq!(message, "session 1 may run on CPUs 0-1 instead of 1");
        let gone = io::Error::from(io::ErrorKind::NotFound);
        assert!(lost_pin(&wanted, &[Err(gone), Ok(set("1"))]).unwrap().contains("session 0"));
    }

    #[test]
    fn threads_beyond_the_placement_are_found() {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        let threads = [(10, set("0")), (11, set("0-1")), (12, set("1-2"))];
        assert_eq!(astray(&threads[..2], &set("0-1")), None);
        let message = astray(&threads, &set("0-1")).unwrap();
        assert_eq!(message, "thread 12 of the worker may run on CPUs 1-2, outside of 0-1");
        assert_eq!(astray(&threads, &CpuSet::new()), None);
    }

    #[test]
    fn every_thread_of_a_process_is_read() {
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv());
        let found = threads(std::process::id());
        assert!(found.len() >= 2 && found.iter().all(|(_, mask)| !mask.is_empty()));
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }
}
