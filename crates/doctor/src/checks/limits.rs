//! Limits of this process: CPU quota, CPUs, memory. They are part of the topology.
//!
//! Sources: kernel `Documentation/admin-guide/cgroup-v2.rst` (`cpu.max`, `memory.max`),
//! `Documentation/scheduler/sched-bwc.rst`, `cpuset(7)`.

use crate::answer::{Answer, cpus, plain, shell_path};
use crate::case::Case;
use crate::tree::Gap;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_machine::words::bytes;

const GROUPS: &str = "proc/self/cgroup";
const MEMINFO: &str = "proc/meminfo";

/// Whether a CPU quota can stop our threads.
pub(super) fn cpu_quota(case: &Case<'_>) -> Answer {
    let limits = &case.topology.limits;
    let allowed = case.allowed.len();
    let Some(quota) = limits.quota_cpus else {
        return match case.tree.text(GROUPS) {
            Err(gap) => Answer::gap(&gap, GROUPS, "the control group of this process is unknown"),
            Ok(_) if limits.is_quota_hidden() => Answer::unknown(
                "the CPU quota is unknown: no mount shows the control group of this process",
                "/proc/self/mountinfo",
            ),
            Ok(_) => match case.container() {
                None => Answer::ok("no CPU quota", format!("/{GROUPS}")),
                Some(_) => Answer::ok(
                    "no CPU quota visible; one above the container's own group cannot be seen from here",
                    format!("/{GROUPS}"),
                ),
            },
        };
    };
    let file = limits.quota_source.as_deref().unwrap_or(Path::new(GROUPS)).to_string_lossy().into_owned();
    let source = format!("/{file}");
    let found = format!("CPU quota of {quota:.2} CPUs, {allowed} logical CPUs allowed");
    match quota >= allowed as f64 {
        true => Answer::ok(format!("{found}: it never stops threads"), source),
        false => Answer::problem(format!("{found}: all threads stop when it is used up"), source)
            .remedied(without_quota(case, &file)),
    }
}

/// The command that removes a quota. Version 1 has the period in another file, and −1 for none.
fn without_quota(case: &Case<'_>, file: &str) -> String {
    const MANAGER: &str = "start the container without a CPU limit";
    let Some(path) = shell_path(&format!("/{file}")) else { return MANAGER.to_owned() };
    let none = if file.ends_with("cfs_quota_us") { "-1" } else { "max" };
    let old = case.tree.line(file).ok().and_then(|line| {
        let words: Option<Vec<&str>> = line.split(' ').map(plain).collect();
        words.map(|words| words.join(" "))
    });
    let command =
        case.changed(&format!("echo {none} > {path}"), old.map(|old| format!("echo {old} > {path}")));
    format!("{MANAGER}, or {command}")
}

/// Whether part of the machine is not allowed, including siblings of allowed logical CPUs.
pub(super) fn allowed_cpus(case: &Case<'_>) -> Answer {
    let limits = &case.topology.limits;
    let online = case.topology.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.os_id);
    let online: CpuSet = online.collect();
    let source = match (&limits.cpuset, &limits.affinity) {
        (Some(set), _) if !online.is_subset(set) => "the cpuset of this process's control group",
        (_, Some(set)) if !online.is_subset(set) => "the affinity mask of this process",
        _ => "/sys/devices/system/cpu/online",
    };
    if online.is_empty() {
        return Answer::unknown("the online logical CPUs are unknown", source);
    }
    if case.allowed == online {
        return Answer::ok(format!("all {} online logical CPUs", online.len()), source);
    }
    let ours = case.topology.logical_cpus.iter().filter(|cpu| cpu.allowed && cpu.online);
    let siblings: CpuSet = ours.flat_map(|cpu| cpu.siblings.iter()).collect();
    let foreign = siblings.difference(&case.allowed);
    let mut found = format!(
        "{} of {} online logical CPUs are allowed ({})",
        case.allowed.len(),
        online.len(),
        cpus(&case.allowed)
    );
    if !foreign.is_empty() {
        found.push_str(&format!("; others may use {}, which share our cores", cpus(&foreign)));
    }
    Answer::warning(found, source).remedied(
        "give the container or the shell whole cores or all CPUs: docker run --cpuset-cpus LIST, taskset -c LIST",
    )
}

/// Whether this process may use less memory than the machine has; the page cache counts too.
pub(super) fn memory_limit(case: &Case<'_>) -> Answer {
    let source = "memory limits of this process's control groups";
    let total = case.topology.identity.memory_bytes;
    match (case.topology.limits.memory_bytes, total) {
        (None, None) => Answer::gap(&Gap::Missing, MEMINFO, "the amount of memory is unknown"),
        (None, Some(total)) => Answer::ok(format!("none; the machine has {}", bytes(total)), source),
        (Some(limit), Some(total)) if limit >= total => {
            Answer::ok(format!("{}, no less than the machine has ({})", bytes(limit), bytes(total)), source)
        }
        (Some(limit), total) => {
            let of_all = total.map(|total| format!(" of {}", bytes(total))).unwrap_or_default();
            Answer::warning(
                format!(
                    "{}{of_all} may be used, file pages included: larger data is read from disk again",
                    bytes(limit)
                ),
                source,
            )
            .remedied("keep the data below it, or start the container with more: docker run --memory SIZE")
        }
    }
}
