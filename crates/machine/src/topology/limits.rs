//! What keeps the process from some of the machine: cpuset, CPU quota, memory limit.
//!
//! Sources: kernel `Documentation/admin-guide/cgroup-v2.rst` (`cpu.max`, `memory.max`,
//! `cpuset.cpus.effective`), `Documentation/scheduler/sched-bwc.rst` (`cpu.cfs_quota_us`),
//! `Documentation/admin-guide/cgroup-v1/cpusets.rst` and `memory.rst`.

use super::groups::{Membership, Place};
use super::sets::SetForm;
use super::tree::{Dir, Tree, trimmed};
use super::{Limits, TopologyError};
use crate::CpuSet;
use crate::text::one_line;
use std::path::PathBuf;

use SetForm::List;

/// Version 2, version 1, the older file system; effective sets before configured ones.
pub(super) const CPU_FILES: [(&str, SetForm); 4] =
    [("cpuset.cpus.effective", List), ("cpuset.effective_cpus", List), ("cpuset.cpus", List), ("cpus", List)];
/// The same for NUMA nodes.
pub(super) const NODE_FILES: [(&str, SetForm); 4] =
    [("cpuset.mems.effective", List), ("cpuset.effective_mems", List), ("cpuset.mems", List), ("mems", List)];
/// Version 1 writes "no limit" as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

/// The limits, and the NUMA nodes that the process may have memory on.
pub(super) struct Bounds {
    pub(super) limits: Limits,
    pub(super) mems: Option<CpuSet>,
}

pub(super) fn read(tree: &Tree, affinity: Option<&CpuSet>) -> Result<Bounds, TopologyError> {
    let membership = Membership::read(tree)?;
    let mut limits = Limits { affinity: affinity.cloned(), ..Limits::default() };
    let mut mems = None;
    if let Some(place) = membership.place(tree, "cpuset") {
        limits.cpuset = nearest(&place, &CPU_FILES)?;
        mems = nearest(&place, &NODE_FILES)?;
    }
    for level in membership.place(tree, "cpu").iter().flat_map(|place| &place.levels) {
        if let Some((cpus, file)) = quota(level)?
            && limits.quota_cpus.is_none_or(|tightest| cpus < tightest)
        {
            limits.quota_cpus = Some(cpus);
            limits.quota_source = Some(file);
        }
    }
    for level in membership.place(tree, "memory").iter().flat_map(|place| &place.levels) {
        if let Some(bytes) = memory(level)? {
            limits.memory_bytes = Some(limits.memory_bytes.map_or(bytes, |least| least.min(bytes)));
        }
    }
    Ok(Bounds { limits, mems })
}

/// The set of the group itself or, where it has none or an empty one, of the nearest group above:
/// a group takes what it does not set from its parent.
fn nearest(place: &Place<'_>, files: &[(&str, SetForm)]) -> Result<Option<CpuSet>, TopologyError> {
    for level in place.levels.iter().rev() {
        if let Some(set) = level.set(files)? {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// The quota of one group in CPUs, and the file that says it.
fn quota(group: &Dir<'_>) -> Result<Option<(f64, PathBuf)>, TopologyError> {
    if let Some(text) = group.text("cpu.max")? {
        let mut fields = trimmed(&text).split_whitespace();
        let (limit, period) = (fields.next().unwrap_or("max"), fields.next().unwrap_or("100000"));
        if limit == "max" {
            return Ok(None);
        }
        let (Ok(limit), Ok(period)) = (limit.parse::<u64>(), period.parse::<u64>()) else {
            let why = format!("'{}' is not 'max' or two numbers", one_line(&text, 40));
            return Err(group.damage("cpu.max", &why));
        };
        return Ok(share(limit, period).map(|cpus| (cpus, group.relative().join("cpu.max"))));
    }
    let Some(limit) = group.number("cpu.cfs_quota_us")? else { return Ok(None) };
    let period = group.number("cpu.cfs_period_us")?.unwrap_or(100_000);
    // −1 is no quota.
    let (Ok(limit), Ok(period)) = (u64::try_from(limit), u64::try_from(period)) else { return Ok(None) };
    Ok(share(limit, period).map(|cpus| (cpus, group.relative().join("cpu.cfs_quota_us"))))
}

/// Neither number can be 0 on a kernel; where one is, there is no quota to speak of.
fn share(limit_us: u64, period_us: u64) -> Option<f64> {
    (limit_us > 0 && period_us > 0).then(|| limit_us as f64 / period_us as f64)
}

/// The memory limit of one group in bytes.
fn memory(group: &Dir<'_>) -> Result<Option<u64>, TopologyError> {
    for name in ["memory.max", "memory.limit_in_bytes"] {
        let Some(text) = group.text(name)? else { continue };
        let text = trimmed(&text);
        if text.is_empty() || text == "max" {
            return Ok(None);
        }
        let why = || format!("'{}' is not a number of bytes", one_line(text, 40));
        let bytes: u64 = text.parse().map_err(|_| group.damage(name, &why()))?;
        return Ok(Some(bytes).filter(|&bytes| bytes < NO_LIMIT));
    }
    Ok(None)
}
