//! CPU time of all processes that work for a query: the leader, the postmaster that starts workers, and the workers,
//! which have ended before the answer is complete.
//!
//! Leader and postmaster are read to the nanosecond. Of ended processes the kernel keeps one sum with their
//! parent (`cutime` and `cstime`, `proc_pid_stat(5)`), in clock ticks of 10 ms: the workers' part of one
//! query may be wrong by up to 20 ms either way, and has no bias over many. The leader waits until the
//! postmaster has collected its workers before it ends a query (`WaitForParallelWorkersToExit` in
//! PostgreSQL's `access/transam/parallel.c`).

use threadwise_process::proc;

use crate::Server;
use crate::connect::Locality;

const NS_PER_S: u64 = 1_000_000_000;

/// Where to read CPU time, on a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerCpu {
    /// `None` if there are no workers.
    postmaster: Option<u32>,
    tick_ns: u64,
}

impl ServerCpu {
    /// For a server on this machine, with the parallel workers that its postmaster starts.
    pub(super) fn of_server(server: &Server, is_parallel: bool) -> Option<Self> {
        match server.locality() {
            Locality::Here { postmaster } => Some(Self::of(is_parallel.then_some(*postmaster))),
            Locality::Elsewhere { .. } => None,
        }
    }

    fn of(postmaster: Option<u32>) -> Self {
        Self { postmaster, tick_ns: NS_PER_S / rustix::param::clock_ticks_per_second().max(1) }
    }

    /// CPU time so far of these leaders, the postmaster, and its ended children, nanoseconds; `None` if one of them has
    /// ended.
    pub(super) fn read_ns(&self, leaders: &[u32]) -> Option<u64> {
        let times =
            leaders.iter().chain(&self.postmaster).map(|&pid| Some(proc::thread_times(pid, pid)?.cpu_ns));
        let own_ns: u64 = times.sum::<Option<u64>>()?;
        let Some(postmaster) = self.postmaster else { return Some(own_ns) };
        let stat = std::fs::read_to_string(format!("/proc/{postmaster}/stat")).ok()?;
        Some(own_ns + proc::ended_children_ticks(&stat)? * self.tick_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_worked_and_ended_is_counted() {
        let this = std::process::id();
        let cpu = ServerCpu::of(Some(this));
        let before_ns = cpu.read_ns(&[]).unwrap();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", busy]).status().unwrap().success());
        let used_ns = cpu.read_ns(&[]).unwrap() - before_ns;
        assert!(used_ns >= 10_000_000, "{used_ns}");
        assert_eq!(cpu.read_ns(&[u32::MAX]), None);
    }
}
