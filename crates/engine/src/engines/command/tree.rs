//! The worker's descendants: which they are, where they may run, their memory, and their end.
//!
//! The worker is their subreaper, so that an orphan becomes its child and stays in
//! sight. Source: `proc_pid_status(5)`, `PR_SET_CHILD_SUBREAPER(2const)`, `pidfd_open(2)` (a number may
//! be given to another process between a poll and a signal; a pidfd may not).

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use threadwise_machine::{CpuSet, pin};
use threadwise_process::proc;

use super::spawn::{self, Used};

/// Pause between two attempts to end processes.
const STEP: Duration = Duration::from_millis(5);

/// A process by number and start time, which together are unique.
pub(super) type Identity = (u32, u64);

/// Result of one poll of the processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Look {
    /// The processes.
    pub processes: usize,
    /// Their memory together.
    pub rss_bytes: u64,
    /// Message about a thread that may run elsewhere.
    pub astray: Option<String>,
}

/// Living descendants of the worker, without the spared ones and their descendants.
pub(super) fn below_us(spared: &BTreeSet<Identity>) -> Vec<Identity> {
    let mut found = Vec::new();
    let mut open = proc::children(std::process::id());
    while let Some(pid) = open.pop() {
        let Some(start) = proc::start_time(pid, pid) else { continue };
        if spared.contains(&(pid, start)) || found.contains(&(pid, start)) {
            continue;
        }
        open.extend(proc::children(pid));
        if !proc::has_ended(pid) {
            found.push((pid, start));
        }
    }
    found
}

/// Polls the run's processes once. Memory: private pages are added up; pages of files and shared ones count
/// once, from the process that has most of them.
pub(super) fn look(spared: &BTreeSet<Identity>, home: &CpuSet) -> Look {
    let (mut look, mut shared) = (Look::default(), 0);
    for (pid, _) in below_us(spared) {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        let memory = memory(&status);
        look.processes += 1;
        look.rss_bytes += memory.private;
        shared = memory.shared.max(shared);
        if look.astray.is_none() {
            look.astray = astray(pid, home);
        }
    }
    look.rss_bytes += shared;
    look
}

/// Resident memory of a process in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Memory {
    private: u64,
    shared: u64,
}

fn memory(status: &str) -> Memory {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    match bytes("RssAnon:") {
        Some(private) => {
            let shared = bytes("RssFile:").unwrap_or(0) + bytes("RssShmem:").unwrap_or(0);
            Memory { private, shared }
        }
        // Linux before 4.5 has only the sum.
        None => Memory { private: bytes("VmRSS:").unwrap_or(0), shared: 0 },
    }
}

/// A message about a thread of a process that may run outside of `home`.
fn astray(pid: u32, home: &CpuSet) -> Option<String> {
    proc::threads(pid).into_iter().find_map(|(tid, name)| {
        let mask = pin::thread_affinity(pid, tid).ok()?;
        let outside = mask.iter().any(|cpu| !home.contains(cpu));
        outside.then(|| {
            format!("thread {tid} ({name}) of the command may run on CPUs {mask}, outside of {home}")
        })
    })
}

/// Names of processes for a message: `sleep (1234)`.
pub(super) fn names(processes: &[Identity]) -> String {
    let name = |(pid, _): &Identity| format!("{} ({pid})", proc::comm(*pid).unwrap_or_default());
    let shown: Vec<String> = processes.iter().take(5).map(name).collect();
    let more = if processes.len() > 5 { format!(" and {} more", processes.len() - 5) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Ends the worker's descendants but for the spared, with `signal` first and SIGKILL from `gently` on, within
/// `limit`; reaps adopted ones. `false` if one is still running.
pub(super) fn end(
    spared: &BTreeSet<Identity>,
    roots: &[u32],
    gently: Option<Duration>,
    limit: Duration,
    used: &mut Used,
) -> bool {
    let began = Instant::now();
    let mut asked: BTreeSet<Identity> = BTreeSet::new();
    loop {
        let left = below_us(spared);
        *used = used.and(reap_adopted(spared, roots));
        if left.is_empty() {
            return true;
        }
        let kills = gently.is_none_or(|time| began.elapsed() >= time);
        for process in left {
            match kills {
                true => send(process, Signal::KILL),
                false if asked.insert(process) => send(process, Signal::TERM),
                false => {}
            }
        }
        if began.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(STEP);
    }
}

/// Kills the whole process group of a child at once: it may start processes faster than they can be found. A
/// child that was not reaped keeps its number.
pub(super) fn kill_group(root: u32) {
    if let Some(group) = i32::try_from(root).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn send((pid, start): Identity, signal: Signal) {
    // One that has ended meanwhile needs no signal; one that may not be signalled is found again.
    let _ = proc::signal_if(pid, signal, || proc::start_time(pid, pid) == Some(start));
}

/// Reaps ended children but for `roots`, and gives what they used. Those from before the run are reaped too,
/// and not counted.
pub(super) fn reap_adopted(spared: &BTreeSet<Identity>, roots: &[u32]) -> Used {
    let mut used = Used::default();
    for pid in proc::children(std::process::id()).into_iter().filter(|pid| !roots.contains(pid)) {
        let start = proc::start_time(pid, pid);
        if let Some(ended) = spawn::reap(pid)
            && !start.is_some_and(|start| spared.contains(&(pid, start)))
        {
            used = used.and(ended.used);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_is_its_own_and_what_is_shared() {
        let status = "Name:\tx\nVmRSS:\t  30 kB\nRssAnon:\t  10 kB\nRssFile:\t  15 kB\nRssShmem:\t   5 kB\n";
        assert_eq!(memory(status), Memory { private: 10 << 10, shared: 20 << 10 });
        assert_eq!(memory("VmRSS:\t  30 kB\n"), Memory { private: 30 << 10, shared: 0 });
        assert_eq!(memory(""), Memory { private: 0, shared: 0 });
    }

    #[test]
    fn many_processes_are_named_by_a_few() {
        let this = std::process::id();
        let said = names(&[(this, 1); 7]);
        assert!(said.contains(&format!("({this})")) && said.ends_with("and 2 more"), "{said}");
    }
}
