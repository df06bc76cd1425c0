//! Samples of where the processes of a parallel query are: state and logical CPU of the leader, and of all processes
//! that the postmaster started since the slice began, from /proc (`proc_pid_stat(5)`, fields 3 and 39).
//!
//! A look reads one file of the postmaster and two of each process. The next one comes after 5 ms, or after fifty
//! times the duration of the last one if that is longer, so that looking takes at most 2% of one logical CPU.

use std::collections::BTreeMap;
use std::path::Path;
use threadwise_engine::{EngineError, Window, clock};
use threadwise_machine::{CpuSet, Topology};
use threadwise_process::proc;
use threadwise_study::parallel::Parts;

use super::processes::{Look, ProcessLook, Scan, add_up};
use crate::error::failed;

/// Least time between two looks.
const PERIOD_NS: u64 = 5_000_000;

/// Least time between two looks, as a multiple of the last look's duration.
const PERIOD_OF_COST: u64 = 50;

/// Most processes seen in a slice, all looks together: 20 MB.
const MOST_SEEN: usize = 500_000;

/// Looks at the processes of one session's queries.
pub(super) struct Looks {
    postmaster: u32,
    /// The logical CPUs of each logical CPU's core.
    siblings: BTreeMap<u32, CpuSet>,
    /// Children of the postmaster from before the slice: service processes and connections.
    before: Vec<u32>,
    looks: Vec<Look>,
    /// CPU time of looking.
    looking_ns: u64,
}

impl Looks {
    /// For a private server with this postmaster.
    ///
    /// # Errors
    /// The machine's cores cannot be read.
    pub(super) fn of(postmaster: u32) -> Result<Self, EngineError> {
        let read = Topology::read(Path::new("/"), None);
        let topology = read.map_err(|cause| failed("read which logical CPUs share a core", cause))?;
        let siblings = topology.logical_cpus.into_iter().map(|cpu| (cpu.os_id, cpu.siblings)).collect();
        Ok(Self { postmaster, siblings, before: Vec::new(), looks: Vec::new(), looking_ns: 0 })
    }

    /// Begins a slice: forgets what was seen.
    pub(super) fn begin(&mut self) {
        self.before = proc::children(self.postmaster);
        self.looks.clear();
        self.looking_ns = 0;
    }

    /// Looks until the window's end, or until no process is `at_work`.
    pub(super) fn watch(&mut self, window: &Window, at_work: impl Fn() -> Option<u32>) {
        let mut seen = 0;
        let mut next_ns = window.start_ns;
        while next_ns < window.end_ns && seen < MOST_SEEN {
            clock::sleep_until_ns(next_ns);
            let Some(leader) = at_work() else { break };
            let cpu_ns = clock::thread_cpu_ns();
            let look = self.look(vec![leader]);
            seen += look.seen.len();
            let took_ns = clock::monotonic_ns().saturating_sub(look.at_ns);
            self.looking_ns += clock::thread_cpu_ns().saturating_sub(cpu_ns);
            self.looks.push(look);
            next_ns = clock::monotonic_ns() + PERIOD_NS.max(PERIOD_OF_COST * took_ns);
        }
    }

    fn look(&self, mut pids: Vec<u32>) -> Look {
        let at_ns = clock::monotonic_ns();
        let children = proc::children(self.postmaster).into_iter();
        pids.extend(children.filter(|pid| self.before.binary_search(pid).is_err()));
        let see = |pid: u32| {
            let found = proc::runs_on(pid)?;
            let waited_ns = proc::thread_times(pid, pid).map(|times| times.wait_ns);
            Some(ProcessLook { pid, cpu: found.cpu, is_runnable: found.is_runnable, waited_ns })
        };
        Look { at_ns, seen: pids.into_iter().filter_map(see).collect() }
    }

    /// Results of the processes of the slice's scans.
    pub(super) fn add_up(&self, scans: &[Scan]) -> Parts {
        let alone = |cpu: u32| [cpu].into_iter().collect::<CpuSet>();
        let siblings = |cpu: u32| self.siblings.get(&cpu).cloned().unwrap_or_else(|| alone(cpu));
        Parts { looking_ns: self.looking_ns, ..add_up(scans, &self.looks, siblings) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    #[test]
    fn processes_that_came_since_the_slice_began_are_seen_where_they_run() {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut looks = Looks::of(std::process::id()).unwrap();
        let mut old = busy();
        looks.begin();
        let mut new = [busy(), busy()];
        // Until both have left their start behind.
        let mut look = looks.look(Vec::new());
        for _ in 0..1000 {
            let of_new =
                |child: &Child| look.seen.iter().any(|seen| seen.pid == child.id() && seen.is_runnable);
            if new.iter().all(of_new) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            look = looks.look(Vec::new());
        }
        for child in new.iter_mut().chain([&mut old]) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for child in &new {
            let seen = look.seen.iter().find(|seen| seen.pid == child.id()).unwrap();
            assert!(seen.is_runnable && looks.siblings.contains_key(&seen.cpu), "{seen:?}");
        }
        assert!(look.seen.iter().all(|seen| seen.pid != old.id()), "{look:?}");
        assert_eq!(looks.add_up(&[Scan::default()]).unsampled_scans, 1);
    }
}
