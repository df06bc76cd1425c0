//! The logical CPUs that a process's control groups allow, whatever its mask is.
//!
//! Source: kernel `Documentation/admin-guide/cgroup-v2.rst` (`cpuset.cpus.effective`), `cpuset(7)`
//! (`cpuset.effective_cpus` of version 1), `proc_pid_cgroup(5)`.

use std::fs;
use std::path::Path;
use threadwise_machine::CpuSet;

/// Logical CPUs that a process can be bound to; `None` if no visible group restricts it.
pub fn allowed_cpus(pid: u32) -> Option<CpuSet> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    in_groups(Path::new("/sys/fs/cgroup"), &groups)
}

fn in_groups(mount: &Path, groups: &str) -> Option<CpuSet> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = Path::new(path.trim_start_matches('/'));
        match number {
            "0" => read_above(mount, path, "cpuset.cpus.effective")
                .or_else(|| read_above(&mount.join("unified"), path, "cpuset.cpus.effective")),
            _ if controllers.split(',').any(|name| name == "cpuset") => {
                read_above(&mount.join(controllers), path, "cpuset.effective_cpus")
            }
            _ => None,
        }
    })
}

/// A group without the controller inherits from the nearest one above it.
fn read_above(mount: &Path, path: &Path, file: &str) -> Option<CpuSet> {
    let cpus = path.ancestors().find_map(|group| fs::read_to_string(mount.join(group).join(file)).ok())?;
    CpuSet::parse_list(&cpus).ok().filter(|cpus| !cpus.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_group_that_says_so_counts() {
        let mount = tempfile::tempdir().unwrap();
        let make = |folder: &str, file: &str, text: &str| {
            let folder = mount.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        };
        make("a", "cpuset.cpus.effective", "0-3\n");
        make("a/b/c", "memory.max", "max\n");
        make("cpuset/x", "cpuset.effective_cpus", "2\n");
        let set = |list| CpuSet::parse_list(list).ok();
        assert_eq!(in_groups(mount.path(), "0::/a/b/c\n"), set("0-3"));
        assert_eq!(in_groups(mount.path(), "9:name=systemd:/y\n3:cpuset:/x\n0::/none\n"), set("2"));
        assert_eq!(in_groups(mount.path(), "0::/none\n"), None);
    }
}
