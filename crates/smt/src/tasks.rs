//! Threads of the machine and the logical CPUs that they may use.
//!
//! Source: `proc_pid_stat(5)` (fields 4, 9 and 22), `proc_pid_status(5)` (`Cpus_allowed_list`), kernel
//! `include/linux/sched.h` (`PF_NO_SETAFFINITY`: kernel threads that cannot be bound, which the kernel binds again
//! when their logical CPU comes online).

use crate::roots::{self, Roots};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_process::journal::Thread;
use threadwise_process::proc::stat_field;

/// Flag of a thread that cannot be bound.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// A thread's present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) mask: CpuSet,
    /// Process number of the parent of its process.
    pub(crate) parent: u32,
}

/// All threads that can be bound.
pub(crate) fn read(roots: &Roots) -> BTreeMap<Thread, Task> {
    let threads = |pid: u32| {
        let tids = roots::numbered(&roots.proc.join(format!("{pid}/task")), "");
        tids.into_iter().filter_map(move |tid| look(&roots.proc, pid, tid))
    };
    roots::numbered(&roots.proc, "").into_iter().flat_map(threads).collect()
}

/// One thread; `None` if it has ended or cannot be bound.
pub(crate) fn look(proc: &Path, pid: u32, tid: u32) -> Option<(Thread, Task)> {
    let folder = format!("{pid}/task/{tid}");
    let (start, parent) = identity(proc, &folder)?;
    let status = fs::read_to_string(proc.join(&folder).join("status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mask = CpuSet::parse_list(list).ok().filter(|mask| !mask.is_empty())?;
    // Both of the same thread.
    (identity(proc, &folder)? == (start, parent))
        .then_some((Thread { pid, tid, start }, Task { mask, parent }))
}

/// Start time and parent.
fn identity(proc: &Path, folder: &str) -> Option<(u64, u32)> {
    let stat = fs::read_to_string(proc.join(folder).join("stat")).ok()?;
    let field = |number: usize| stat_field(&stat, number);
    let flags: u64 = field(9)?.parse().ok()?;
    let is_dead = matches!(field(3)?, "Z" | "X");
    (!is_dead && flags & PF_NO_SETAFFINITY == 0).then_some(())?;
    Some((field(22)?.parse().ok()?, field(4)?.parse().ok()?))
}
