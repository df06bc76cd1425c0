//! What a server has used.
//!
//! A control group of its own counts everything. Without one, what its processes used is added up, and
//! what they know of their ended children: as long as a server waits for its children, one that ends
//! hands its time on to its parent, and the sum goes on. Those that lose their parents and those that
//! nobody waits for take theirs with them. Source: `proc_pid_stat(5)` (`cutime`, in ticks).

use std::collections::BTreeSet;
use std::fs;
use threadwise_process::find::{Identity, Server};
use threadwise_process::proc;

use crate::clock;

/// Looks until no process has ended in the middle of one.
const LOOKS: u32 = 5;

/// CPU time of a server since it began; `None` where its processes come and go too fast to be counted.
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
