//! What restricts the process to some of the machine: cpuset, CPU quota, memory limit.
//!
//! Sources: kernel `Documentation/admin-guide/cgroup-v2.rst` (`cpu.max`, `memory.max`,
//! `cpuset.cpus.effective`), `Documentation/scheduler/sched-bwc.rst` (`cpu.cfs_quota_us`),
//! `Documentation/admin-guide/cgroup-v1/cpusets.rst` and `memory.rst`.

use super::groups::{ControlGroup, Membership};
use super::sets::SetForm;
use super::tree::{Dir, Tree, trimmed};
use super::{Limits, TopologyError};
use crate::text::one_line;
use crate::{CpuSet, Quota};
use std::path::{Path, PathBuf};

use SetForm::List;

/// Version 2, version 1, the older file system; effective sets before configured ones.
pub(super) const CPU_FILES: [(&str, SetForm); 4] =
    [("cpuset.cpus.effective", List), ("cpuset.effective_cpus", List), ("cpuset.cpus", List), ("cpus", List)];
/// The same for NUMA nodes.
pub(super) const NODE_FILES: [(&str, SetForm); 4] =
    [("cpuset.mems.effective", List), ("cpuset.effective_mems", List), ("cpuset.mems", List), ("mems", List)];
/// Version 1 writes "no limit" as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

/// The process's groups.
const OWN_GROUPS: &str = "proc/self/cgroup";

/// Those of [`CPU_FILES`] that hold only online CPUs.
const EFFECTIVE_FILES: [(&str, SetForm); 2] = [CPU_FILES[0], CPU_FILES[1]];

/// The limits, and the NUMA nodes that the process may have memory on.
pub(super) struct Bounds {
    pub(super) limits: Limits,
    /// The effective cpuset, which holds no offline CPU.
    pub(super) effective: Option<CpuSet>,
    pub(super) mems: Option<CpuSet>,
}

pub(super) fn read(tree: &Tree, affinity: Option<&CpuSet>) -> Result<Bounds, TopologyError> {
    let membership = Membership::read(tree)?;
    let mut limits = Limits { affinity: affinity.cloned(), ..Limits::default() };
    let (mut mems, mut effective) = (None, None);
    if let Some(group) = membership.group(tree, "cpuset") {
        limits.cpuset = nearest(&group, &CPU_FILES)?;
        effective = nearest(&group, &EFFECTIVE_FILES)?;
        mems = nearest(&group, &NODE_FILES)?;
    }
    if let Some((quota, file)) = tightest(tree, &membership)? {
        limits.quota_cpus = Some(quota.cpus);
        // As the result file keeps it.
        limits.quota_source = Some(file.to_string_lossy().into_owned().into());
    } else if membership.is_hidden(tree, "cpu") {
        limits.quota_source = Some(PathBuf::from(OWN_GROUPS));
    }
    for level in membership.group(tree, "memory").iter().flat_map(|group| &group.levels) {
        if let Some(bytes) = memory(level)? {
            limits.memory_bytes = Some(limits.memory_bytes.map_or(bytes, |least| least.min(bytes)));
        }
    }
    Ok(Bounds { limits, effective, mems })
}

/// The set of the group itself or, if it has none or an empty one, of the nearest parent:
/// a group inherits what it does not set.
fn nearest(group: &ControlGroup<'_>, files: &[(&str, SetForm)]) -> Result<Option<CpuSet>, TopologyError> {
    for level in group.levels.iter().rev() {
        if let Some(set) = level.set(files)? {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// The lowest quota, in CPUs, of the groups between the process's own and the root, and its file.
pub(super) fn tightest(
    tree: &Tree,
    membership: &Membership,
) -> Result<Option<(Quota, PathBuf)>, TopologyError> {
    let mut tightest: Option<(Quota, PathBuf)> = None;
    for level in membership.group(tree, "cpu").iter().flat_map(|group| &group.levels) {
        if let Some(found) = quota(level)?
            && tightest.as_ref().is_none_or(|(quota, _)| found.0.cpus < quota.cpus)
        {
            tightest = Some(found);
        }
    }
    Ok(tightest)
}

/// The quota of one group, and its file.
fn quota(group: &Dir<'_>) -> Result<Option<(Quota, PathBuf)>, TopologyError> {
    // What a group may save up, 0 by default; older kernels have no file for it.
    let burst = |name: &str| {
        group.number(name).map(|found| found.and_then(|burst| u64::try_from(burst).ok()).unwrap_or(0))
    };
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
        let found = Quota::of_us(limit, period, burst("cpu.max.burst")?);
        return Ok(found.map(|quota| (quota, group.relative().join("cpu.max"))));
    }
    let Some(limit) = group.number("cpu.cfs_quota_us")? else { return Ok(None) };
    let period = group.number("cpu.cfs_period_us")?.unwrap_or(100_000);
    // −1 is no quota.
    let (Ok(limit), Ok(period)) = (u64::try_from(limit), u64::try_from(period)) else { return Ok(None) };
    let found = Quota::of_us(limit, period, burst("cpu.cfs_burst_us")?);
    Ok(found.map(|quota| (quota, group.relative().join("cpu.cfs_quota_us"))))
}

impl Limits {
    /// Whether the process is in a group for `cpu` that no mount shows, so that it may have a quota.
    pub fn is_quota_hidden(&self) -> bool {
        self.quota_cpus.is_none() && self.quota_source.is_some()
    }
}

impl Quota {
    /// The tightest quota of the process, read below `root`; `None` without any.
    ///
    /// # Errors
    /// A control group's file that cannot be read or parsed.
    pub fn read(root: &Path) -> Result<Option<Self>, TopologyError> {
        let tree = Tree::open(root)?;
        let membership = Membership::read(&tree)?;
        Ok(tightest(&tree, &membership)?.map(|(quota, _)| quota))
    }
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
