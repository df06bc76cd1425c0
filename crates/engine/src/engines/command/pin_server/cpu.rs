//! CPU time of a server.
//!
//! A control group of its own counts everything. Without one, the times of its processes and of their ended
//! children are added up: a process that ends hands its time to the parent that waits for it. Time is lost
//! of processes whose parents have ended or do not wait. Source: `proc_pid_stat(5)` (`cutime`, in ticks).

use std::collections::BTreeSet;
use std::fs;
use threadwise_process::find::{Identity, Server};
use threadwise_process::proc;

use crate::clock;

/// Most attempts to read all processes without one ending meanwhile.
const LOOKS: u32 = 5;

/// CPU time of a server since it began; `None` if its processes come and go too fast to be counted.
pub(super) fn used_ns(server: &Server, seen: &BTreeSet<Identity>) -> Option<u64> {
    server.group_cpu_ns().or_else(|| (0..LOOKS).find_map(|_| sum(server, seen)))
}

fn sum(server: &Server, seen: &BTreeSet<Identity>) -> Option<u64> {
    let before = server.members(seen);
    let used_ns = before.iter().map(|member| of_process(member.process.0)).sum();
    // Otherwise its time might count twice, once as its own and once as its parent's.
    (server.members(seen) == before).then_some(used_ns)
}

fn of_process(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let ended_ticks = proc::ended_children_ticks(&stat).unwrap_or(0);
    clock::process_cpu_ns(pid) + ended_ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
}
