//! A control group that counts what a run's processes used, if the system allows one.
//!
//! Source: kernel `Documentation/admin-guide/cgroup-v2.rst`: every group has `cpu.stat`; it has
//! `memory.peak` (Linux 5.19) if the parent gives memory to its children; `proc_pid_cgroup(5)`,
//! `proc_pid_mountinfo(5)`. No controller is enabled and no limit set: the group only counts.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prefix of the names of these groups; the process number of the maker follows.
const PREFIX: &str = "threadwise-run-";

/// A control group made here, removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    /// Its file `cgroup.procs`, open.
    pub procs: Arc<File>,
}

/// What the group has counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// User and system time of all processes that were in it.
    pub cpu_ns: u64,
    /// Most memory, page cache included, if the group counts it.
    pub peak_bytes: Option<u64>,
}

impl Group {
    /// Makes one below this process's own group, and removes those of killed workers. `None` without cgroup v2 or
    /// without the permission.
    pub fn make() -> Option<Self> {
        let above = above()?;
        remove_stale(&above);
        let folder = above.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let procs = OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        match procs {
            Ok(procs) => Some(Self { folder, procs: Arc::new(procs) }),
            Err(_) => {
                // The group is empty, so a failed removal does no harm.
                let _ = fs::remove_dir(&folder);
                None
            }
        }
    }

    /// Reads the group. `None` if it counts nothing.
    pub fn read(&self) -> Option<Counted> {
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let cpu_ns = cpu_ns(&text("cpu.stat")?)?;
        let peak_bytes = text("memory.peak").and_then(|peak| peak.trim().parse().ok());
        Some(Counted { cpu_ns, peak_bytes })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that still has processes stays; they are ended elsewhere.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the groups of killed threadwise workers below this process's own group. One that still has processes
/// stays.
pub fn remove_stale_groups() {
    above().iter().for_each(|folder| remove_stale(folder));
}

fn above() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    folder(&mounts, &groups)
}

/// Removes groups whose makers were killed. A group with processes cannot be removed.
fn remove_stale(above: &Path) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // A group that stays is empty and costs nothing.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn cpu_ns(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    line.trim().parse::<u64>().ok()?.checked_mul(1000)
}

/// The folder of this process's group: the mount point of version 2, and the path in it. A mount may
/// show a part of the tree only.
fn folder(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        let mut fields = head.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        tail.starts_with("cgroup2 ").then_some((root, point))
    });
    let (root, point) = mount?;
    let inside = Path::new(path).strip_prefix(root).ok()?;
    // The group lies outside of what this container shows.
    let is_seen = !path.split('/').any(|part| part == "..");
    is_seen.then(|| Path::new(point).join(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_below_its_mount() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n\
                      31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let found = |groups| folder(mounts, groups);
        assert_eq!(found("1:cpu:/\n0::/a/b\n"), Some(PathBuf::from("/sys/fs/cgroup/a/b")));
        assert_eq!(found("0::/\n"), Some(PathBuf::from("/sys/fs/cgroup/")));
        assert_eq!(found("0::/../x\n"), None);
        assert_eq!(found("1:cpu:/\n"), None);
        assert_eq!(folder("31 24 0:27 / /c rw - cgroup cgroup rw\n", "0::/\n"), None);
        let part = "30 24 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(folder(part, "0::/docker/x/y"), Some(PathBuf::from("/sys/fs/cgroup/y")));
        assert_eq!(folder(part, "0::/other"), None);
    }

    #[test]
    fn groups_of_the_dead_are_removed_and_others_are_not() {
        let above = tempfile::tempdir().unwrap();
        // A process number above the kernel's limit of 2^22 is never alive.
        let dead = format!("{PREFIX}{}", 1 << 23);
        let living = format!("{PREFIX}{}", std::process::id());
        for name in [&dead, &living, "threadwise-run-", "other"] {
            fs::create_dir(above.path().join(name)).unwrap();
        }
        remove_stale(above.path());
        let left = fs::read_dir(above.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["other", "threadwise-run-", &living]);
    }

    #[test]
    fn cpu_time_is_in_microseconds() {
        assert_eq!(cpu_ns("usage_usec 1500\nuser_usec 1000\n"), Some(1_500_000));
        assert_eq!(cpu_ns("user_usec 1000\n"), None);
    }
}
