//! Facts that the caller measured of the running system: plain data. The doctor itself measures nothing; without these
//! facts the checks that need them report that nothing was measured.

use threadwise_study::CpuTimes;
use threadwise_study::probe::Neighbour;

/// Facts of the running system. A fact that was not measured is empty or `None`, and its check says so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Live {
    /// Times of every online logical CPU over about one second in which the caller was idle, so that all busy time
    /// belongs to others.
    pub cpu_times: Vec<CpuTimes>,
    /// CPU time of processes over the same time, in any order; without the caller's own.
    pub processes: Vec<ProcessLoad>,
    /// Whether a database server was searched for.
    pub database_server_sought: bool,
    /// A database server that runs here.
    pub database_server: Option<ProcessName>,
    /// Neighbours on the siblings of the logical CPUs that were probed.
    pub neighbours: Vec<Neighbour>,
    /// Whether the caller is root (effective user 0).
    pub is_root: bool,
    /// The hypervisor that the processor names (`threadwise_machine::hypervisor::live`).
    pub hypervisor: Option<String>,
    /// The result of opening a hardware counter.
    pub perf: PerfAccess,
    /// Whether the caller has a core scheduling cookie (`prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET)`);
    /// `None` if the kernel does not report it.
    pub core_cookie: Option<bool>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessName {
    /// Process ID.
    pub pid: u32,
    /// Name, at most 15 characters (`proc_pid_comm(5)`).
    pub name: String,
}

/// CPU time that a process used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLoad {
    /// The process.
    pub process: ProcessName,
    /// CPU time of all its threads, nanoseconds.
    pub cpu_ns: u64,
}

/// Result of opening a hardware counter on a logical CPU for any process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PerfAccess {
    /// Not tried.
    #[default]
    NotTried,
    /// It opened.
    Open,
    /// Denied to this user.
    Denied {
        /// The kernel's reason, one line.
        why: String,
    },
    /// There is no such counter.
    Unsupported {
        /// The kernel's reason, one line.
        why: String,
    },
}
