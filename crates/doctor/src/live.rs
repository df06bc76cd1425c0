//! What the caller measured of the running system before it asked the doctor: plain data. The doctor
//! itself measures nothing; without these facts the checks that need them say that nothing was measured.

use threadwise_study::CpuTimes;
use threadwise_study::probe::CoRunner;

/// Facts of the running system. What was not measured is empty or `None`, and its check says so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Live {
    /// Times of every online logical CPU over about one second in which the caller did nothing, so
    /// that all that was busy is others.
    pub cpu_times: Vec<CpuTimes>,
    /// CPU time that processes used over the same time, in any order; the caller's own left out.
    pub processes: Vec<ProcessLoad>,
    /// Whether `database_server` was looked for.
    pub database_server_sought: bool,
    /// A database server that runs here.
    pub database_server: Option<ProcessName>,
    /// Co-runners on the siblings of the logical CPUs that were probed.
    pub co_runners: Vec<CoRunner>,
    /// Whether the caller is root (effective user 0).
    pub is_root: bool,
    /// The hypervisor that the processor names (`threadwise_machine::hypervisor::live`).
    pub hypervisor: Option<String>,
    /// What opening a hardware counter came to.
    pub perf: PerfAccess,
    /// Whether the caller has a core scheduling cookie (`prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET)`);
    /// `None` where the kernel does not say.
    pub core_cookie: Option<bool>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessName {
    /// Process number.
    pub pid: u32,
    /// Name, at most 15 characters (`proc_pid_comm(5)`).
    pub name: String,
}

/// CPU time that a process used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLoad {
    /// Which process.
    pub process: ProcessName,
    /// CPU time of all its threads, nanoseconds.
    pub cpu_ns: u64,
}

/// What opening a hardware counter on a logical CPU, for any process, came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PerfAccess {
    /// Nobody tried.
    #[default]
    NotTried,
    /// It opened.
    Open,
    /// This user may not.
    Denied {
        /// The kernel's reason, in one line.
        why: String,
    },
    /// There is no such counter.
    Unsupported {
        /// The kernel's reason, in one line.
        why: String,
    },
}
